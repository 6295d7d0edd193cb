// Rotary position embedding, forward and backward.
#include "ops/rope.h"

#include "ops/families.h"
#include "ops/row_wise.h"
#include "ops/rows.h"

#include <cmath>

namespace ops {

// Which values of a row form pairs, and how many axes a position has.
struct rope_mode {
    uint32_t first;     // value of pair 0
    uint32_t pairs;
    uint32_t spacing;   // from pair to pair
    uint32_t distance;  // between the values of a pair
    uint32_t axes;      // 0: one, 1: in sections, 2: interleaved (shaders/rope/rope.wgsl)
    bool     restart;   // the angles of a section start anew
};

static bool read_mode(const ggml_tensor * dst, rope_mode & m) {
    const uint32_t n_dims = static_cast<uint32_t>(param_i32(dst, 1));
    const uint32_t n_offs = static_cast<uint32_t>(param_i32(dst, 15));
    switch (param_i32(dst, 2)) {
        case GGML_ROPE_TYPE_NORMAL: m = { n_offs, n_dims / 2, 2, 1, 0, false }; return true;
        case GGML_ROPE_TYPE_NEOX:   m = { n_offs, n_dims / 2, 1, n_dims / 2, 0, false }; return true;
        case GGML_ROPE_TYPE_MROPE:  m = { n_offs, n_dims / 2, 1, n_dims / 2, 1, false }; return true;
        case GGML_ROPE_TYPE_IMROPE: m = { n_offs, n_dims / 2, 1, n_dims / 2, 2, false }; return true;
        case GGML_ROPE_TYPE_VISION: m = { 0, n_dims, 1, n_dims, 1, true }; return true;
        default:                    return false;
    }
}

// ROPE, ROPE_BACK
plan plan_rope(const gpu::capabilities &, const ggml_tensor * dst) {
    static constexpr uint32_t threads = 256;
    const ggml_tensor * src     = dst->src[0];
    const ggml_tensor * tokens  = dst->src[1];
    const ggml_tensor * factors = dst->src[2];
    rope_mode           mode;
    if (!read_mode(dst, mode)) {
        return unsupported("mode %d is not known", param_i32(dst, 2));
    }
    if (!all_float({ src, dst }) || tokens->type != GGML_TYPE_I32 || (factors != nullptr && factors->type != GGML_TYPE_F32)) {
        return unsupported("%s at positions of %s", ggml_type_name(src->type), ggml_type_name(tokens->type));
    }
    const auto [ne0, ne1, ne2, ne3] = ne(dst);
    const int      n_dims      = param_i32(dst, 1);
    const float    freq_base   = param_f32(dst, 5);
    const float    freq_scale  = param_f32(dst, 6);
    const float    ext_factor  = param_f32(dst, 7);
    const float    attn_factor = param_f32(dst, 8);
    float          corr_dims[2];
    ggml_rope_yarn_corr_dims(n_dims, param_i32(dst, 4), freq_base, param_f32(dst, 9), param_f32(dst, 10), corr_dims);
    shape sections = {};
    for (int i = 0; i < 4; i++) {
        sections[i] = mode.axes == 0 ? 0 : static_cast<uint32_t>(param_i32(dst, 11 + i));
    }
    const uint32_t sectors = mode.axes == 0 ? mode.pairs : sections[0] + sections[1] + sections[2] + sections[3];
    // No pairs at all: llama.cpp asks for support of that, to place the factors.
    if (2 * mode.pairs + mode.first > ne0 || (sectors == 0 && mode.pairs != 0)) {
        return unsupported("%d of %u values", n_dims, ne0);
    }
    const uint32_t others = ne0 - 2 * mode.pairs;
    const shape    work   = { mode.pairs + (others + 1) / 2, ne1, ne2, ne3 };

    step s;
    s.kernel   = gpu::kernel_name("rope/rope").threads(threads);
    s.operands = { bind("src", src), bind_dest("dst", dst, false), bind("tokens", tokens) };
    if (factors != nullptr) {
        s.kernel.define("FACTORS");
        s.operands.push_back(bind("factors", factors));
    }
    s.params.add("count", work[0] * ne1 * ne2 * ne3).add("pairs", mode.pairs).add("others", others);
    s.params.add("first", mode.first).add("spacing", mode.spacing).add("distance", mode.distance);
    // The positions of the other axes follow those of the first.
    s.params.add("axes", mode.axes).add("axis_stride", mode.axes == 0 ? 0 : static_cast<uint32_t>(tokens->ne[0] - dst->ne[2]) / 3);
    s.params.add("sectors", sectors).add("restart", mode.restart ? 1u : 0u);
    s.params.add("base_log2", static_cast<float>(-2.0 / n_dims * std::log2(static_cast<double>(freq_base))));
    s.params.add("freq_scale", freq_scale).add("ext_factor", ext_factor);
    s.params.add("corr_low", corr_dims[0]).add("corr_width", std::max(0.001f, corr_dims[1] - corr_dims[0]));
    s.params.add("magnitude", ext_factor != 0.0f ? attn_factor * (1.0f + 0.1f * std::log(1.0f / freq_scale)) : attn_factor);
    s.params.add("direction", dst->op == GGML_OP_ROPE_BACK ? -1.0f : 1.0f);
    s.params.add("sections", sections).add("work", work).add("src_nb", nb(src)).add("dst_nb", nb(dst));
    s.groups = groups_for(uint64_t(work[0]) * ne1 * ne2 * ne3, threads);
    s.joins  = true;
    return s;
}

plan plan_rope_set_rows(const gpu::capabilities & caps, const ggml_tensor * rope, const ggml_tensor * set) {
    const ggml_tensor * rows  = set->src[0];
    const ggml_tensor * index = set->src[1];
    const bool          same  = ggml_is_contiguous(rope) && ggml_is_contiguous(rows) && rope->ne[3] == 1 && rows->ne[0] == rope->ne[0] * rope->ne[1] &&
                      rows->ne[1] == rope->ne[2];
    if (!same || !is_float(set->type) || (index->type != GGML_TYPE_I32 && index->type != GGML_TYPE_I64)) {
        return unsupported("rows of %s that are not the tokens of the rotated tensor", ggml_type_name(set->type));
    }
    plan p = plan_rope(caps, rope);
    if (p.supported() && p.steps.size() == 1) {
        step & s = p.steps[0];
        s.kernel.define("STORES");
        s.operands.push_back(bind_dest("cache", set, false));
        s.params.add("cache_nb", nb(set)).add("head_values", ne(rope)[0]);
        add_table(s, set, window_of(set, set), index);
    }
    return p;
}

}  // namespace ops
