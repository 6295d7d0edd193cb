// SOFT_MAX with mask, ALiBi and sinks, its gradient, and the causal masks.
#include "ops/families.h"
#include "ops/row_wise.h"
#include "ops/split.h"

#include <bit>
#include <cmath>

namespace ops {

plan plan_soft_max(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * src   = dst->src[0];
    const ggml_tensor * mask  = dst->src[1];
    const ggml_tensor * sinks = dst->src[2];
    if (!all_float({ src, dst }) || (mask != nullptr && !is_float(mask->type)) || (sinks != nullptr && !is_float(sinks->type))) {
        return unsupported("%s with a mask of %s", ggml_type_name(src->type), mask != nullptr ? ggml_type_name(mask->type) : "nothing");
    }
    const bool     in_quads    = quads(src) && quads(dst) && (mask == nullptr || quads(mask));
    const float    max_bias    = param_f32(dst, 1);
    const auto     heads       = heads_of(dst);
    const uint32_t whole_steps = std::bit_floor(heads.whole);

    step s     = over_rows("softmax/soft_max", dst, in_quads);
    s.operands = { bind_source("src", src, in_quads), bind_dest("dst", dst, in_quads) };
    s.params.add("scale", param_f32(dst, 0)).add("first_head", heads.begin).add("whole_steps", whole_steps);
    s.params.add("step_log2", -max_bias / static_cast<float>(whole_steps));
    s.params.add("src_nb", nb(src)).add("dst_nb", nb(dst));
    if (mask != nullptr) {
        s.kernel.define("MASK");
        s.operands.push_back(bind_source("mask", mask, in_quads));
        s.params.add("mask_ne", ne(mask)).add("mask_nb", nb(mask));
    }
    if (sinks != nullptr) {
        s.kernel.define("SINKS");
        s.operands.push_back(bind("sinks", sinks));
    }
    return s;
}

// The mask was a constant to SOFT_MAX, so its bias does not matter here.
plan plan_soft_max_back(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * dy = dst->src[0];
    const ggml_tensor * y  = dst->src[1];
    if (!all_float({ dy, y, dst })) {
        return unsupported("%s and %s to %s", ggml_type_name(dy->type), ggml_type_name(y->type), ggml_type_name(dst->type));
    }
    const bool in_quads = quads(dy) && quads(y) && quads(dst);

    step s     = over_rows("softmax/soft_max_back", dst, in_quads);
    s.operands = { bind_source("dy", dy, in_quads), bind_source("y", y, in_quads), bind_dest("dst", dst, in_quads) };
    s.params.add("scale", param_f32(dst, 0));
    s.params.add("dy_nb", nb(dy)).add("y_nb", nb(y)).add("dst_nb", nb(dst));
    return s;
}

// DIAG_MASK_INF, DIAG_MASK_ZERO
plan plan_diag_mask(const gpu::capabilities &, const ggml_tensor * dst) {
    static constexpr uint32_t threads = 256;
    const ggml_tensor *       src     = dst->src[0];
    if (!all_float({ src, dst })) {
        return unsupported("from %s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    step s;
    s.kernel   = gpu::kernel_name("softmax/diag_mask").threads(threads);
    s.operands = { bind("src", src), bind_dest("dst", dst, false) };
    s.params.add("count", count(dst)).add("past", static_cast<uint32_t>(param_i32(dst, 0)));
    s.params.add("fill", dst->op == GGML_OP_DIAG_MASK_INF ? -INFINITY : 0.0f);
    s.params.add("dst_ne", ne(dst)).add("src_nb", nb(src)).add("dst_nb", nb(dst));
    s.groups = groups_for(count(dst), threads);
    return s;
}

}  // namespace ops
