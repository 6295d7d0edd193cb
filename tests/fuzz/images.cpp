// Convolutions, pooling, windows and scaling: sources are images of W x H x C x N.
#include "maker.h"

#include <algorithm>

namespace fuzz {

using terms = rule::terms;

static constexpr rule equal       = { .tolerance = 0.0 };
static constexpr rule convolution = { .limit = 1000.0, .finite = true, .sums = terms::kernel, .weight = true };

static int64_t side(maker & m) {
    return m.decide.of<int64_t>({ 1, 2, 3, 5, 8, 13, 16, 31, 40 });
}

static int image(maker & m, ggml_type type, int64_t channels) {
    return m.operand(type, { side(m), side(m), channels, m.between(1, 2) }, layout::contiguous);
}

// Strides, paddings and dilations of two dimensions into n; false if the kernel does not fit.
static bool choose_steps(maker & m, line & l, const ggml_tensor * kernel, const ggml_tensor * data) {
    l.n = { m.between(1, 2), m.between(1, 2), m.between(0, 2), m.between(0, 2), m.between(1, 2), m.between(1, 2) };
    for (int d = 0; d < 2; d++) {
        if (data->ne[d] + 2 * l.n[static_cast<size_t>(2 + d)] < l.n[static_cast<size_t>(4 + d)] * (kernel->ne[d] - 1) + 1) {
            return false;
        }
    }
    return true;
}

static bool choose_convolution(maker & m, line & l, types of_kernel, types of_data) {
    const int64_t channels = m.between(1, 6);
    const int     kernel   = m.operand(m.decide.of(of_kernel), { m.between(1, 4), m.between(1, 4), channels, m.between(1, 9) }, layout::contiguous);
    const int     data     = image(m, m.decide.of(of_data), channels);
    l.sources              = { kernel, data };
    return choose_steps(m, l, m[kernel], m[data]);
}

static bool conv_2d(maker & m, line & l) {
    return choose_convolution(m, l, { F32, F16 }, { F32 });
}

static bool im2col(maker & m, line & l) {
    const bool fits = choose_convolution(m, l, { F32, F16 }, { F32 });
    l.n.push_back(m.decide.of({ F32, F16 }));
    return fits;
}

// Gradients of im2col's result.
static bool im2col_back(maker & m, line & l) {
    if (!choose_convolution(m, l, { F32, F16 }, { F32 })) {
        return false;
    }
    const ggml_tensor *  kernel = m[l.sources[0]];
    const ggml_tensor *  data   = m[l.sources[1]];
    const auto           steps  = [&](size_t d) { return (data->ne[d] + 2 * l.n[2 + d] - l.n[4 + d] * (kernel->ne[d] - 1) - 1) / l.n[d] + 1; };
    const shape          columns = { kernel->ne[0] * kernel->ne[1] * kernel->ne[2], steps(0), steps(1), data->ne[3] };
    l.n.insert(l.n.end(), data->ne, data->ne + GGML_MAX_DIMS);
    l.sources = { m.operand(F32, columns, layout::contiguous), l.sources[0] };
    return true;
}

// Sources: [width, height, depth, channels * filters] and [W, H, D, channels * images]; n: strides, paddings, dilations, channels, images, filters.
static bool choose_deep_convolution(maker & m, line & l) {
    const int64_t channels = m.between(1, 3), images = m.between(1, 2), filters = m.between(1, 5);
    shape         kernel = { 1, 1, 1, channels * filters }, data = { 1, 1, 1, channels * images };
    l.n.resize(9);
    for (size_t d = 0; d < 3; d++) {
        kernel[d]    = m.between(1, 3);
        l.n[d]       = m.between(1, 2);
        l.n[3 + d]   = m.between(0, 2);
        l.n[6 + d]   = m.between(1, 2);
        data[d]      = l.n[6 + d] * (kernel[d] - 1) + m.between(1, 9);
    }
    l.n.insert(l.n.end(), { channels, images, filters });
    l.sources = { m.operand(m.decide.of({ F32, F16 }), kernel, layout::contiguous), m.operand(F32, data, layout::contiguous) };
    return true;
}

static bool im2col_3d(maker & m, line & l) {
    const bool fits = choose_deep_convolution(m, l);
    l.n.push_back(m.decide.of({ F32, F16 }));
    return fits;
}

// Columns of width * channels; n: stride, channels, padding.
static bool col2im_1d(maker & m, line & l) {
    const int64_t width = m.between(1, 5), channels = m.between(1, 5), steps = m.size();
    l.sources = { m.operand(m.decide.of({ F32, F16, BF16 }), { width * channels, steps, 1, 1 }, layout::contiguous) };
    l.n       = { m.between(1, 3), channels, m.between(0, 2) };
    return (steps - 1) * l.n[0] + width > 2 * l.n[2];
}

// One dimension, as whisper's encoder.
static bool im2col_1d(maker & m, line & l) {
    const int64_t channels = m.between(1, 9), width = m.between(1, 4);
    const int     kernel = m.operand(m.decide.of({ F32, F16 }), { width, channels, m.between(1, 9), 1 }, layout::contiguous);
    const int     data   = m.operand(F32, { width + m.size(), channels, m.between(1, 2), 1 }, layout::contiguous);
    l.sources            = { kernel, data };
    l.n                  = { m.between(1, 2), m.between(0, 2), m.decide.of({ F32, F16 }) };
    return true;
}

static bool conv_2d_dw(maker & m, line & l) {
    const int64_t channels = m.between(1, 9);
    const int     kernel   = m.operand(m.decide.of({ F32, F16 }), { m.between(1, 4), m.between(1, 4), 1, channels }, layout::contiguous);
    const int     data     = image(m, F32, channels);
    l.sources              = { kernel, data };
    return choose_steps(m, l, m[kernel], m[data]);
}

static bool conv_transpose_2d(maker & m, line & l) {
    const int64_t channels = m.between(1, 5);
    l.sources = { m.operand(m.decide.of({ F16, F32 }), { m.between(1, 4), m.between(1, 4), m.between(1, 5), channels }, layout::contiguous),
                  image(m, F32, channels) };
    l.n       = { m.between(1, 3) };
    return m[l.sources[1]]->ne[3] == 1;
}

static bool conv_transpose_1d(maker & m, line & l) {
    const int64_t channels = m.between(1, 5);
    l.sources = { m.operand(m.decide.of({ F32, F16 }), { m.between(1, 5), m.between(1, 5), channels, 1 }, layout::contiguous),
                  m.operand(F32, { m.size(), channels, 1, 1 }, layout::contiguous) };
    l.n       = { m.between(1, 3) };
    return true;
}

static bool pool_1d(maker & m, line & l) {
    const int a = m.source({ F32, F16 }, layout::even);
    l.sources   = { a };
    l.n         = { m.decide.of({ GGML_OP_POOL_MAX, GGML_OP_POOL_AVG }), m.between(1, 4), m.between(1, 3), 0 };
    l.n[3]      = m.between(0, l.n[1] / 2);
    return !ggml_is_empty(m[a]) && m[a]->ne[0] + 2 * l.n[3] >= l.n[1];
}

// n: operation, kernel, strides, paddings.
static bool pool_2d(maker & m, line & l) {
    const int a = m.source({ F32, F16 }, layout::contiguous);
    l.sources   = { a };
    l.n         = { m.decide.of({ GGML_OP_POOL_MAX, GGML_OP_POOL_AVG }), m.between(1, 4), m.between(1, 4), m.between(1, 3), m.between(1, 3) };
    for (size_t d = 0; d < 2; d++) {
        l.n.push_back(m.between(0, l.n[1 + d] / 2));
        if (m[a]->ne[d] + 2 * l.n.back() < l.n[1 + d]) {
            return false;
        }
    }
    return !ggml_is_empty(m[a]);
}

// Sources: gradients of the pooled image, the image.
static bool pool_2d_back(maker & m, line & l) {
    if (!pool_2d(m, l) || m[l.sources[0]]->type != F32) {
        return false;
    }
    const ggml_tensor * t      = m[l.sources[0]];
    const auto          pooled = [&](size_t d) { return (t->ne[d] + 2 * l.n[5 + d] - l.n[1 + d]) / l.n[3 + d] + 1; };
    l.sources.insert(l.sources.begin(), m.operand(F32, { pooled(0), pooled(1), t->ne[2], t->ne[3] }, layout::contiguous));
    return true;
}

static bool upscale(maker & m, line & l) {
    const int           a = m.source({ F32 }, layout::any);
    const ggml_tensor * t = m[a];
    l.sources             = { a };
    l.n                   = { m.between(2, 3), m.decide.of({ GGML_SCALE_MODE_NEAREST, GGML_SCALE_MODE_BILINEAR, GGML_SCALE_MODE_BICUBIC }) };
    return !ggml_is_empty(t) && ggml_nelements(t) <= 20000;
}

static bool interpolate(maker & m, line & l) {
    const int           a = m.source({ F32 }, layout::any);
    const ggml_tensor * t = m[a];
    const auto mode = m.decide.of<int>({ GGML_SCALE_MODE_NEAREST, GGML_SCALE_MODE_BILINEAR, GGML_SCALE_MODE_BICUBIC,
                                         int(GGML_SCALE_MODE_BILINEAR) | GGML_SCALE_FLAG_ALIGN_CORNERS, int(GGML_SCALE_MODE_BILINEAR) | GGML_SCALE_FLAG_ANTIALIAS });
    l.sources             = { a };
    l.n                   = { side(m) + 1, side(m) + 1, t->ne[2], t->ne[3], mode };
    return !ggml_is_empty(t) && ggml_nelements(t) <= 20000 && t->ne[0] > 1 && t->ne[1] > 1;
}

static bool windows(maker & m, line & l) {
    l.sources = { m.operand(F32, { m.size(), side(m), side(m), 1 }, layout::contiguous) };
    l.n       = { m.between(1, 7) };
    return true;
}

static bool windows_back(maker & m, line & l) {
    const int64_t width = side(m), height = side(m), w = m.between(1, 7);
    const int64_t count = (width + w - 1) / w * ((height + w - 1) / w);
    l.sources           = { m.operand(F32, { m.decide.of<int64_t>({ 1, 3, 8, 33, 100 }), w, w, count }, layout::contiguous) };
    l.n                 = { width, height, w };
    return true;
}

static bool relative_positions(maker & m, line & l) {
    const int64_t n = m.between(1, 20);
    l.sources       = { m.operand(F16, { m.size(), 2 * n - 1, 1, 1 }, layout::contiguous) };
    l.n             = { n };
    return true;
}

// Sources: scores of all pairs of patches, positions along W and along H.
static bool add_positions(maker & m, line & l) {
    const int64_t n = m.between(1, 9), width = m.between(1, 9), height = m.between(1, 9), images = m.between(1, 2);
    const shape   ne = { n, width, height, images };
    const int     a  = m.operand(F32, { n * n, width * height, images, 1 }, layout::contiguous);
    l.sources        = { a, m.operand(F32, ne, layout::contiguous), m.operand(F32, ne, layout::contiguous) };
    return !m.overlap(a, l.sources[1]) && !m.overlap(a, l.sources[2]);
}

static bool timestep_embedding(maker & m, line & l) {
    l.sources = { m.operand(F32, { m.between(1, 20), 1, 1, 1 }, layout::contiguous, { fill::kind::uniform, 0.0f, 1000.0f }) };
    l.n       = { 2 * m.between(1, 80), 10000 };
    return true;
}

static const op ops[] = {
    { "CONV_2D", 2, conv_2d, CALL(ggml_conv_2d_direct(ctx, t[0], t[1], n[0], n[1], n[2], n[3], n[4], n[5])), convolution, "ADD" },
    { "IM2COL", 2, im2col, CALL(ggml_im2col(ctx, t[0], t[1], n[0], n[1], n[2], n[3], n[4], n[5], true, (ggml_type) n[6])) },
    { "IM2COL of one dimension", 2, im2col_1d, CALL(ggml_im2col(ctx, t[0], t[1], n[0], 0, n[1], 0, 1, 0, false, (ggml_type) n[2])) },
    { "IM2COL_3D", 1, im2col_3d, CALL(ggml_im2col_3d(ctx, t[0], t[1], n[9], n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], (ggml_type) n[12])) },
    { "IM2COL_BACK", 1, im2col_back,
      CALL(ggml_im2col_back(ctx, t[0], t[1], std::array{ n[6], n[7], n[8], n[9] }.data(), n[0], n[1], n[2], n[3], n[4], n[5], true)), { .sums = terms::one } },
    { "COL2IM_1D", 1, col2im_1d, CALL(ggml_col2im_1d(ctx, t[0], n[0], n[1], n[2])), { .finite = true, .sums = terms::one } },
    { "CONV_2D_DW", 2, conv_2d_dw, CALL(ggml_conv_2d_dw_direct(ctx, t[0], t[1], n[0], n[1], n[2], n[3], n[4], n[5])), convolution },
    { "CONV_3D", 1, choose_deep_convolution,
      CALL(ggml_conv_3d_direct(ctx, t[0], t[1], n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9], n[10], n[11])), convolution },
    { "CONV_TRANSPOSE_2D", 1, conv_transpose_2d, CALL(ggml_conv_transpose_2d_p0(ctx, t[0], t[1], n[0])), convolution },
    { "CONV_TRANSPOSE_1D", 1, conv_transpose_1d, CALL(ggml_conv_transpose_1d(ctx, t[0], t[1], n[0], 0, 1)), convolution },
    { "POOL_1D", 1, pool_1d, CALL(ggml_pool_1d(ctx, t[0], (ggml_op_pool) n[0], n[1], n[2], n[3])), { .finite = true } },
    { "POOL_2D", 1, pool_2d, CALL(ggml_pool_2d(ctx, t[0], (ggml_op_pool) n[0], n[1], n[2], n[3], n[4], n[5], n[6])), { .finite = true } },
    { "POOL_2D_BACK", 1, pool_2d_back, CALL(ggml_pool_2d_back(ctx, t[0], t[1], (ggml_op_pool) n[0], n[1], n[2], n[3], n[4], n[5], n[6])),
      { .finite = true, .sums = terms::one } },
    { "UPSCALE", 2, upscale, CALL(ggml_upscale(ctx, t[0], n[0], (ggml_scale_mode) n[1])), { .tolerance = 1e-6, .finite = true } },
    { "UPSCALE to a size", 1, interpolate, CALL(ggml_interpolate(ctx, t[0], n[0], n[1], n[2], n[3], n[4])), { .tolerance = 1e-6, .finite = true } },
    { "WIN_PART", 1, windows, CALL(ggml_win_part(ctx, t[0], n[0])), equal },
    { "WIN_UNPART", 1, windows_back, CALL(ggml_win_unpart(ctx, t[0], n[0], n[1], n[2])), equal },
    { "GET_REL_POS", 1, relative_positions, CALL(ggml_get_rel_pos(ctx, t[0], n[0], n[0])), equal },
    { "ADD_REL_POS", 1, add_positions, CALL(ggml_add_rel_pos(ctx, t[0], t[1], t[2])) },
    { "ADD_REL_POS in place", 1, add_positions, CALL(ggml_add_rel_pos_inplace(ctx, t[0], t[1], t[2])) },
    { "TIMESTEP_EMBEDDING", 1, timestep_embedding, CALL(ggml_timestep_embedding(ctx, t[0], n[0], n[1])), { .tolerance = 1e-6 } },
};

const std::span<const op> image_ops = ops;

}  // namespace fuzz
