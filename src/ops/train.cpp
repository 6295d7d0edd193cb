// Optimiser steps. They change their sources in place, value by value.
#include "ops/families.h"

namespace ops {

static constexpr uint32_t threads = 256;

// Weights, gradient, moments and settings lie contiguously; `values` names them for the shader.
static plan optimiser_step(const char * shader, const ggml_tensor * dst, std::initializer_list<const char *> names) {
    step s;
    s.kernel  = gpu::kernel_name(shader).threads(threads);
    int index = 0;
    for (const char * name : names) {
        const ggml_tensor * src = dst->src[index++];
        if (src->type != GGML_TYPE_F32 || !ggml_is_contiguous(src)) {
            return unsupported("%s is not contiguous f32", name);
        }
        s.operands.push_back(bind(name, src));
    }
    s.params.add("count", count(dst));
    s.groups = groups_for(count(dst), threads);
    return s;
}

plan plan_opt_step_adamw(const gpu::capabilities &, const ggml_tensor * dst) {
    return optimiser_step("train/adamw", dst, { "weight", "grad", "mean", "variance", "hyper" });
}

plan plan_opt_step_sgd(const gpu::capabilities &, const ggml_tensor * dst) {
    return optimiser_step("train/sgd", dst, { "weight", "grad", "hyper" });
}

}  // namespace ops
