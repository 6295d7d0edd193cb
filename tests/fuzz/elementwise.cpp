// One value in, one value out.
#include "maker.h"

#include <algorithm>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // ADD1: hosts still make it

namespace fuzz {

// Where the CPU backend takes a function from a table for all halves.
static constexpr rule approximate = { .tolerance = 1e-6, .limit = 60000.0 };
// For f32 its GELU is 0 below -10, and GEGLU whatever the gate; for f16 an infinity makes them not a number.
static constexpr rule of_finite   = { .tolerance = 1e-6, .limit = 60000.0, .finite = true, .sums = rule::terms::unit };
static constexpr rule equal       = { .tolerance = 0.0 };
// An angle of many turns loses digits where it is brought into one, on the GPU more than on the CPU.
static constexpr rule up_to_1000  = { .tolerance = 1e-6, .limit = 1000.0 };

// Sources: a of any float, b of the same or f32, of a's shape or repeated to it; the CPU backend has no other pairs.
static bool binary(maker & m, line & l) {
    const int       a      = m.source({ F32, F32, F16, BF16 }, layout::rows);
    const ggml_type b_type = m.decide.chance(60) ? F32 : m[a]->type;
    const bool      same   = m.decide.chance(40);
    const int       b      = m[a]->type == b_type && m.decide.chance(8) ? a
                                                                        : m.operand(b_type, same ? shape_of(m[a]) : m.part_of(shape_of(m[a])), layout::any);
    l.sources = { a, b };
    return true;
}

// A result in a's memory must not change what is still to be read of b.
static bool binary_in_place(maker & m, line & l) {
    return binary(m, l) && (l.sources[0] == l.sources[1] || !m.overlap(l.sources[0], l.sources[1]));
}

static bool one(maker & m, line & l, types of, layout at_least) {
    l.sources = { m.source(of, at_least) };
    return true;
}

static bool rows_of_float(maker & m, line & l) {
    return one(m, l, { F32, F32, F16, BF16 }, layout::rows);
}

static bool unary(maker & m, line & l) {
    const auto f = m.decide.of({ GGML_UNARY_OP_NEG, GGML_UNARY_OP_ABS, GGML_UNARY_OP_SGN, GGML_UNARY_OP_STEP, GGML_UNARY_OP_TANH, GGML_UNARY_OP_ELU,
                                 GGML_UNARY_OP_RELU, GGML_UNARY_OP_SIGMOID, GGML_UNARY_OP_SILU,
                                 GGML_UNARY_OP_HARDSWISH, GGML_UNARY_OP_HARDSIGMOID, GGML_UNARY_OP_EXP, GGML_UNARY_OP_EXPM1, GGML_UNARY_OP_SOFTPLUS,
                                 GGML_UNARY_OP_GELU_ERF, GGML_UNARY_OP_FLOOR, GGML_UNARY_OP_CEIL, GGML_UNARY_OP_ROUND, GGML_UNARY_OP_TRUNC });
    l.n = { f };
    return rows_of_float(m, l);
}

// The CPU backend looks these up in tables of f16, whose least numbers have few digits.
static bool from_table(maker & m, line & l) {
    l.n = { m.decide.of({ GGML_UNARY_OP_GELU, GGML_UNARY_OP_GELU_QUICK }) };
    return rows_of_float(m, l);
}

static bool unary_in_place(maker & m, line & l) {
    l.n = { m.decide.of({ GGML_UNARY_OP_NEG, GGML_UNARY_OP_SILU, GGML_UNARY_OP_RELU, GGML_UNARY_OP_SIGMOID, GGML_UNARY_OP_TANH }) };
    return rows_of_float(m, l);
}

static bool xielu(maker & m, line & l) {
    l.x = { 0.8f, 0.7f, 0.5f, 1e-6f };
    return one(m, l, { F32, F16, BF16 }, layout::even);
}

static bool scale(maker & m, line & l) {
    l.x = { m.decide.of({ 0.5f, -2.0f, 0.0f, 1.0f }), m.decide.of({ 0.0f, 1.0f, -0.25f }) };
    return one(m, l, { F32, F32, BF16 }, layout::contiguous);
}

static bool clamp(maker & m, line & l) {
    l.x = { m.decide.of({ -0.5f, 0.0f, -INFINITY }), m.decide.of({ 0.5f, 0.25f, INFINITY }) };
    return one(m, l, { F32, F16 }, layout::rows);
}

static bool leaky_relu(maker & m, line & l) {
    l.x = { m.decide.of({ 0.1f, 0.0f, -1.0f }) };
    return one(m, l, { F32, F16 }, layout::even);
}

static bool constant(maker & m, line & l) {
    l.x = { m.decide.of({ 0.0f, 1.5f, -INFINITY }) };
    return one(m, l, { F32, F16 }, layout::contiguous);
}

static bool choose_glu(maker & m, line & l, ggml_glu_op kind) {
    const int a = m.source({ F32, F32, F16, BF16 }, layout::even);
    l.sources   = { a };
    l.n         = { kind, m.between(0, 1) };
    return m[a]->ne[0] % 2 == 0;
}

static bool choose_glu_split(maker & m, line & l, ggml_glu_op kind) {
    const int a = m.source({ F32, F32, F16, BF16 }, layout::even);
    l.sources   = { a, m.decide.chance(8) ? a : m.operand(m[a]->type, shape_of(m[a]), layout::even) };
    l.n         = { kind };
    return true;
}

static bool glu(maker & m, line & l) {
    return choose_glu(m, l, m.decide.of({ GGML_GLU_OP_REGLU, GGML_GLU_OP_SWIGLU, GGML_GLU_OP_GEGLU_ERF }));
}

static bool glu_split(maker & m, line & l) {
    return choose_glu_split(m, l, m.decide.of({ GGML_GLU_OP_REGLU, GGML_GLU_OP_SWIGLU, GGML_GLU_OP_GEGLU_ERF }));
}

// From the CPU backend's tables, as GELU.
static bool geglu(maker & m, line & l) {
    return choose_glu(m, l, m.decide.of({ GGML_GLU_OP_GEGLU, GGML_GLU_OP_GEGLU_QUICK }));
}

static bool geglu_split(maker & m, line & l) {
    return choose_glu_split(m, l, m.decide.of({ GGML_GLU_OP_GEGLU, GGML_GLU_OP_GEGLU_QUICK }));
}

static bool swiglu_limited(maker & m, line & l) {
    const int a = m.source({ F32 }, layout::even);
    l.sources   = { a, m.operand(F32, shape_of(m[a]), layout::even) };
    l.x         = { 1.702f, m.decide.of({ 7.0f, 0.5f }) };
    return true;
}

static bool silu_back(maker & m, line & l) {
    const int x = m.source({ F32, F16 }, layout::even);
    l.sources   = { m.operand(m[x]->type, shape_of(m[x]), layout::even), x };
    return true;
}

static bool add_expert_bias(maker & m, line & l) {
    const int           a  = m.source({ F32 }, layout::rows);
    const ggml_tensor * t  = m[a];
    int64_t             of = m.between(1, 9);
    if (of == t->ne[1]) {
        of++;  // ggml's allocator would put the result over a bias of its shape, which no backend can compute
    }
    l.sources = { a, m.operand(F32, { t->ne[0], of, 1, 1 }, layout::rows),
                  m.leaf(I32, { t->ne[1], t->ne[2], 1, 1 }, { fill::kind::index, 0.0f, float(of) }) };
    return t->ne[3] == 1 && !ggml_is_empty(t);
}

static bool add_one(maker & m, line & l) {
    const int a = m.source({ F32, F32, F16 }, layout::even);
    l.sources   = { a, m.operand(m[a]->type, { 1, 1, 1, 1 }, layout::contiguous) };
    return !ggml_is_empty(m[a]) && has_layout(m[a], layout::contiguous);
}

// a, and where in it b is added or set.
static bool part_and_rest(maker & m, line & l, types of) {
    const int a = m.source(of, layout::contiguous);
    if (ggml_is_empty(m[a])) {
        return false;
    }
    shape   part;
    int64_t offset = 0;
    for (size_t d = 0; d < part.size(); d++) {
        const int64_t n = m[a]->ne[d];
        part[d]         = m.decide.chance(50) ? n : m.between(1, std::min<int64_t>(n, 9));
        offset += m.between(0, std::min<int64_t>(n - part[d], 9)) * static_cast<int64_t>(m[a]->nb[d]);
    }
    const int b = m.operand(m[a]->type, part, layout::rows);
    l.sources   = { a, b };
    l.n         = { int64_t(m[a]->nb[1]), int64_t(m[a]->nb[2]), int64_t(m[a]->nb[3]), offset };
    return !m.overlap(a, b);
}

static bool part_of_float(maker & m, line & l) {
    return part_and_rest(m, l, { F32 });
}

static bool part_of_word(maker & m, line & l) {
    return part_and_rest(m, l, { F32, I32 });
}

static const op ops[] = {
    { "ADD", 10, binary, CALL(ggml_add(ctx, t[0], t[1])), {}, "RMS_NORM" },
    { "ADD in place", 3, binary_in_place, CALL(ggml_add_inplace(ctx, t[0], t[1])) },
    { "SUB", 4, binary, CALL(ggml_sub(ctx, t[0], t[1])) },
    { "SUB in place", 1, binary_in_place, CALL(ggml_sub_inplace(ctx, t[0], t[1])) },
    { "MUL", 8, binary, CALL(ggml_mul(ctx, t[0], t[1])), {}, "ADD" },
    { "MUL in place", 2, binary_in_place, CALL(ggml_mul_inplace(ctx, t[0], t[1])) },
    { "DIV", 4, binary, CALL(ggml_div(ctx, t[0], t[1])) },
    { "DIV in place", 1, binary_in_place, CALL(ggml_div_inplace(ctx, t[0], t[1])) },
    { "ADD1", 1, add_one, CALL(ggml_add1(ctx, t[0], t[1])) },
    { "ADD_ID", 2, add_expert_bias, CALL(ggml_add_id(ctx, t[0], t[1], t[2])) },
    { "ACC", 2, part_of_float, CALL(ggml_acc(ctx, t[0], t[1], n[0], n[1], n[2], n[3])) },
    { "ACC in place", 1, part_of_float, CALL(ggml_acc_inplace(ctx, t[0], t[1], n[0], n[1], n[2], n[3])) },
    { "SET", 2, part_of_word, CALL(ggml_set(ctx, t[0], t[1], n[0], n[1], n[2], n[3])), equal },
    { "SET in place", 1, part_of_word, CALL(ggml_set_inplace(ctx, t[0], t[1], n[0], n[1], n[2], n[3])), equal },

    { "UNARY", 10, unary, CALL(ggml_unary(ctx, t[0], (ggml_unary_op) n[0])), approximate, "MUL" },
    { "UNARY from a table", 2, from_table, CALL(ggml_unary(ctx, t[0], (ggml_unary_op) n[0])), of_finite, "MUL" },
    { "UNARY in place", 2, unary_in_place, CALL(ggml_unary_inplace(ctx, t[0], (ggml_unary_op) n[0])), approximate },
    { "XIELU", 1, xielu, CALL(ggml_xielu(ctx, t[0], x[0], x[1], x[2], x[3])), approximate },
    { "SQR", 2, rows_of_float, CALL(ggml_sqr(ctx, t[0])) },
    { "SQRT", 2, rows_of_float, CALL(ggml_sqrt(ctx, t[0])) },
    { "LOG", 1, rows_of_float, CALL(ggml_log(ctx, t[0])) },
    { "SIN", 1, rows_of_float, CALL(ggml_sin(ctx, t[0])), up_to_1000 },
    { "COS", 1, rows_of_float, CALL(ggml_cos(ctx, t[0])), up_to_1000 },
    { "SCALE", 3, scale, CALL(ggml_scale(ctx, t[0], x[0])), {}, "SOFT_MAX" },
    { "SCALE with bias", 2, scale, CALL(ggml_scale_bias(ctx, t[0], x[0], x[1])) },
    { "SCALE in place", 1, scale, CALL(ggml_scale_bias_inplace(ctx, t[0], x[0], x[1])) },
    { "CLAMP", 2, clamp, CALL(ggml_clamp(ctx, t[0], x[0], x[1])), equal },
    { "CLAMP in place", 1, clamp, CALL(ggml_clamp_inplace(ctx, t[0], x[0], x[1])), equal },
    { "LEAKY_RELU", 1, leaky_relu, CALL(ggml_leaky_relu(ctx, t[0], x[0], false)) },
    { "FILL", 1, constant, CALL(ggml_fill(ctx, t[0], x[0])), equal },

    { "GLU", 3, glu, CALL(ggml_glu(ctx, t[0], (ggml_glu_op) n[0], n[1] != 0)), approximate, "MUL_MAT" },
    { "GLU split", 4, glu_split, CALL(ggml_glu_split(ctx, t[0], t[1], (ggml_glu_op) n[0])), approximate, "MUL_MAT" },
    { "GEGLU", 1, geglu, CALL(ggml_glu(ctx, t[0], (ggml_glu_op) n[0], n[1] != 0)), of_finite, "MUL_MAT" },
    { "GEGLU split", 1, geglu_split, CALL(ggml_glu_split(ctx, t[0], t[1], (ggml_glu_op) n[0])), of_finite, "MUL_MAT" },
    { "GLU SWIGLU_OAI", 1, swiglu_limited, CALL(ggml_swiglu_oai(ctx, t[0], t[1], x[0], x[1])), approximate },
    { "GLU SWIGLU_CLAMP", 1, swiglu_limited, CALL(ggml_swiglu_clamp(ctx, t[0], t[1], x[1])), approximate },
    { "SILU_BACK", 1, silu_back, CALL(ggml_silu_back(ctx, t[0], t[1])), approximate },
};

const std::span<const op> elementwise_ops = ops;

}  // namespace fuzz
