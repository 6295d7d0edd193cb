// Products: matrices, experts, attention, hyper-connections.
#include "maker.h"

#include <algorithm>

namespace fuzz {

using terms = rule::terms;

// The CPU backend rounds src1 to 8 bits, f16 or bf16, as src0's type asks: `weight` takes the tolerance from that.
static constexpr rule product   = { .limit = 10000.0, .finite = true, .sums = terms::row, .weight = true };
static constexpr rule outer     = { .limit = 10000.0, .finite = true, .sums = terms::column, .weight = true };
// It also sums values of V in f16 where they are f16.
static constexpr rule attention = { .tolerance = 5e-4, .limit = 100.0, .finite = true };

static constexpr rule streams = { .limit = 10000.0, .finite = true, .sums = terms::one };

static int64_t few(maker & m) {
    return m.decide.of<int64_t>({ 1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 64, 70, 130 });
}

// src1 in the type that src0's rows are multiplied in, or f32.
static ggml_type other_type(maker & m, ggml_type weight) {
    return weight == F16 && m.decide.chance(20) ? F16 : F32;
}

static bool mul_mat(maker & m, line & l) {
    const int           b    = m.source({ F32 }, layout::rows);
    const ggml_tensor * t    = m[b];
    ggml_type           type = m.weight_type();
    if (t->ne[0] % ggml_blck_size(type) != 0) {
        type = m.decide.of({ F32, F16, BF16 });
    }
    const shape repeated = m.part_of(shape_of(t));
    const int   a        = m.decide.chance(4) && type == F32 ? b : m.operand(type, { t->ne[0], m.size(), repeated[2], repeated[3] }, layout::rows);
    l.sources            = { a, b };
    return !ggml_is_empty(t) && t->ne[1] <= 5000;
}

// With a weight first: src0's row length is a multiple of its block's.
static bool mul_mat_weight(maker & m, line & l) {
    const ggml_type type = m.weight_type();
    const int64_t   k    = ggml_blck_size(type) > 1 ? ggml_blck_size(type) * m.between(1, 600 / ggml_blck_size(type)) : m.size();
    const int64_t   n2 = m.decide.of<int64_t>({ 1, 1, 2, 3 }), n3 = m.decide.of<int64_t>({ 1, 1, 2 });
    const int       a = m.operand(type, { k, m.size(), n2, n3 }, layout::rows);
    const int       b = m.operand(other_type(m, type), { k, few(m), n2 * m.between(1, 2), n3 * m.between(1, 2) }, layout::rows);
    l.sources         = { a, b };
    return true;
}

// A column of ids has no expert twice. Like a model's, they may be the first of a longer list.
static bool mul_mat_id(maker & m, line & l) {
    static const op first_of = { "VIEW", 0, nullptr, CALL(ggml_view_2d(ctx, t[0], n[0], n[1], n[2], 0)) };
    const ggml_type type     = m.weight_type();
    const int64_t   block    = ggml_blck_size(type);
    const int64_t   k        = block > 1 ? block * m.between(1, std::max<int64_t>(256 / block, 1)) : m.size();
    const int64_t   experts = m.between(1, 8), used = m.between(1, experts), tokens = few(m);
    int             ids = m.leaf(I32, { m.decide.chance(50) ? used : experts, tokens, 1, 1 }, { fill::kind::permutation, 0.0f, float(experts) });
    if (m[ids]->ne[0] != used) {
        ids = m.derived(first_of, ids, { used, tokens, int64_t(m[ids]->nb[1]) });
    }
    l.sources = { m.operand(type, { k, std::min<int64_t>(m.size(), 130), experts, 1 }, layout::rows),
                  m.operand(F32, { k, m.decide.chance(50) ? 1 : used, tokens, 1 }, layout::rows), ids };
    return true;
}

static bool out_prod(maker & m, line & l) {
    const int           b    = m.source({ F32 }, layout::any);
    const ggml_tensor * t    = m[b];
    const ggml_type     type = m.weight_type();
    const int64_t       unit = ggml_blck_size(type);
    const shape         same = shape_of(t), part = type == F32 ? m.part_of(same) : same;
    l.sources                = { m.operand(type, { unit > 1 ? unit * m.between(1, 2) : m.size(), t->ne[1], part[2], part[3] }, layout::rows), b };
    return !ggml_is_empty(t) && t->ne[0] <= 1000 && t->ne[1] <= 1000;
}

//
// attention
//

// Sources: Q, K, V, mask, sinks.
static bool attend(maker & m, line & l) {
    const auto type   = m.decide.of({ F16, F32, BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q5_1, GGML_TYPE_IQ4_NL });
    const auto v_type = m.decide.chance(80) ? type : m.decide.of({ F16, F32, GGML_TYPE_Q8_0 });
    const auto head   = [&](ggml_type of) {
        return ggml_blck_size(of) > 1 ? m.decide.of<int64_t>({ 32, 64, 96, 128, 256 }) : m.decide.of<int64_t>({ 8, 16, 33, 40, 64, 72, 80, 128, 192, 256 });
    };
    int64_t k_size = head(type), v_size = k_size;
    if (v_type != type || m.decide.chance(15)) {
        v_size = head(v_type);
        k_size = v_type != type && ggml_blck_size(type) > 1 ? head(type) : k_size;
    }
    const int64_t kv = m.decide.of<int64_t>({ 1, 2, 7, 32, 63, 113, 256, 512, 600 }), tokens = m.decide.of<int64_t>({ 1, 2, 3, 5, 8, 17, 35 });
    const int64_t kv_heads = m.between(1, 3), heads = kv_heads * m.decide.of<int64_t>({ 1, 2, 3, 4 }), batch = m.decide.of<int64_t>({ 1, 1, 1, 2 });
    l.sources = { m.operand(F32, { k_size, tokens, heads, batch }, layout::rows, { fill::kind::uniform, -1.0f, 1.0f }),
                  m.operand(type, { k_size, kv, kv_heads, batch }, layout::rows), m.operand(v_type, { v_size, kv, kv_heads, batch }, layout::rows), -1, -1 };
    if (m.decide.chance(70)) {
        const shape ne = { kv, tokens + m.decide.of<int64_t>({ 0, 0, 29 }), m.decide.chance(20) ? heads : 1, m.decide.chance(20) ? batch : 1 };
        l.sources[3]   = m.leaf(F16, ne, { m.decide.of({ fill::kind::mask, fill::kind::uniform }), -1.0f, 1.0f });
    }
    if (m.decide.chance(15)) {
        l.sources[4] = m.operand(F32, { heads, 1, 1, 1 }, layout::contiguous);
    }
    l.x = { m.decide.of({ 0.125f, 1.0f }), l.sources[3] >= 0 ? m.decide.of({ 0.0f, 0.0f, 8.0f }) : 0.0f, m.decide.of({ 0.0f, 0.0f, 10.0f }) };
    return true;
}

// Sources: Q, K, weights of heads, mask.
static bool index_keys(maker & m, line & l) {
    const auto    type  = m.decide.of({ F16, F32, BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0 });
    const int64_t size  = ggml_blck_size(type) > 1 ? m.decide.of<int64_t>({ 32, 64, 128 }) : m.decide.of<int64_t>({ 8, 33, 64, 128 });
    const int64_t heads = m.decide.of<int64_t>({ 1, 3, 8, 64 }), tokens = few(m), kv = m.size(), streams = m.between(1, 2);
    l.sources = { m.operand(F32, { size, heads, tokens, streams }, layout::rows), m.operand(type, { size, 1, kv, streams }, layout::rows),
                  m.operand(F32, { heads, tokens, 1, streams }, layout::rows),
                  m.leaf(F16, { kv, tokens, 1, m.decide.chance(50) ? streams : 1 }, { fill::kind::mask }) };
    return true;
}

//
// hyper-connections of four streams
//

static bool mix_streams(maker & m, line & l) {
    l.sources = { m.operand(F32, { 24, m.size(), 1, 1 }, layout::rows), m.operand(F32, { 3, 1, 1, 1 }, layout::contiguous),
                  m.operand(F32, { 24, 1, 1, 1 }, layout::contiguous) };
    l.n       = { m.between(1, 5) };
    return true;
}

static bool join_streams(maker & m, line & l) {
    const int64_t size = m.size(), tokens = few(m);
    l.sources          = { m.operand(F32, { size, 4, tokens, 1 }, layout::rows), m.operand(F32, { 4, tokens, 1, 1 }, layout::rows) };
    return true;
}

static bool join_gated_streams(maker & m, line & l) {
    const shape ne = { m.size(), 4, few(m), 1 };
    l.sources      = { m.operand(F32, ne, layout::rows), m.operand(F32, ne, layout::rows) };
    l.x            = { 2.0f };
    return true;
}

static bool spread_to_streams(maker & m, line & l) {
    const int64_t size = m.size(), tokens = few(m);
    l.sources = { m.operand(F32, { size, tokens, 1, 1 }, layout::rows), m.operand(F32, { size, 4, tokens, 1 }, layout::rows),
                  m.operand(F32, { 4, tokens, 1, 1 }, layout::rows), m.decide.chance(70) ? m.operand(F32, { 4, 4, tokens, 1 }, layout::rows) : -1 };
    return true;
}

//
// equations
//

// Squares below the diagonal, with a diagonal that does not vanish.
static bool solve(maker & m, line & l) {
    const int64_t n = m.between(1, 33), n2 = m.between(1, 3);
    l.sources       = { m.leaf(F32, { n, n, n2, 1 }, { fill::kind::uniform, 1.0f, 1.2f }), m.operand(F32, { few(m), n, n2, 1 }, layout::contiguous) };
    return true;
}

static const op ops[] = {
    { "MUL_MAT", 10, mul_mat, CALL(ggml_mul_mat(ctx, t[0], t[1])), product, "ADD" },
    { "MUL_MAT of a weight", 14, mul_mat_weight, CALL(ggml_mul_mat(ctx, t[0], t[1])), product, "ADD" },
    { "MUL_MAT, precise", 2, mul_mat_weight, CALL(WITH(ggml_mul_mat(ctx, t[0], t[1]), ggml_prec_set_acc(y, GGML_PREC_F32))), product, "SCALE" },
    { "MUL_MAT_ID", 6, mul_mat_id, CALL(ggml_mul_mat_id(ctx, t[0], t[1], t[2])), product, "ADD_ID" },
    { "OUT_PROD", 2, out_prod, CALL(ggml_out_prod(ctx, t[0], t[1])), outer },
    { "FLASH_ATTN_EXT", 6, attend,
      CALL(WITH(ggml_flash_attn_ext(ctx, t[0], t[1], t[2], t[3], x[0], x[1], x[2]), ggml_flash_attn_ext_add_sinks(y, t[4]))), attention, "MUL_MAT" },
    { "LIGHTNING_INDEXER", 1, index_keys, CALL(ggml_lightning_indexer(ctx, t[0], t[1], t[2], t[3])),
      { .tolerance = 1e-6, .limit = 100.0, .finite = true, .sums = terms::row } },
    { "DSV4_HC_COMB", 1, mix_streams, CALL(ggml_dsv4_hc_comb(ctx, t[0], t[1], t[2], 1e-6f, n[0])), { .tolerance = 1e-6, .limit = 100.0, .finite = true } },
    { "DSV4_HC_PRE", 1, join_streams, CALL(ggml_dsv4_hc_pre(ctx, t[0], t[1])), streams },
    { "DSV4_HC_PRE gated", 1, join_gated_streams, CALL(ggml_dsv4_hc_pre_gated(ctx, t[0], t[1], x[0])), streams },
    { "DSV4_HC_POST", 1, spread_to_streams, CALL(ggml_dsv4_hc_post(ctx, t[0], t[1], t[2], t[3])), streams },
    { "SOLVE_TRI", 1, solve, CALL(ggml_solve_tri(ctx, t[0], t[1], true, true, false)), { .tolerance = 1e-5, .finite = true } },
};

const std::span<const op> product_ops = ops;

}  // namespace fuzz
