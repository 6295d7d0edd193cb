// Hyper-connections of DeepSeek-V4, several residual streams a token: DSV4_HC_COMB, DSV4_HC_PRE, DSV4_HC_POST.
#include "ops/families.h"

#include <algorithm>
#include <iterator>

namespace ops {

static constexpr uint32_t threads = 64;

static bool all_f32(const ggml_tensor * dst) {
    return std::all_of(std::begin(dst->src), std::end(dst->src), [](const ggml_tensor * t) { return t == nullptr || t->type == GGML_TYPE_F32; });
}

static step over(const char * shader, uint32_t items) {
    step s;
    s.kernel = gpu::kernel_name(shader).threads(threads);
    s.params.add("count", items);
    s.groups = groups_for(items, threads);
    return s;
}

plan plan_hyper_comb(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * mixes = dst->src[0];
    const ggml_tensor * scale = dst->src[1];
    const ggml_tensor * base  = dst->src[2];
    if (!all_f32(dst) || dst->ne[0] != 4) {
        return unsupported("other than four streams of f32");
    }
    step s     = over("hyper/comb", static_cast<uint32_t>(dst->ne[2]));
    s.operands = { bind("mixes", mixes), bind("scale", scale), bind("base", base), bind("dst", dst) };
    s.params.add("eps", param_f32(dst, 0)).add("iterations", static_cast<uint32_t>(param_i32(dst, 1)));
    s.params.add("mixes_nb", nb(mixes)).add("scale_nb", nb(scale)).add("base_nb", nb(base)).add("dst_nb", nb(dst));
    return s;
}

plan plan_hyper_pre(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * x       = dst->src[0];
    const ggml_tensor * weights = dst->src[1];
    if (!all_f32(dst)) {
        return unsupported("%s, %s", ggml_type_name(x->type), ggml_type_name(weights->type));
    }
    step s = over("hyper/pre", count(dst));
    if (param_i32(dst, 1) != 0) {
        s.kernel.define("GATED");
    }
    s.operands = { bind("x", x), bind("weights", weights), bind("dst", dst) };
    s.params.add("scale", param_f32(dst, 0)).add("streams", static_cast<uint32_t>(x->ne[1]));
    s.params.add("x_nb", nb(x)).add("weights_nb", nb(weights)).add("dst_ne", ne(dst)).add("dst_nb", nb(dst));
    return s;
}

plan plan_hyper_post(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * x        = dst->src[0];
    const ggml_tensor * residual = dst->src[1];
    const ggml_tensor * post     = dst->src[2];
    const ggml_tensor * comb     = dst->src[3];
    if (!all_f32(dst)) {
        return unsupported("%s, %s", ggml_type_name(x->type), ggml_type_name(residual->type));
    }
    step s     = over("hyper/post", count(dst));
    s.operands = { bind("x", x), bind("residual", residual), bind("post", post), bind("dst", dst) };
    s.params.add("x_nb", nb(x)).add("residual_nb", nb(residual)).add("post_nb", nb(post));
    s.params.add("dst_ne", ne(dst)).add("dst_nb", nb(dst));
    if (comb == nullptr) {
        s.kernel.define("IDENTITY");
    } else {
        s.operands.push_back(bind("comb", comb));
        s.params.add("comb_nb", nb(comb));
    }
    return s;
}

}  // namespace ops
