#include "ops/attention_matrix.h"

#include "ops/matrix.h"

#include <algorithm>

namespace ops {

namespace {

constexpr uint32_t widest_chunk = 128;

// Subgroups along rows and along positions, matrices of rows a subgroup, matrices of positions, in order of preference:
// docs/performance.md. A thread's share of the result is to be within bounds: below, a subgroup has too little to do between barriers;
// above, registers run out.
struct tile_layout {
    uint32_t subgroups_m, subgroups_n, fragments, columns;
    uint32_t least_sums, most_sums;
    bool     deep;  // only where there are many more positions than tokens
};
constexpr tile_layout layouts[] = {
    { 4, 2, 2, 2, 32, 64, true }, { 4, 2, 1, 4, 16, 48, false }, { 4, 2, 1, 2, 16, 64, false },
    { 2, 2, 1, 4, 0, 64, false }, { 2, 2, 1, 2, 0, 64, false },  { 1, 4, 1, 4, 0, 128, false },
};

// Words of Q that a thread may hold, and steps along a row that are unrolled for it.
constexpr uint32_t most_query_words = 80;

// Compilers for the CPU take seconds for what those for a GPU unroll at once.
struct unrolling {
    uint32_t most_sums;  // except in the last layout
    uint32_t most_query_steps;
};

unrolling unrolling_for(const gpu::capabilities & caps) {
    return caps.type == gpu::capabilities::kind::software ? unrolling{ 48, 6 } : unrolling{ 64, 20 };
}

uint32_t align_up(uint32_t value, uint32_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

// Columns at a time, a multiple of `unit`, at most `widest_chunk`: the least padding, then the widest.
uint32_t chunk_of(uint32_t columns, uint32_t unit) {
    uint32_t best = unit;
    for (uint32_t chunk = unit; chunk <= widest_chunk; chunk += unit) {
        if (align_up(columns, chunk) <= align_up(columns, best)) {
            best = chunk;
        }
    }
    return best;
}

uint32_t memory_of(const attention_tile & t) {
    const uint32_t k_row  = t.k_chunk + 8, v_row = t.v_chunk + 8;
    const uint32_t tiles  = t.positions * (t.one_tile ? std::max(k_row, v_row) : k_row + v_row) * 2;
    const uint32_t scores = t.rows * (t.positions + 8) * (4 + 2);  // and weights
    return tiles + scores + (t.queries_in_registers ? 0 : t.rows * (t.k_chunk * t.k_chunks + 8) * 2) + align_up(t.subgroups_m * t.subgroups_n, 4) * 4 + 16;
}

attention_tile cut(const gpu::matrix_config & matrix, const tile_layout & layout, const gpu::capabilities & caps, uint32_t k_size, uint32_t v_size,
                   bool one_tile) {
    attention_tile t{};
    t.rows        = layout.subgroups_m * layout.fragments * matrix.m;
    t.positions   = layout.columns * matrix.n;
    t.mat_m       = matrix.m;
    t.mat_n       = matrix.n;
    t.mat_k       = matrix.k;
    t.subgroups_m = layout.subgroups_m;
    t.subgroups_n = layout.subgroups_n;
    t.fragments   = layout.fragments;
    t.threads     = layout.subgroups_m * layout.subgroups_n * caps.subgroup_max;
    t.k_chunk     = chunk_of(k_size, matrix.k);
    t.v_chunk     = chunk_of(v_size, matrix.n * layout.subgroups_n);
    t.k_chunks    = static_cast<uint32_t>(groups_for(k_size, t.k_chunk));
    t.v_chunks    = static_cast<uint32_t>(groups_for(v_size, t.v_chunk));

    const uint32_t steps   = t.k_chunk * t.k_chunks / matrix.k;
    const uint32_t words   = layout.fragments * steps * matrix.m * matrix.k / 2 / caps.subgroup_max;
    t.queries_in_registers = words <= most_query_words && steps <= unrolling_for(caps).most_query_steps;
    t.one_tile             = one_tile;
    return t;
}

bool works(const attention_tile & t, const gpu::capabilities & caps, const tile_layout & layout) {
    const uint32_t lanes = t.threads / t.rows;  // of a row of scores
    const uint32_t sums  = t.fragments * t.mat_m * (t.v_chunk * t.v_chunks / t.subgroups_n) / caps.subgroup_max;
    const bool     last  = &layout == std::end(layouts) - 1;
    const uint32_t most  = last ? layout.most_sums : std::min(layout.most_sums, unrolling_for(caps).most_sums);
    return memory_of(t) <= caps.workgroup_memory && t.threads <= caps.max_threads && sums >= layout.least_sums && sums <= most &&
           // what the kernel's loops take for granted
           lanes * t.rows == t.threads && lanes <= caps.subgroup_max && t.positions % (4 * lanes) == 0 && t.positions % t.mat_k == 0 &&
           t.positions % (t.subgroups_n * t.mat_n) == 0;
}

bool in_place(const ggml_tensor * t) {
    const auto steps_of_16 = [](uint64_t bytes) { return bytes % 16 == 0; };
    return t->type == GGML_TYPE_F16 && t->ne[0] % 8 == 0 && steps_of_16(reinterpret_cast<uintptr_t>(t->data)) && steps_of_16(t->nb[1]) &&
           steps_of_16(t->nb[2]) && steps_of_16(t->nb[3]);
}

packed unpacked(const ggml_tensor * t) {
    return { uint64_t(t->ne[1]), groups_for(t->ne[0], 8) * 8, uint64_t(t->ne[2] * t->ne[3]) };
}

}  // namespace

attention_tile attention_tile_for(const gpu::capabilities & caps, const ggml_tensor * k, const ggml_tensor * v, uint32_t rows, uint32_t tokens) {
    const gpu::matrix_config * matrix = best_matrix(caps);
    // Wider types lose range or digits in f16.
    const auto eligible = [](const ggml_tensor * t) { return t->type == GGML_TYPE_F16 || is_block(t->type); };
    if (matrix == nullptr || caps.subgroup_min != caps.subgroup_max || !eligible(k) || !eligible(v)) {
        return {};
    }
    // Under a causal mask the last rows see twice as much as most. In a context not much longer than the prompt a device would wait for
    // the few workgroups that have them, so it takes smaller ones.
    const bool deep = k->ne[1] >= 2 * int64_t(tokens);
    for (const bool one_tile : { false, true }) {
        for (const tile_layout & layout : layouts) {
            const attention_tile t             = cut(*matrix, layout, caps, uint32_t(k->ne[0]), uint32_t(v->ne[0]), one_tile);
            const bool           half_would_do = t.rows >= 2 * rows && &layout != std::end(layouts) - 1;
            if (!half_would_do && (deep || !layout.deep) && works(t, caps, layout)) {
                return t;
            }
        }
    }
    return {};
}

gpu::kernel_name attention_kernel(const attention_tile & t, const ggml_tensor * k, const ggml_tensor * v) {
    gpu::kernel_name name("attention/matrix");
    name.threads(t.threads).define("USES_MATRIX").define("ROWS", t.rows).define("POSITIONS", t.positions);
    name.define("MAT_M", t.mat_m).define("MAT_N", t.mat_n).define("MAT_K", t.mat_k);
    name.define("SUBGROUPS_M", t.subgroups_m).define("SUBGROUPS_N", t.subgroups_n).define("FRAGMENTS", t.fragments);
    name.define("k_SIZE", uint32_t(k->ne[0])).define("k_CHUNK", t.k_chunk).define("k_CHUNKS", t.k_chunks);
    name.define("v_SIZE", uint32_t(v->ne[0])).define("v_CHUNK", t.v_chunk).define("v_CHUNKS", t.v_chunks);
    name.define("k_LOADS", uint32_t(groups_for(t.positions * t.k_chunk / 8, t.threads)));
    name.define("v_LOADS", uint32_t(groups_for(t.positions * t.v_chunk / 8, t.threads)));
    name.define("QUERY_PARTS", uint32_t(groups_for(t.k_chunk, t.positions)));
    name.define("QUERY_LOADS", uint32_t(groups_for(t.positions / 8, t.threads / t.rows)));
    if (t.queries_in_registers) {
        name.define("QUERIES_IN_REGISTERS");
    }
    if (t.one_tile) {
        name.define("ONE_TILE");
    }
    return name;
}

uint64_t unpacked_bytes(const ggml_tensor * t) {
    return in_place(t) ? 0 : unpacked(t).bytes();
}

step unpack_step(const ggml_tensor * t, uint64_t scratch_at) {
    return pack_rows(t, unpacked(t), scratch_at);
}

attention_rows bind_half_rows(const char * name, const ggml_tensor * t, uint64_t scratch_at) {
    attention_rows h;
    if (in_place(t)) {
        h = { bind(name, t), { 1, uint32_t(t->nb[1] / 16), uint32_t(t->nb[2] / 16), uint32_t(t->nb[3] / 16) } };
    } else {
        const packed   as     = unpacked(t);
        const uint32_t row    = static_cast<uint32_t>(as.stride / 8);
        const uint32_t matrix = row * static_cast<uint32_t>(as.rows);
        h = { bind_scratch(name, scratch_at, as.bytes(), "f16"), { 1, row, matrix, matrix * static_cast<uint32_t>(t->ne[2]) } };
    }
    h.memory.wide = true;
    return h;
}

}  // namespace ops
