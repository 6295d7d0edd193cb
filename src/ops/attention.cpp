// FLASH_ATTN_EXT: softmax(scale * Q K^T + mask) V, without the scores ever lying in memory. And LIGHTNING_INDEXER, which makes scores alone.
#include "ops/attention_matrix.h"
#include "ops/families.h"
#include "ops/split.h"

#include <algorithm>
#include <bit>

namespace ops {

namespace {

struct attention_tuning {
    uint32_t rows;     // of a tile, at most
    uint32_t threads;  // of a workgroup, and KV positions it handles at once
    uint32_t unroll;   // rows of K or V whose loads are issued together
    uint32_t octets;   // decoding: eight values each of K, and of V, that a thread has in flight,
    uint32_t alone_octets;  // and for one workgroup alone, which is done sooner if its text is short
    uint32_t alone;    // decoding: KV positions that one workgroup takes alone, without a merge
    uint32_t alone_threads;
    uint32_t groups;   // workgroups that fill the device
    uint32_t matrix_rows;  // rows that fill the device, by subgroup matrices
};

// Measured; see docs/performance.md.
constexpr attention_tuning gpu_tuning = {
    .rows = 16, .threads = 128, .unroll = 4, .octets = 16, .alone_octets = 4, .alone = 256, .alone_threads = 512, .groups = 512, .matrix_rows = 16384,
};
constexpr attention_tuning cpu_tuning = {
    .rows = 16, .threads = 128, .unroll = 2, .octets = 2, .alone_octets = 2, .alone = 256, .alone_threads = 128, .groups = 16, .matrix_rows = 1024,
};

const attention_tuning & tuning_for(const gpu::capabilities & caps) {
    return caps.type == gpu::capabilities::kind::software ? cpu_tuning : gpu_tuning;
}

// The operands, or parts of them.
struct attention {
    const ggml_tensor * dst;
    const ggml_tensor * q;
    const ggml_tensor * k;
    const ggml_tensor * v;
    const ggml_tensor * mask;   // may be null
    const ggml_tensor * sinks;  // may be null
    uint32_t            all_heads;
    uint32_t            first_head  = 0;
    uint32_t            first_batch = 0;
};

// Rows of 16-bit values that can be read eight values at a time.
bool octets(const ggml_tensor * t) {
    const auto multiple_of_16 = [](uint64_t bytes) { return bytes % 16 == 0; };
    return is_float(t->type) && ggml_type_size(t->type) == 2 && t->ne[0] % 8 == 0 && multiple_of_16(reinterpret_cast<uintptr_t>(t->data)) &&
           multiple_of_16(t->nb[1]) && multiple_of_16(t->nb[2]) && multiple_of_16(t->nb[3]);
}

// Operands that may be absent or empty: a little scratch memory stands in for them, so that there is one kernel for all cases.
constexpr uint64_t spare_bytes = 256;

operand bind_optional(const char * name, const ggml_tensor * t, uint64_t spare, const char * type) {
    return t != nullptr && !ggml_is_empty(t) ? bind(name, t) : bind_scratch(name, spare, spare_bytes, type);
}

// The defines that tell row.wgsl how to read Q, K or V.
struct row_defines {
    const char * size;
    const char * blocks;
    const char * halves;
    const char * quads;
};

operand bind_rows(gpu::kernel_name & kernel, const char * name, const ggml_tensor * t, const row_defines & defines) {
    operand o = bind_optional(name, t, 0, codec(t->type));
    kernel.define(defines.size, static_cast<uint32_t>(t->ne[0]));
    if (is_block(t->type)) {
        kernel.define(defines.blocks);
    } else if (octets(t)) {
        kernel.define(defines.halves);
        o.wide = true;
    } else if (quads(t)) {
        kernel.define(defines.quads);
        o.wide = t->type == GGML_TYPE_F32;
    }
    return o;
}

// Scratch operands start on multiples of 256 bytes.
uint64_t align_up(uint64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

uint32_t power_of_two_below(uint64_t n) {
    uint32_t p = 1;
    while (2ull * p <= n) {
        p *= 2;
    }
    return p;
}

uint32_t power_of_two_above(uint64_t n) {
    const uint32_t below = power_of_two_below(n);
    return below == n ? below : 2 * below;
}

// The kernel for a shape, and how its threads are shared out.
struct kernel_choice {
    const char *   shader    = nullptr;
    uint32_t       rows      = 0;    // of a workgroup
    uint32_t       threads   = 0;
    uint32_t       positions = 0;    // KV positions at a time
    uint32_t       lanes     = 0;    // threads that share the columns of V
    uint32_t       team      = 0;    // decode: threads that share a row of K
    uint32_t       result_rows = 0;  // decode: rows of the result put together at once
    bool           alone = false;    // decode: one workgroup takes all positions
    attention_tile tile = {};        // subgroup matrices
};

// Workgroup memory of the codecs' tables, at most.
uint64_t table_bytes(ggml_type type) {
    return has_grid(type) ? grid_bytes : 64;
}

// Threads that share a row of K: as few idle and as many as possible.
uint32_t team_for(const gpu::capabilities & caps, uint64_t octets) {
    uint32_t best = 4;
    for (uint32_t team = 8; team <= std::min(caps.subgroup_min, 32u); team *= 2) {
        if (groups_for(octets, team) * team <= groups_for(octets, best) * best) {
            best = team;
        }
    }
    return best;
}

// Workgroup memory of attention/decode.wgsl.
uint64_t decode_bytes(const gpu::capabilities & caps, const kernel_choice & k) {
    const uint64_t scores  = 2 * k.positions * k.rows * sizeof(float);  // and weights
    const uint64_t parts   = (k.threads / caps.subgroup_min + 1) * k.rows * sizeof(float);
    const uint64_t columns = k.result_rows * k.threads / std::max(1u, caps.subgroup_min / k.lanes) * 8 * sizeof(float);
    return scores + parts + columns;
}

// For up to eight rows; none if it does not fit into `memory`.
kernel_choice choose_decode(const attention_tuning & tuning, const gpu::capabilities & caps, const attention & a, uint32_t rows, uint64_t memory) {
    const uint32_t v_octets = static_cast<uint32_t>(groups_for(a.v->ne[0], 8));
    const uint32_t k_octets = static_cast<uint32_t>(groups_for(a.k->ne[0], 8));
    const uint32_t team     = team_for(caps, k_octets);
    const uint64_t share    = groups_for(k_octets, team);
    kernel_choice  choice   = {
         .shader    = "attention/decode",
         .rows      = rows > 4 && share == 1 ? 8u : 4u,
         .threads   = tuning.threads,
         .positions = tuning.threads,
         .lanes     = power_of_two_above(std::max(v_octets, 4u)),
         .team      = team,
    };
    if (share > 4 || choice.lanes > choice.threads) {
        return {};
    }
    const auto fits = [&](kernel_choice & k) {
        k.result_rows = k.rows;
        while (k.result_rows > 1 && decode_bytes(caps, k) > memory) {
            k.result_rows /= 2;
        }
        return decode_bytes(caps, k) <= memory;
    };
    if (kernel_choice alone = choice; a.k->ne[1] <= tuning.alone) {
        alone.threads   = std::min(tuning.alone_threads, power_of_two_below(caps.max_threads));
        alone.positions = std::min(tuning.alone, alone.threads);
        alone.alone     = true;
        if (fits(alone)) {
            return alone;
        }
    }
    return fits(choice) ? choice : kernel_choice();
}

kernel_choice choose_kernel(const attention_tuning & tuning, const gpu::capabilities & caps, const attention & a, uint32_t rows) {
    const uint32_t v_quads  = static_cast<uint32_t>(groups_for(a.v->ne[0], 4));
    const uint64_t memory   = caps.workgroup_memory - std::min<uint64_t>(table_bytes(a.k->type) + table_bytes(a.v->type), caps.workgroup_memory);
    if (caps.subgroups && caps.subgroup_min >= 4 && rows <= 8) {
        if (const kernel_choice decode = choose_decode(tuning, caps, a, rows, memory); decode.rows != 0) {
            return decode;
        }
    }
    if (const attention_tile tile = attention_tile_for(caps, a.k, a.v, rows, uint32_t(a.q->ne[1])); rows > 8 && a.k->ne[1] > 0 && tile.rows != 0) {
        return { .shader = "attention/matrix", .rows = tile.rows, .threads = tile.threads, .positions = tile.positions, .tile = tile };
    }
    // No more rows than there are, and than fit into workgroup memory.
    const uint32_t threads   = v_quads > tuning.threads ? 256 : tuning.threads;
    const uint64_t row_bytes = (groups_for(a.k->ne[0], 8) * 8 + 4 + threads + 16) * sizeof(float);
    uint32_t       tile_rows = tuning.rows;
    while (tile_rows > 4 && (tile_rows >= 2 * rows || tile_rows * row_bytes > memory)) {
        tile_rows /= 2;
    }
    if (tile_rows * row_bytes > memory) {
        return {};
    }
    return { .shader = "attention/tile", .rows = tile_rows, .threads = threads, .positions = threads, .lanes = power_of_two_above(std::max(v_quads, 4u)) };
}

const char * refusal(const ggml_tensor * dst) {
    const ggml_tensor * q = dst->src[0];
    const ggml_tensor * k = dst->src[1];
    const ggml_tensor * v = dst->src[2];
    const auto readable = [](const ggml_tensor * t) { return (is_float(t->type) || is_block(t->type)) && t->nb[0] == ggml_type_size(t->type); };
    if (q->type != GGML_TYPE_F32 || !readable(q)) return "the type of Q, or its rows are not contiguous";
    if (!readable(k)) return "the type of K, or its rows are not contiguous";
    if (!readable(v)) return "the type of V, or its rows are not contiguous";
    if (k->ne[2] != v->ne[2] || k->ne[3] != q->ne[3] || v->ne[3] != q->ne[3]) return "the numbers of heads";
    if (q->ne[2] % k->ne[2] != 0) return "heads of Q that do not share those of K evenly";
    if (k->ne[0] > 1024 || v->ne[0] > 1024) return "a head size above 1024";
    return nullptr;
}

// What of a cut into splits lies in scratch memory: for each row and split the sum of V, the highest score and the sum of the weights.
uint64_t partial_bytes(const attention & a, uint64_t splits) {
    return splits == 1 ? spare_bytes : uint64_t(count(a.dst)) / a.dst->ne[0] * splits * (groups_for(a.dst->ne[0], 4) + 1) * 16;
}

class planner {
public:
    planner(const gpu::capabilities & caps) : caps_(caps), tuning_(tuning_for(caps)) {}

    // Appends the steps of `a`. What is larger than a binding is cut: batches, heads and query positions become work of their own;
    // KV positions that still do not fit become segments, whose splits are merged like all others.
    void add(const attention & a) {
        if (choose_kernel(tuning_, caps_, a, 1).rows == 0) {
            whole.why = "heads larger than this device's workgroup memory allows";
            return;
        }
        const int64_t segments    = segments_of(a);
        const bool    kv_fits     = segments == 1;
        const bool    rows_fit    = fits(caps_, a.q) && fits(caps_, a.dst) && fits(caps_, a.mask) &&
                              partial_bytes(a, segments * shape_of(a, segments).splits) <= caps_.max_binding;
        const bool    heads_outer = a.q->ne[2] > 1 && (a.q->ne[1] == 1 || a.q->nb[2] > a.q->nb[1]);
        if (!(kv_fits && rows_fit) && a.q->ne[3] > 1) {
            halve_batches(a);
        } else if (!kv_fits && a.k->ne[2] > 1 && a.k->nb[2] > a.k->nb[1]) {
            halve_heads(a);
        } else if (!rows_fit && heads_outer && fits(caps_, a.mask)) {
            halve_heads(a);
        } else if (!rows_fit && a.q->ne[1] > 1) {
            halve_positions(a);
        } else if (!rows_fit) {
            whole.why = "one query row is larger than a binding";
        } else {
            add_steps(a, segments);
        }
    }

    plan whole;

private:
    // How the work is shared out.
    struct work_shape {
        kernel_choice kernel;
        uint32_t      group_heads;  // query heads of one KV head
        uint32_t      rows;
        uint32_t      row_tiles;
        uint32_t      splits;  // of a segment
        uint32_t      chunk;   // KV positions of a split
    };

    int64_t segments_of(const attention & a) const {
        const bool    unpacks = choose_kernel(tuning_, caps_, a, rows_of(a)).tile.rows != 0;
        const int64_t kv      = a.k->ne[1];
        int64_t       n       = 1;
        const auto    fit     = [&](const ggml_tensor * t) {
            ggml_tensor segment = *t;
            segment.ne[1]       = (kv + n - 1) / n;
            return fits(caps_, &segment) && !(unpacks && unpacked_bytes(&segment) > caps_.max_binding);
        };
        while (n < kv && !(fit(a.k) && fit(a.v))) {
            n *= 2;
        }
        return std::min(n, std::max<int64_t>(kv, 1));
    }

    static uint32_t group_heads_of(const attention & a) { return static_cast<uint32_t>(a.q->ne[2] / a.k->ne[2]); }
    static uint32_t rows_of(const attention & a) { return static_cast<uint32_t>(a.q->ne[1]) * group_heads_of(a); }

    work_shape shape_of(const attention & a, int64_t segments) const {
        work_shape     s;
        const uint32_t kv = static_cast<uint32_t>(groups_for(a.k->ne[1], segments));
        s.group_heads     = group_heads_of(a);
        s.rows            = rows_of(a);
        s.kernel          = choose_kernel(tuning_, caps_, a, s.rows);
        s.row_tiles       = static_cast<uint32_t>(groups_for(s.rows, s.kernel.rows));

        const uint64_t units = uint64_t(s.row_tiles) * a.k->ne[2] * a.q->ne[3] * segments;
        const uint32_t groups = s.kernel.tile.rows != 0 ? tuning_.matrix_rows / s.kernel.tile.rows : tuning_.groups;
        s.splits = std::min(power_of_two_below(std::max<uint64_t>(groups / units, 1)), power_of_two_below(std::max(kv / s.kernel.positions, 1u)));
        s.splits = s.kernel.alone ? 1 : s.splits;
        while (s.splits > 1 && partial_bytes(a, segments * s.splits) > caps_.max_binding) {
            s.splits /= 2;
        }
        s.chunk = static_cast<uint32_t>(groups_for(groups_for(kv, s.splits), s.kernel.positions) * s.kernel.positions);
        return s;
    }

    const ggml_tensor * part(const ggml_tensor * t, int d, int64_t begin, int64_t end) {
        return t == nullptr ? nullptr : part_of(t, d, begin, end, whole.slices);
    }

    void halve_batches(const attention & a) {
        const int64_t n = a.q->ne[3];
        for (const auto & [begin, end] : { std::pair(int64_t(0), n / 2), std::pair(n / 2, n) }) {
            attention half = a;
            half.dst = part(a.dst, 3, begin, end);
            half.q   = part(a.q, 3, begin, end);
            half.k   = part(a.k, 3, begin, end);
            half.v   = part(a.v, 3, begin, end);
            if (a.mask != nullptr && a.mask->ne[3] == n && a.first_batch == 0) {
                half.mask = part(a.mask, 3, begin, end);
            } else {
                half.first_batch = a.first_batch + static_cast<uint32_t>(begin);
            }
            add(half);
        }
    }

    void halve_positions(const attention & a) {
        const int64_t n = a.q->ne[1];
        for (const auto & [begin, end] : { std::pair(int64_t(0), n / 2), std::pair(n / 2, n) }) {
            attention half = a;
            half.dst  = part(a.dst, 2, begin, end);
            half.q    = part(a.q, 1, begin, end);
            half.mask = part(a.mask, 1, begin, end);
            add(half);
        }
    }

    // Of K and V, or if there is but one, of Q.
    void halve_heads(const attention & a) {
        const int64_t n = a.k->ne[2] > 1 ? a.k->ne[2] : a.q->ne[2], heads = a.q->ne[2] / n;
        for (const auto & [begin, end] : { std::pair(int64_t(0), n / 2), std::pair(n / 2, n) }) {
            attention half = a;
            half.dst   = part(a.dst, 1, begin * heads, end * heads);
            half.q     = part(a.q, 2, begin * heads, end * heads);
            half.sinks = part(a.sinks, 0, begin * heads, end * heads);
            if (a.k->ne[2] > 1) {
                half.k = part(a.k, 2, begin, end);
                half.v = part(a.v, 2, begin, end);
            }
            half.first_head = a.first_head + static_cast<uint32_t>(begin * heads);
            add(half);
        }
    }

    void add_steps(const attention & a, int64_t segments) {
        const work_shape shape      = shape_of(a, segments);
        const uint32_t   all_splits = shape.splits * static_cast<uint32_t>(segments);
        const uint64_t   bytes      = partial_bytes(a, all_splits);
        operand          partial    = bind_scratch("partial", 2 * spare_bytes, bytes);
        partial.wide                = true;
        const uint64_t   free_at    = 2 * spare_bytes + align_up(bytes);
        whole.scratch               = std::max(whole.scratch, free_at);

        const int64_t kv = a.k->ne[1];
        for (int64_t i = 0; i < segments; i++) {
            attention     segment = a;
            const int64_t begin = kv * i / segments, end = kv * (i + 1) / segments;
            if (segments > 1) {
                segment.k    = part(a.k, 1, begin, end);
                segment.v    = part(a.v, 1, begin, end);
                segment.mask = part(a.mask, 0, begin, end);
            }
            step s = shape.kernel.tile.rows != 0 ? matrix_step(segment, shape, partial, free_at) : plain_step(segment, shape, partial);
            s.quantises = shape.kernel.team != 0 && all_splits == 1;
            s.params.add("first_split", static_cast<uint32_t>(i) * shape.splits).add("all_splits", all_splits);
            whole.steps.push_back(std::move(s));
        }
        if (all_splits > 1) {
            whole.steps.push_back(merge_step(a, all_splits, partial));
        }
    }

    step plain_step(const attention & a, const work_shape & shape, const operand & partial) const {
        gpu::kernel_name kernel(shape.kernel.shader);
        kernel.threads(shape.kernel.threads).define("ROWS", shape.kernel.rows).define("ROWS4", shape.kernel.rows / 4);
        kernel.define("LANES", shape.kernel.lanes);
        if (shape.kernel.team != 0) {
            define_decode(kernel, a, shape.kernel);
        } else {
            kernel.define("UNROLL", tuning_.unroll);
            if (caps_.subgroups && shape.kernel.lanes >= caps_.subgroup_max) {
                kernel.define("GROUPS_IN_TURN");
            }
        }
        const operand k = bind_rows(kernel, "k", a.k, { "k_SIZE", "k_BLOCKS", "k_HALVES", "k_QUADS" });
        const operand v = bind_rows(kernel, "v", a.v, { "v_SIZE", "v_BLOCKS", "v_HALVES", "v_QUADS" });
        return scores_step(a, shape, std::move(kernel), { k, nb(a.k) }, { v, nb(a.v) }, partial);
    }

    // Values of blocks are in flight decoded, which takes twice the registers.
    uint32_t octets_in_flight(ggml_type type, bool alone) const {
        const uint32_t octets = alone ? tuning_.alone_octets : tuning_.octets;
        return is_block(type) ? std::max(octets / 4, 1u) : octets;
    }

    void define_decode(gpu::kernel_name & kernel, const attention & a, const kernel_choice & k) const {
        const uint32_t share = static_cast<uint32_t>(groups_for(groups_for(a.k->ne[0], 8), k.team));
        const uint32_t rows_of_k = k.positions / (k.threads / k.team), rows_of_v = k.positions / (k.threads / k.lanes);
        kernel.define("POSITIONS", k.positions).define("TEAM", k.team).define("SHARE", share).define("RESULT_ROWS", k.result_rows);
        kernel.define("K_UNROLL", std::min(rows_of_k, power_of_two_below(std::max(octets_in_flight(a.k->type, k.alone) / share, 1u))));
        kernel.define("V_UNROLL", std::min(rows_of_v, octets_in_flight(a.v->type, k.alone)));
    }

    // Before the scores, K and V are unpacked and the mask is looked through, in scratch memory from `free_at` on.
    step matrix_step(const attention & a, const work_shape & shape, const operand & partial, uint64_t free_at) {
        const uint64_t v_at       = free_at + align_up(unpacked_bytes(a.k));
        const uint64_t visible_at = v_at + align_up(unpacked_bytes(a.v));
        if (unpacked_bytes(a.k) != 0) {
            whole.steps.push_back(unpack_step(a.k, free_at));
        }
        if (unpacked_bytes(a.v) != 0) {
            whole.steps.push_back(unpack_step(a.v, v_at));
        }
        const attention_rows k = bind_half_rows("k", a.k, free_at), v = bind_half_rows("v", a.v, v_at);
        step                 s = scores_step(a, shape, attention_kernel(shape.kernel.tile, a.k, a.v), k, v, partial);

        const uint32_t words   = static_cast<uint32_t>(groups_for(a.k->ne[1], 16 * shape.kernel.positions));
        operand        visible = bind_scratch("visible", visible_at, spare_bytes);
        if (a.mask != nullptr) {
            step look      = look_step(a, shape, words);
            visible.size   = look.groups * sizeof(uint32_t);
            look.operands.push_back(visible);
            whole.steps.push_back(std::move(look));
        }
        s.operands.push_back(visible);
        s.params.add("visible_words", words).add("mask_quads", uint32_t(a.mask != nullptr && quads(a.mask)));
        whole.scratch = std::max(whole.scratch, visible_at + align_up(visible.size));
        return s;
    }

    // One word for every 16 tiles of positions, row tile and mask.
    step look_step(const attention & a, const work_shape & shape, uint32_t words) const {
        const uint32_t masks = a.mask->ne[2] == 1 ? 1 : static_cast<uint32_t>(a.k->ne[2]);
        step           s;
        s.kernel = gpu::kernel_name("attention/look").threads(std::max(256u, 2 * shape.kernel.positions));
        s.kernel.define("ROWS", shape.kernel.rows).define("POSITIONS", shape.kernel.positions);
        operand mask = bind("mask", a.mask);
        if (octets(a.mask)) {
            s.kernel.define("MASK_OCTETS");
            mask.wide = true;
        }
        s.operands = { mask };
        s.params.add("mask_nb", nb(a.mask)).add("mask_ne", ne(a.mask));
        s.params.add("first_head", a.first_head).add("first_batch", a.first_batch).add("group_heads", shape.group_heads).add("rows", shape.rows);
        s.params.add("kv", static_cast<uint32_t>(a.k->ne[1])).add("row_tiles", shape.row_tiles).add("masks", masks).add("visible_words", words);
        s.groups = uint64_t(words) * shape.row_tiles * masks * (a.mask->ne[3] == 1 ? 1 : a.q->ne[3]);
        s.joins  = true;
        return s;
    }

    static step scores_step(const attention & a, const work_shape & shape, gpu::kernel_name kernel, const attention_rows & k, const attention_rows & v,
                            const operand & partial) {
        step s;
        s.kernel = std::move(kernel);
        if (quads(a.dst)) {
            s.kernel.define("DST_QUADS");
        }
        s.operands = {
            bind_rows(s.kernel, "q", a.q, { "q_SIZE", "q_BLOCKS", "q_HALVES", "q_QUADS" }),
            k.memory,
            v.memory,
            bind_optional("mask", a.mask, 0, "f16"),
            bind_optional("sinks", a.sinks, spare_bytes, "f32"),
            bind_source("dst", a.dst, quads(a.dst)),
            partial,
        };
        const float scale   = param_f32(a.dst, 0);
        const float softcap = param_f32(a.dst, 2);
        s.params.add("q_nb", nb(a.q)).add("k_nb", k.strides).add("v_nb", v.strides).add("dst_nb", nb(a.dst));
        s.params.add("mask_nb", a.mask != nullptr ? nb(a.mask) : ops::shape{}).add("mask_ne", a.mask != nullptr ? ne(a.mask) : ops::shape{ 1, 1, 1, 1 });
        s.params.add("has_mask", uint32_t(a.mask != nullptr)).add("has_sinks", uint32_t(a.sinks != nullptr));
        s.params.add("scale", softcap != 0.0f ? scale / softcap : scale).add("softcap", softcap).add("max_bias", param_f32(a.dst, 1));
        s.params.add("first_head", a.first_head).add("first_batch", a.first_batch).add("heads_log2", power_of_two_below(a.all_heads));
        s.params.add("positions", static_cast<uint32_t>(a.q->ne[1])).add("heads", static_cast<uint32_t>(a.q->ne[2]));
        s.params.add("group_heads", shape.group_heads).add("kv_heads", static_cast<uint32_t>(a.k->ne[2])).add("rows", shape.rows);
        s.params.add("kv", static_cast<uint32_t>(a.k->ne[1])).add("split_bits", static_cast<uint32_t>(std::countr_zero(shape.splits))).add("chunk", shape.chunk).add("row_tiles", shape.row_tiles).add("four", 4u);
        s.params.add("k_octets", static_cast<uint32_t>(groups_for(a.k->ne[0], 8)));
        s.groups = uint64_t(shape.row_tiles) * a.k->ne[2] * a.q->ne[3] * shape.splits;
        return s;
    }

    step merge_step(const attention & a, uint32_t splits, const operand & partial) const {
        static constexpr uint32_t threads = 256, most_unroll = 4;
        const uint32_t            lanes   = static_cast<uint32_t>(groups_for(a.dst->ne[0], 4));
        step                      s;
        s.kernel = gpu::kernel_name("attention/merge").threads(threads).define("v_SIZE", static_cast<uint32_t>(a.dst->ne[0])).define("LANES", lanes);
        s.kernel.define("UNROLL", std::min(power_of_two_above(groups_for(splits, threads / lanes)), most_unroll));
        if (quads(a.dst)) {
            s.kernel.define("DST_QUADS");
        }
        s.operands = { partial, bind_optional("sinks", a.sinks, spare_bytes, "f32"), bind_source("dst", a.dst, quads(a.dst)) };
        s.params.add("dst_nb", nb(a.dst)).add("has_sinks", uint32_t(a.sinks != nullptr)).add("heads", static_cast<uint32_t>(a.q->ne[2]));
        s.params.add("positions", static_cast<uint32_t>(a.q->ne[1])).add("all_splits", splits);
        s.groups    = ggml_nrows(a.dst);
        s.quantises = true;
        return s;
    }

    const gpu::capabilities & caps_;
    const attention_tuning    tuning_;
};

}  // namespace

plan plan_flash_attn_ext(const gpu::capabilities & caps, const ggml_tensor * dst) {
    if (const char * why = refusal(dst)) {
        return unsupported("%s (%s, %s, %s)", why, ggml_type_name(dst->src[0]->type), ggml_type_name(dst->src[1]->type), ggml_type_name(dst->src[2]->type));
    }
    const ggml_tensor * q = dst->src[0];
    planner             p(caps);
    p.add({ dst, q, dst->src[1], dst->src[2], dst->src[3], dst->src[4], static_cast<uint32_t>(q->ne[2]) });
    return std::move(p.whole);
}

// LIGHTNING_INDEXER: dst[kv, token, 1, stream] = sum over heads of w max(q . k, 0), plus the mask.
plan plan_lightning_indexer(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * q    = dst->src[0];
    const ggml_tensor * k    = dst->src[1];
    const ggml_tensor * w    = dst->src[2];
    const ggml_tensor * mask = dst->src[3];
    if (q->type != GGML_TYPE_F32 || !(is_float(k->type) || is_block(k->type)) || k->nb[0] != ggml_type_size(k->type) || k->ne[0] > 512) {
        return unsupported("keys of %lld x %s", (long long) k->ne[0], ggml_type_name(k->type));
    }
    constexpr uint32_t threads = 128;
    const uint32_t     heads   = static_cast<uint32_t>(q->ne[1]);
    const uint32_t     tiles   = static_cast<uint32_t>(groups_for(dst->ne[0], threads));

    step s;
    s.kernel   = gpu::kernel_name("attention/indexer").threads(threads).define("HEADS", k->ne[0] <= 128 ? 16 : 4);
    s.operands = {
        bind("q", q), bind_rows(s.kernel, "k", k, { "k_SIZE", "k_BLOCKS", "k_HALVES", "k_QUADS" }), bind("w", w), bind("mask", mask), bind("dst", dst),
    };
    s.params.add("q_nb", nb(q)).add("k_nb", nb(k)).add("w_nb", nb(w)).add("mask_nb", nb(mask)).add("mask_ne", ne(mask)).add("dst_nb", nb(dst));
    s.params.add("heads", heads).add("tokens", static_cast<uint32_t>(q->ne[2])).add("kv", static_cast<uint32_t>(dst->ne[0])).add("tiles", tiles);
    s.params.add("k_octets", static_cast<uint32_t>(groups_for(k->ne[0], 8)));
    s.groups = uint64_t(tiles) * q->ne[2] * q->ne[3];
    return s;
}

}  // namespace ops
