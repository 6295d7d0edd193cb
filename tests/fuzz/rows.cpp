// Norms, softmax, positions, sums, orders: what is computed over rows.
#include "maker.h"

#include <algorithm>

namespace fuzz {

using terms = rule::terms;
using order = rule::order;

static constexpr rule equal       = { .tolerance = 0.0 };
static constexpr rule norm        = { .tolerance = 1e-7, .finite = true, .sums = terms::unit };
// exp makes a relative error of a large score's last digit.
static constexpr rule probability = { .tolerance = 1e-6, .limit = 1000.0 };
// The CPU backend multiplies its angles up from one pair of values to the next, in f32.
static constexpr rule angle       = { .tolerance = 1e-5 };

static bool rows_of_f32(maker & m, line & l) {
    l.sources = { m.source({ F32 }, layout::rows) };
    return true;
}

static bool any_f32(maker & m, line & l) {
    l.sources = { m.source({ F32 }, layout::any) };
    return true;
}

static bool normalised(maker & m, line & l) {
    l.x = { m.epsilon() };
    return any_f32(m, l);
}

static bool normalised_rows(maker & m, line & l) {
    l.x = { m.epsilon() };
    return rows_of_f32(m, l);
}

static bool group_norm(maker & m, line & l) {
    const int a = m.source({ F32 }, layout::rows);
    l.sources   = { a };
    l.n         = { m.between(1, std::clamp<int64_t>(m[a]->ne[2], 1, 4)) };
    l.x         = { m.epsilon() };
    // ggml's CPU backend computes with negative numbers of channels where the last groups are empty.
    return m[a]->ne[2] % l.n[0] == 0;
}

static bool rms_norm_back(maker & m, line & l) {
    const int a = m.source({ F32 }, layout::rows);
    l.sources   = { m.operand(F32, shape_of(m[a]), layout::rows), a };
    l.x         = { m.epsilon() };
    return true;
}

// Sources: scores, mask, sinks.
static bool soft_max(maker & m, line & l) {
    const int           a = m.source({ F32 }, layout::contiguous);
    const ggml_tensor * t = m[a];
    if (ggml_is_empty(t)) {
        return false;
    }
    l.sources = { a, -1, -1 };
    if (m.decide.chance(60)) {
        const shape ne = { t->ne[0], t->ne[1] + m.decide.of<int64_t>({ 0, 0, 1, 31 }), m.decide.chance(30) ? t->ne[2] : 1, m.decide.chance(30) ? t->ne[3] : 1 };
        l.sources[1]   = m.leaf(m.decide.of({ F32, F16 }), ne, { m.decide.of({ fill::kind::mask, fill::kind::uniform }), -1.0f, 1.0f });
    }
    if (m.decide.chance(15)) {
        l.sources[2] = m.operand(F32, { t->ne[2], 1, 1, 1 }, layout::contiguous);
    }
    l.x = { m.decide.of({ 1.0f, 0.125f, 2.0f }), l.sources[1] >= 0 ? m.decide.of({ 0.0f, 0.0f, 8.0f }) : 0.0f };
    return l.sources[2] < 0 || !m.overlap(a, l.sources[2]);
}

static bool soft_max_back(maker & m, line & l) {
    const int y = m.source({ F32 }, layout::contiguous);
    l.sources   = { m.operand(F32, shape_of(m[y]), layout::contiguous), y };
    l.x         = { m.decide.of({ 1.0f, 0.5f }) };
    return true;
}

static bool diag_mask(maker & m, line & l) {
    l.sources = { m.source({ F32 }, layout::contiguous) };
    l.n       = { m.between(0, 40) };
    return true;
}

//
// positions
//

// Turns `l.n[0]` of the values of each row; positions are `axes` for a token.
static bool choose_turned(maker & m, line & l, int a, int64_t axes) {
    const ggml_tensor * t    = m[a];
    const int64_t       half = t->ne[0] / 2;
    // The CPU backend writes past odd rows, and its angles lose digits along long ones.
    if (t->ne[0] % 2 != 0 || half == 0 || t->ne[0] > 512 || t->ne[2] == 0) {
        return false;
    }
    l.n               = { 2 * (m.decide.chance(30) ? m.between(1, half) : half) };
    const int64_t tokens = axes * t->ne[2];
    const fill    places = m.decide.chance(50) ? fill{ fill::kind::index, 0.0f, 4096.0f } : fill{ fill::kind::stairs, 0.0f, 1.0f };
    l.sources            = { a, m.leaf(I32, { tokens, 1, 1, 1 }, places), -1 };
    if (m.decide.chance(20)) {
        l.sources[2] = m.leaf(F32, { l.n[0] / 2, 1, 1, 1 }, { fill::kind::uniform, 0.5f, 2.0f });
    }
    // Base, scale, ext_factor, attn_factor.
    l.x = { m.decide.of({ 10000.0f, 500000.0f }), m.decide.of({ 1.0f, 0.5f }), m.decide.of({ 0.0f, 0.0f, 0.7f }), m.decide.of({ 1.0f, 1.3f }) };
    return true;
}

static bool rope(maker & m, line & l) {
    const bool fits = choose_turned(m, l, m.source({ F32, F32, F16 }, layout::rows), 1);
    l.n.push_back(m.decide.of({ GGML_ROPE_TYPE_NORMAL, GGML_ROPE_TYPE_NEOX }));
    return fits;
}

// n: dimensions, mode, the first of them.
static bool rope_from_offset(maker & m, line & l) {
    const bool fits = rope(m, l);
    if (fits) {
        l.n.push_back(2 * m.between(0, (m[l.sources[0]]->ne[0] - l.n[0]) / 2));
    }
    return fits;
}

// n: dimensions, mode, sections.
static bool rope_of_axes(maker & m, line & l) {
    const int a = m.source({ F32, F16 }, layout::rows);
    if (!choose_turned(m, l, a, 4)) {
        return false;
    }
    const int  mode = m.decide.of({ GGML_ROPE_TYPE_MROPE, GGML_ROPE_TYPE_IMROPE, GGML_ROPE_TYPE_VISION });
    int64_t    left = l.n[0] / 2;
    l.n.push_back(mode);
    if (mode == GGML_ROPE_TYPE_VISION) {
        l.n[0]             = m[a]->ne[0] / 2;
        const int64_t half = l.n[0] / 2;
        l.n.insert(l.n.end(), { half, l.n[0] - half, 0, 0 });
        l.sources[2] = -1;
        return m[a]->ne[0] % 4 == 0;
    }
    for (int i = 0; i < 3; i++) {
        const int64_t n = i == 0 ? m.between(1, left) : m.between(0, left);
        l.n.push_back(n);
        left -= n;
    }
    l.n.push_back(left);
    return true;
}

//
// sums and orders
//

static bool sum(maker & m, line & l) {
    l.sources = { m.source({ F32, F32, F16, BF16 }, layout::rows) };
    return true;
}

static bool repeat_back(maker & m, line & l) {
    const int a = m.source({ F32 }, layout::rows);
    l.sources   = { a, m.operand(F32, m.part_of(shape_of(m[a])), layout::rows) };
    return !ggml_is_empty(m[a]);
}

static bool argmax(maker & m, line & l) {
    const int a = m.source({ F32 }, layout::even);
    l.sources   = { a };
    return m[a]->ne[2] == 1 && m[a]->ne[3] == 1 && m[a]->ne[0] > 0;
}

static bool argsort(maker & m, line & l) {
    l.sources = { m.source({ F32 }, layout::even) };
    l.n       = { m.decide.of({ GGML_SORT_ORDER_ASC, GGML_SORT_ORDER_DESC }) };
    return true;
}

static bool top_k(maker & m, line & l) {
    const int a = m.source({ F32 }, layout::even);
    l.sources   = { a };
    l.n         = { m.between(1, std::max<int64_t>(m[a]->ne[0], 1)) };
    return m[a]->ne[0] > 0;
}

static bool count_equal(maker & m, line & l) {
    const int a = m.source({ I32 }, layout::even);
    l.sources   = { a, m.decide.chance(20) ? a : m.operand(I32, shape_of(m[a]), layout::even, { fill::kind::index, 0.0f, 10.0f }) };
    return m[a]->ne[2] == 1 && m[a]->ne[3] == 1;  // the CPU backend reads past more dimensions
}

static bool cross_entropy(maker & m, line & l) {
    const int a = m.source({ F32 }, layout::contiguous);
    l.sources   = { a, m.leaf(F32, shape_of(m[a]), { fill::kind::uniform, 0.0f, 1.0f }) };
    return !ggml_is_empty(m[a]);
}

static bool cross_entropy_back(maker & m, line & l) {
    const bool fits = cross_entropy(m, l);
    l.sources.insert(l.sources.begin(), m.operand(F32, { 1, 1, 1, 1 }, layout::contiguous));
    return fits;
}

static bool triangle(maker & m, line & l) {
    const int64_t n = m.size();
    l.sources       = { m.operand(F32, { n, n, m.between(1, 3), 1 }, layout::contiguous) };
    l.n             = { m.between(0, 3) };
    return true;
}

static bool diagonal(maker & m, line & l) {
    l.sources = { m.operand(F32, { m.size(), 1, m.between(1, 3), m.between(1, 2) }, layout::rows) };
    return true;
}

#define ROPE_REST 512, x[0], x[1], x[2], x[3], 32.0f, 1.0f

static const op ops[] = {
    { "NORM", 3, normalised, CALL(ggml_norm(ctx, t[0], x[0])), norm, "MUL" },
    { "RMS_NORM", 5, normalised_rows, CALL(ggml_rms_norm(ctx, t[0], x[0])), { .finite = true }, "MUL" },
    { "RMS_NORM in place", 1, normalised_rows, CALL(ggml_rms_norm_inplace(ctx, t[0], x[0])), { .finite = true } },
    { "L2_NORM", 2, normalised, CALL(ggml_l2_norm(ctx, t[0], x[0])), { .finite = true } },
    { "GROUP_NORM", 2, group_norm, CALL(ggml_group_norm(ctx, t[0], n[0], x[0])), norm, "MUL" },
    { "RMS_NORM_BACK", 1, rms_norm_back, CALL(ggml_rms_norm_back(ctx, t[0], t[1], x[0])), { .tolerance = 1e-6, .finite = true, .sums = terms::quotient } },

    { "SOFT_MAX", 6, soft_max, CALL(WITH(ggml_soft_max_ext(ctx, t[0], t[1], x[0], x[1]), ggml_soft_max_add_sinks(y, t[2]))), probability, "ARGSORT" },
    { "SOFT_MAX in place", 2, soft_max, CALL(ggml_soft_max_ext_inplace(ctx, t[0], t[1], x[0], x[1])), probability, "MUL_MAT" },
    { "SOFT_MAX_BACK", 1, soft_max_back, CALL(ggml_soft_max_ext_back(ctx, t[0], t[1], x[0], 0.0f)),
      { .tolerance = 1e-6, .finite = true, .sums = terms::row } },
    { "DIAG_MASK_INF", 1, diag_mask, CALL(ggml_diag_mask_inf(ctx, t[0], n[0])), equal },
    { "DIAG_MASK_ZERO", 1, diag_mask, CALL(ggml_diag_mask_zero_inplace(ctx, t[0], n[0])), equal },

    { "ROPE", 5, rope, CALL(ggml_rope_ext(ctx, t[0], t[1], t[2], n[0], n[1], ROPE_REST)), angle, "SET_ROWS" },
    { "ROPE in place", 2, rope, CALL(ggml_rope_ext_inplace(ctx, t[0], t[1], t[2], n[0], n[1], ROPE_REST)), angle },
    { "ROPE from an offset", 1, rope_from_offset,
      CALL(ggml_rope_set_offset(ggml_rope_ext(ctx, t[0], t[1], t[2], n[0], n[1], ROPE_REST), n[2])), angle },
    { "ROPE of axes", 2, rope_of_axes,
      CALL(ggml_rope_multi(ctx, t[0], t[1], t[2], n[0], std::array{ int(n[2]), int(n[3]), int(n[4]), int(n[5]) }.data(), n[1], ROPE_REST)), angle },
    { "ROPE_BACK", 1, rope, CALL(ggml_rope_ext_back(ctx, t[0], t[1], t[2], n[0], n[1], ROPE_REST)), angle },

    { "SUM", 2, sum, CALL(ggml_sum(ctx, t[0])), { .tolerance = 1e-6, .sums = terms::all } },
    { "SUM_ROWS", 4, rows_of_f32, CALL(ggml_sum_rows(ctx, t[0])), { .sums = terms::row }, "DIV" },
    { "MEAN", 2, rows_of_f32, CALL(ggml_mean(ctx, t[0])), { .sums = terms::mean } },
    { "CUMSUM", 2, rows_of_f32, CALL(ggml_cumsum(ctx, t[0])), { .finite = true, .sums = terms::row } },
    { "REPEAT_BACK", 1, repeat_back, CALL(ggml_repeat_back(ctx, t[0], t[1])), { .sums = terms::row } },
    { "ARGMAX", 2, argmax, CALL(ggml_argmax(ctx, t[0])), { .finite = true, .ranks = order::all } },
    { "ARGSORT", 3, argsort, CALL(ggml_argsort(ctx, t[0], (ggml_sort_order) n[0])), { .finite = true, .ranks = order::all }, "GET_ROWS" },
    { "TOP_K", 2, top_k, CALL(ggml_top_k(ctx, t[0], n[0])), { .finite = true, .ranks = order::set }, "GET_ROWS" },
    { "COUNT_EQUAL", 1, count_equal, CALL(ggml_count_equal(ctx, t[0], t[1])), equal },
    { "CROSS_ENTROPY_LOSS", 1, cross_entropy, CALL(ggml_cross_entropy_loss(ctx, t[0], t[1])), { .tolerance = 1e-6, .limit = 1000.0, .finite = true } },
    { "CROSS_ENTROPY_LOSS_BACK", 1, cross_entropy_back, CALL(ggml_cross_entropy_loss_back(ctx, t[0], t[1], t[2])),
      { .tolerance = 1e-6, .limit = 1000.0, .finite = true } },
    { "TRI", 1, triangle, CALL(ggml_tri(ctx, t[0], (ggml_tri_type) n[0])), equal },
    { "DIAG", 1, diagonal, CALL(ggml_diag(ctx, t[0])), equal },
};

const std::span<const op> row_ops = ops;

}  // namespace fuzz
