// State-space models and linear attention: what runs along a sequence of tokens.
#include "maker.h"

namespace fuzz {

using terms = rule::terms;

static constexpr fill small    = { fill::kind::uniform, -0.3f, 0.3f };
static constexpr fill decaying = { fill::kind::uniform, 0.3f, 0.95f };
// Along a sequence large values would only grow.
static constexpr rule scan     = { .tolerance = 1e-6, .limit = 10.0, .finite = true };

static bool ssm_conv(maker & m, line & l) {
    const int64_t width = m.between(2, 4), channels = m.size(), tokens = m.decide.of<int64_t>({ 1, 2, 7, 32 }), sequences = m.between(1, 3);
    l.sources = { m.operand(F32, { width - 1 + tokens, channels, sequences, 1 }, layout::contiguous),
                  m.operand(F32, { width, channels, 1, 1 }, layout::contiguous) };
    return true;
}

struct heads {
    int64_t size, count, tokens, sequences;
};

static heads some_heads(maker & m) {
    return { m.decide.of<int64_t>({ 32, 64, 128 }), m.between(1, 3), m.decide.of<int64_t>({ 1, 2, 5 }), m.between(1, 2) };
}

// States that are kept: the last, or that after each token. ggml leaves open what of others is written.
static int64_t some_states(maker & m, int64_t tokens) {
    return m.decide.chance(30) ? tokens : 1;
}

static bool ssm_scan(maker & m, line & l) {
    const heads   h     = some_heads(m);
    const int64_t state = m.decide.of<int64_t>({ 16, 128 }), groups = h.count % 2 == 0 ? m.between(1, 2) : 1;
    const bool    one = m.decide.chance(50);
    const shape   b   = { state, groups, h.tokens, h.sequences };
    l.sources = { m.leaf(F32, { state, one ? h.size : 1, h.count, h.sequences }, small),
                  m.leaf(F32, { one ? h.size : 1, h.count, h.tokens, h.sequences }, small), m.leaf(F32, { h.count, h.tokens, h.sequences, 1 }, small),
                  m.leaf(F32, { one ? 1 : state, h.count, 1, 1 }, { fill::kind::uniform, -1.0f, -0.1f }), m.leaf(F32, b, small), m.leaf(F32, b, small),
                  m.leaf(I32, { h.sequences, 1, 1, 1 }, { fill::kind::permutation, 0.0f, float(h.sequences) }) };
    l.n = { one ? some_states(m, h.tokens) : 1 };
    return true;
}

// `count` tensors of [size, heads, tokens] and a state.
static bool choose_linear_attention(maker & m, line & l, int count, int decay) {
    heads h = some_heads(m);
    h.size  = 64;  // of smaller ones the CPU backend reads and writes more than there is
    for (int i = 0; i < count; i++) {
        l.sources.push_back(m.leaf(F32, { h.size, h.count, h.tokens * h.sequences, 1 }, i == decay ? decaying : small));
    }
    l.sources.push_back(m.leaf(F32, { h.size * h.size * h.count, h.sequences, 1, 1 }, small));
    return true;
}

static bool wkv6(maker & m, line & l) {
    const bool fits = choose_linear_attention(m, l, 4, 3);  // k, v, r, td, state
    const auto k    = shape_of(m[l.sources[0]]);
    l.sources.insert(l.sources.begin() + 3, m.leaf(F32, { k[0], k[1], 1, 1 }, small));
    return fits;
}

static bool wkv7(maker & m, line & l) {
    return choose_linear_attention(m, l, 6, 1);  // r, w, k, v, a, b, state
}

static bool gated_linear_attn(maker & m, line & l) {
    l.x = { 0.5f };
    return choose_linear_attention(m, l, 4, 3);  // k, v, q, g, state
}

static bool gated_delta_net(maker & m, line & l) {
    heads h = some_heads(m);
    h.size  = m.decide.of<int64_t>({ 16, 32, 64, 128 });
    const shape ne = { h.size, h.count, h.tokens, h.sequences };
    l.sources = { m.operand(F32, ne, layout::rows, small), m.operand(F32, ne, layout::rows, small), m.operand(F32, ne, layout::rows, small),
                  m.leaf(F32, { m.decide.chance(30) ? h.size : 1, h.count, h.tokens, h.sequences }, { fill::kind::uniform, -1.0f, -0.05f }),
                  m.leaf(F32, { 1, h.count, h.tokens, h.sequences }, { fill::kind::uniform, 0.1f, 0.9f }),
                  m.leaf(F32, { h.size, h.size, h.count, h.sequences }, small) };
    l.n = { some_states(m, h.tokens) };
    return true;
}

static const op ops[] = {
    { "SSM_CONV", 2, ssm_conv, CALL(ggml_ssm_conv(ctx, t[0], t[1])), { .finite = true, .sums = terms::one }, "UNARY" },
    { "SSM_SCAN", 1, ssm_scan, CALL(ggml_ssm_scan(ctx, t[0], t[1], t[2], t[3], t[4], t[5], t[6], n[0])), scan },
    { "RWKV_WKV6", 1, wkv6, CALL(ggml_rwkv_wkv6(ctx, t[0], t[1], t[2], t[3], t[4], t[5])), scan },
    { "RWKV_WKV7", 1, wkv7, CALL(ggml_rwkv_wkv7(ctx, t[0], t[1], t[2], t[3], t[4], t[5], t[6])), scan },
    { "GATED_LINEAR_ATTN", 1, gated_linear_attn, CALL(ggml_gated_linear_attn(ctx, t[0], t[1], t[2], t[3], t[4], x[0])), scan },
    { "GATED_DELTA_NET", 1, gated_delta_net, CALL(ggml_gated_delta_net(ctx, t[0], t[1], t[2], t[3], t[4], t[5], n[0])), scan },
};

const std::span<const op> sequence_ops = ops;

}  // namespace fuzz
