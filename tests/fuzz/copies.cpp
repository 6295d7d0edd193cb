// What moves values: views, copies, rows by index, concatenation, repetition, optimiser steps.
#include "maker.h"

#include <algorithm>
#include <numeric>

namespace fuzz {

static constexpr rule equal = { .tolerance = 0.0 };
// Blocks may be encoded in more than one way that is as good.
static constexpr rule encoded = { .tolerance = 1e-3, .finite = true };

//
// views
//

static bool reshape(maker & m, line & l) {
    const int           a = m.source({ F32, F32, F16, BF16, I32 }, layout::contiguous);
    const ggml_tensor * t = m[a];
    l.sources             = { a };
    switch (m.decide.below(4)) {
        case 0: l.n = { t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3], 1, 1, 1 }; break;
        case 1: l.n = { t->ne[0], t->ne[1] * t->ne[2] * t->ne[3], 1, 1 }; break;
        case 2: l.n = { t->ne[0] * t->ne[1], t->ne[2], t->ne[3], 1 }; break;
        default: {
            const int64_t parts = t->ne[0] % 2 == 0 ? 2 : 1;
            l.n                 = { t->ne[0] / parts, parts, t->ne[1], t->ne[2] * t->ne[3] };
        }
    }
    return true;
}

static bool permute(maker & m, line & l) {
    l.sources = { m.source({ F32, F32, F16, BF16, I32 }, layout::any) };
    l.n       = { 0, 1, 2, 3 };
    for (size_t d = 3; d > 0; d--) {
        std::swap(l.n[d], l.n[static_cast<size_t>(m.between(0, static_cast<int64_t>(d)))]);
    }
    return true;
}

static bool transpose(maker & m, line & l) {
    l.sources = { m.source({ F32, F32, F16, I32 }, layout::any) };
    return true;
}

// Part of a result, as a model takes Q from QKV.
static bool view(maker & m, line & l) {
    const int           a      = m.source({ F32, F32, F16, BF16, I32 }, layout::rows);
    const ggml_tensor * t      = m[a];
    int64_t             offset = 0;
    l.sources                  = { a };
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        const int64_t n = t->ne[d], part = n > 1 && m.decide.chance(40) ? m.between(1, n) : n;
        offset += (n > part ? m.between(0, n - part) : 0) * static_cast<int64_t>(t->nb[d]);
        l.n.push_back(part);
    }
    l.n.insert(l.n.end(), { int64_t(t->nb[1]), int64_t(t->nb[2]), int64_t(t->nb[3]), offset });
    return !ggml_is_empty(t);
}

//
// copies
//

// A shape of as many values.
static shape other_shape(maker & m, const ggml_tensor * t) {
    const int64_t all = ggml_nelements(t);
    switch (m.decide.below(4)) {
        case 1: return { all, 1, 1, 1 };
        case 2: return { t->ne[0], t->ne[1] * t->ne[2] * t->ne[3], 1, 1 };
        case 3: return all % 2 == 0 ? shape{ all / 2, 2, 1, 1 } : shape{ 1, all, 1, 1 };
        default: return shape_of(t);
    }
}

static bool copy(maker & m, line & l) {
    const int           a = m.source({ F32, F32, F16, BF16, I32 }, layout::any);
    const ggml_tensor * t = m[a];
    const ggml_type to    = t->type == I32 ? m.decide.of({ I32, F32 }) : m.decide.of({ F32, F16, BF16 });
    const int       b     = m.operand(to, other_shape(m, t), layout::any);
    l.sources             = { a, b };
    return !m.overlap(a, b);
}

static bool copy_to_whole_numbers(maker & m, line & l) {
    const int a = m.source({ F32 }, layout::any);
    const int b = m.operand(I32, other_shape(m, m[a]), layout::any);
    l.sources   = { a, b };
    return true;
}

static bool copy_to_blocks(maker & m, line & l) {
    const ggml_type to = m.block_type();
    const int       a  = m.source({ F32, F32, F16, BF16 }, layout::rows);
    if (m[a]->ne[0] % ggml_blck_size(to) != 0) {
        return false;
    }
    l.sources = { a, m.operand(to, shape_of(m[a]), layout::contiguous) };
    return true;
}

static bool copy_encoded(maker & m, line & l) {
    const ggml_type to   = m.block_type();
    const int64_t   unit = ggml_blck_size(to);
    const shape     ne   = { unit * m.between(1, 4), m.size(), m.between(1, 3), 1 };
    l.sources            = { m.operand(m.decide.of({ F32, F16 }), ne, layout::rows), m.operand(to, ne, layout::contiguous) };
    return true;
}

static bool copy_decoded(maker & m, line & l) {
    const ggml_type from = m.block_type();
    const shape     ne   = { ggml_blck_size(from) * m.between(1, 4), m.size(), m.between(1, 3), 1 };
    const int       a    = m.operand(from, ne, layout::contiguous);
    l.sources            = { a, m.operand(F32, m.decide.chance(30) ? other_shape(m, m[a]) : ne, layout::contiguous) };
    return true;
}

// Blocks as they are.
static bool copy_blocks(maker & m, line & l) {
    const ggml_type type = m.block_type();
    const shape     ne   = { ggml_blck_size(type) * m.between(1, 4), m.size(), m.between(1, 3), 1 };
    const int       a = m.operand(type, ne, layout::rows), b = m.operand(type, ne, layout::rows);
    l.sources = { a, b };
    return !m.overlap(a, b);
}

static bool contiguous(maker & m, line & l) {
    l.sources = { m.source({ F32, F32, F16, BF16, I32 }, layout::any) };
    return true;
}

static bool contiguous_in_shape(maker & m, line & l) {
    const int   a  = m.source({ F32, F32, F16, BF16, I32 }, layout::any);
    const shape ne = other_shape(m, m[a]);
    l.sources      = { a };
    l.n            = { ne[0], ne[1], ne[2], ne[3] };
    return true;
}

static bool cast(maker & m, line & l) {
    const int  a    = m.source({ F32, F32, F16, BF16 }, layout::any);
    const auto type = m.decide.of({ F32, F16, BF16 });
    l.sources       = { a };
    l.n             = { type };
    return m[a]->type != type;
}

//
// rows by index
//

// Indices of `n` rows for each of n1 x n2 tables of `below` rows, all different or not.
static int indices(maker & m, ggml_type type, int64_t below, int64_t n, int64_t n1, int64_t n2, bool distinct) {
    const auto kind = distinct ? fill::kind::permutation : fill::kind::index;
    return m.leaf(type, { n, n1, n2, 1 }, { kind, 0.0f, static_cast<float>(below) });
}

static bool get_rows(maker & m, line & l) {
    const int           a = m.source({ F32, F32, F16, BF16, I32 }, layout::rows);
    const ggml_tensor * t = m[a];
    l.sources             = { a, indices(m, I32, t->ne[1], m.size(), t->ne[2], t->ne[3], false) };
    return !ggml_is_empty(t);
}

static bool get_weight_rows(maker & m, line & l) {
    const ggml_type type = m.block_type();
    const int64_t   rows = m.size(), n2 = m.between(1, 2), n3 = m.between(1, 2);
    l.sources = { m.operand(type, { ggml_blck_size(type) * m.between(1, 4), rows, n2, n3 }, layout::rows), indices(m, I32, rows, m.size(), n2, n3, false) };
    return true;
}

static bool get_rows_back(maker & m, line & l) {
    const int           a    = m.source({ F32, F16 }, layout::even);
    const ggml_tensor * t    = m[a];
    const int64_t       rows = m.size();
    l.sources                = { a, indices(m, I32, rows, t->ne[1], 1, 1, false), m.operand(F32, { t->ne[0], rows, 1, 1 }, layout::contiguous) };
    return t->ne[2] == 1 && t->ne[3] == 1 && !ggml_is_empty(t);
}

// As a KV cache is filled: the rows are all different, the indices may be shared by planes.
static bool choose_set_rows(maker & m, line & l, ggml_type to) {
    const int64_t unit = ggml_blck_size(to);
    int           b;
    if (unit > 1 || m.decide.chance(40)) {
        b = m.operand(m.decide.of({ F32, F32, F16 }), { unit * m.between(1, 4), m.size(), m.between(1, 3), m.between(1, 2) }, layout::rows);
    } else {
        b = m.source({ F32, F32, F16 }, layout::rows);
    }
    const ggml_tensor * t    = m[b];
    const int64_t       rows = t->ne[1] + m.decide.of<int64_t>({ 0, 1, 40 });
    const int           a    = m.operand(to, { t->ne[0], rows, t->ne[2], t->ne[3] }, layout::rows);
    const bool          each = m.decide.chance(50);
    l.sources = { a, b, indices(m, m.decide.of({ I64, I64, I32 }), rows, t->ne[1], each ? t->ne[2] : 1, each && m.decide.chance(50) ? t->ne[3] : 1, true) };
    return !m.overlap(a, b) && !ggml_is_empty(t);
}

static bool set_rows(maker & m, line & l) {
    return choose_set_rows(m, l, m.decide.of({ F16, F32, BF16 }));
}

static bool set_encoded_rows(maker & m, line & l) {
    return choose_set_rows(m, l, m.block_type());
}

//
// larger and other arrangements
//

static bool concat(maker & m, line & l) {
    const int  a   = m.source({ F32, F32, F16, BF16, I32 }, layout::any);
    const auto dim = static_cast<size_t>(m.between(0, 3));
    shape      ne  = shape_of(m[a]);
    ne[dim]        = m.decide.chance(50) ? ne[dim] : m.between(1, 9);
    l.sources      = { a, m.decide.chance(20) ? a : m.operand(m[a]->type, ne, layout::any) };
    l.n            = { static_cast<int64_t>(dim) };
    return ggml_nelements(m[a]) + ne[0] * ne[1] * ne[2] * ne[3] <= 500000;
}

static bool repeat(maker & m, line & l) {
    const int a = m.source({ F32, F32, F16, I32 }, layout::rows);
    shape     ne;
    for (size_t d = 0; d < ne.size(); d++) {
        ne[d] = m[a]->ne[d] * m.decide.of<int64_t>({ 1, 1, 2, 3 });
    }
    l.sources = { a };
    l.n       = { ne[0], ne[1], ne[2], ne[3] };
    return ne[0] * ne[1] * ne[2] * ne[3] <= 500000 && !ggml_is_empty(m[a]);
}

static bool pad(maker & m, line & l) {
    const int a = m.source({ F32 }, layout::any);
    l.sources   = { a };
    for (int i = 0; i < 8; i++) {
        l.n.push_back(i % 2 == 0 ? m.decide.of<int64_t>({ 0, 0, 1, 3 }) : m.decide.of<int64_t>({ 0, 1, 2, 17 }));
    }
    return ggml_nelements(m[a]) <= 20000 && !ggml_is_empty(m[a]);
}

// The CPU backend goes round once.
static bool pad_circular(maker & m, line & l) {
    const bool fits = pad(m, l);
    for (size_t i = 0; i < l.n.size(); i++) {
        l.n[i] = std::min(l.n[i], m[l.sources[0]]->ne[i / 2]);
    }
    return fits;
}

static bool pad_reflected(maker & m, line & l) {
    const int     a    = m.source({ F32 }, layout::contiguous);
    const int64_t most = std::clamp<int64_t>(m[a]->ne[0] - 1, 0, 20);
    l.sources          = { a };
    l.n                = { m.between(0, most), m.between(0, most) };
    return !ggml_is_empty(m[a]);
}

static bool roll(maker & m, line & l) {
    const int a = m.source({ F32 }, layout::rows);
    l.sources   = { a };
    for (const int64_t n : shape_of(m[a])) {
        const int64_t most = std::clamp<int64_t>(n - 1, 0, 20);
        l.n.push_back(m.between(0, 2 * most) - most);
    }
    return !ggml_is_empty(m[a]);
}

static bool range(maker & m, line & l) {
    const int64_t n = m.size();
    l.x             = { m.decide.of({ 0.0f, -3.0f, 0.5f }), 0.0f, m.decide.of({ 1.0f, 0.25f }) };
    l.x[1]          = l.x[0] + static_cast<float>(n) * l.x[2];
    return true;
}

//
// optimiser steps: sources are weights, gradients, moments, settings
//

static bool adamw(maker & m, line & l) {
    const shape ne = m.any_shape();
    for (int i = 0; i < 4; i++) {
        l.sources.push_back(m.leaf(F32, ne, { fill::kind::uniform, i == 3 ? 0.0f : -1.0f, 1.0f }));
    }
    // alpha, beta1, beta2, eps, wd, beta1h, beta2h.
    l.sources.push_back(m.leaf(F32, { 7, 1, 1, 1 }, { fill::kind::uniform, 0.001f, 0.9f }));
    return true;
}

static bool sgd(maker & m, line & l) {
    const shape ne = m.any_shape();
    l.sources      = { m.leaf(F32, ne, {}), m.leaf(F32, ne, {}), m.leaf(F32, { 2, 1, 1, 1 }, { fill::kind::uniform, 0.001f, 0.9f }) };
    return true;
}

static const op ops[] = {
    { "RESHAPE", 3, reshape, CALL(ggml_reshape_4d(ctx, t[0], n[0], n[1], n[2], n[3])) },
    { "PERMUTE", 4, permute, CALL(ggml_permute(ctx, t[0], n[0], n[1], n[2], n[3])), {}, "CONT" },
    { "TRANSPOSE", 2, transpose, CALL(ggml_transpose(ctx, t[0])), {}, "CONT" },
    { "VIEW", 5, view, CALL(ggml_view_4d(ctx, t[0], n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7])) },

    { "CPY", 6, copy, CALL(ggml_cpy(ctx, t[0], t[1])) },
    { "CPY to whole numbers", 1, copy_to_whole_numbers, CALL(ggml_cpy(ctx, t[0], t[1])), { .tolerance = 0.0, .limit = 1e9, .finite = true } },
    { "CPY, any to blocks", 1, copy_to_blocks, CALL(ggml_cpy(ctx, t[0], t[1])), encoded },
    { "CPY to blocks", 3, copy_encoded, CALL(ggml_cpy(ctx, t[0], t[1])), encoded },
    { "CPY from blocks", 2, copy_decoded, CALL(ggml_cpy(ctx, t[0], t[1])) },
    { "CPY of blocks", 2, copy_blocks, CALL(ggml_cpy(ctx, t[0], t[1])), equal },
    { "CONT", 4, contiguous, CALL(ggml_cont(ctx, t[0])), equal },
    { "CONT in a shape", 2, contiguous_in_shape, CALL(ggml_cont_4d(ctx, t[0], n[0], n[1], n[2], n[3])), equal },
    { "DUP", 1, contiguous, CALL(ggml_dup(ctx, t[0])), equal },
    { "CAST", 2, cast, CALL(ggml_cast(ctx, t[0], (ggml_type) n[0])) },

    { "GET_ROWS", 4, get_rows, CALL(ggml_get_rows(ctx, t[0], t[1])), equal, "MUL" },
    { "GET_ROWS of a weight", 4, get_weight_rows, CALL(ggml_get_rows(ctx, t[0], t[1])) },
    { "GET_ROWS_BACK", 1, get_rows_back, CALL(ggml_get_rows_back(ctx, t[0], t[1], t[2])), { .tolerance = 1e-6, .sums = rule::terms::one } },
    { "SET_ROWS", 5, set_rows, CALL(ggml_set_rows(ctx, t[0], t[1], t[2])) },
    { "SET_ROWS of blocks", 3, set_encoded_rows, CALL(ggml_set_rows(ctx, t[0], t[1], t[2])), encoded },

    { "CONCAT", 4, concat, CALL(ggml_concat(ctx, t[0], t[1], n[0])), equal },
    { "REPEAT", 3, repeat, CALL(ggml_repeat_4d(ctx, t[0], n[0], n[1], n[2], n[3])), equal },
    { "PAD", 2, pad, CALL(ggml_pad_ext(ctx, t[0], n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7])), equal },
    { "PAD, circular", 1, pad_circular, CALL(ggml_pad_ext_circular(ctx, t[0], n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7])), equal },
    { "PAD_REFLECT_1D", 1, pad_reflected, CALL(ggml_pad_reflect_1d(ctx, t[0], n[0], n[1])), equal },
    { "ROLL", 1, roll, CALL(ggml_roll(ctx, t[0], n[0], n[1], n[2], n[3])), equal },
    { "ARANGE", 1, range, CALL(ggml_arange(ctx, x[0], x[1], x[2])) },

    { "OPT_STEP_ADAMW", 1, adamw, CALL((ggml_set_param(t[0]), ggml_opt_step_adamw(ctx, t[0], t[1], t[2], t[3], t[4]))), { .tolerance = 1e-6 }, nullptr, { 2, 3 } },
    { "OPT_STEP_SGD", 1, sgd, CALL((ggml_set_param(t[0]), ggml_opt_step_sgd(ctx, t[0], t[1], t[2]))) },
};

const std::span<const op> copy_ops = ops;

}  // namespace fuzz
