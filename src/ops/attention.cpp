// FLASH_ATTN_EXT: softmax(scale * Q K^T + mask) V, without the scores ever lying in memory.
#include "ops/families.h"

#include <algorithm>

namespace ops {

namespace {

struct attention_tuning {
    uint32_t rows;     // of a tile, at most
    uint32_t threads;  // of a workgroup, and KV positions it handles at once
    uint32_t groups;   // workgroups that fill the device
};

attention_tuning tuning_for(const gpu::capabilities & caps) {
    const bool software = caps.type == gpu::capabilities::kind::software;
    return { 16, 128, software ? 16u : 512u };
}

// The operands, or parts of them.
struct attention {
    const ggml_tensor * dst;
    const ggml_tensor * q;
    const ggml_tensor * k;
    const ggml_tensor * v;
    const ggml_tensor * mask;   // may be null
    const ggml_tensor * sinks;  // may be null
    uint32_t            first_head  = 0;
    uint32_t            all_heads   = 0;
};

// Rows of 16-bit values that can be read eight values at a time.
bool octets(const ggml_tensor * t) {
    const auto multiple_of_16 = [](uint64_t bytes) { return bytes % 16 == 0; };
    return is_float(t->type) && ggml_type_size(t->type) == 2 && t->ne[0] % 8 == 0 && multiple_of_16(reinterpret_cast<uintptr_t>(t->data)) &&
           multiple_of_16(t->nb[1]) && multiple_of_16(t->nb[2]) && multiple_of_16(t->nb[3]);
}

// K or V, with the defines that tell row.wgsl how to read it.
struct row_defines {
    const char * size;
    const char * blocks;
    const char * halves;
    const char * quads;
};

operand bind_rows(gpu::kernel_name & kernel, const char * name, const ggml_tensor * t, const row_defines & defines) {
    operand o = bind(name, t);
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

// An operand that may be absent: a little scratch memory stands in for it, so that there is one kernel for both.
constexpr uint64_t spare_bytes = 256;

operand bind_optional(const char * name, const ggml_tensor * t, uint64_t spare, const char * type) {
    return t != nullptr ? bind(name, t) : bind_scratch(name, spare, spare_bytes, type);
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
    const char * shader;
    uint32_t     rows;      // of a workgroup
    uint32_t     threads;
    uint32_t     lanes;     // threads that share the columns of V
    uint32_t     team = 0;  // decode: threads that share a row of K
};

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

kernel_choice choose_kernel(const attention_tuning & tuning, const gpu::capabilities & caps, const attention & a, uint32_t rows) {
    const uint32_t v_quads  = static_cast<uint32_t>(groups_for(a.v->ne[0], 4));
    const uint32_t k_octets = static_cast<uint32_t>(groups_for(a.k->ne[0], 8));
    if (caps.subgroups && caps.subgroup_min >= 4 && rows <= 8 && v_quads <= tuning.threads) {
        const uint32_t team  = team_for(caps, k_octets);
        const uint64_t share = groups_for(k_octets, team);
        if (share <= 4) {
            return { "attention/decode", rows > 4 && share == 1 ? 8u : 4u, tuning.threads, power_of_two_above(std::max((v_quads + 1) / 2, 4u)), team };
        }
    }
    // No more rows than there are, and than fit into workgroup memory.
    const uint32_t threads   = v_quads > tuning.threads ? 256 : tuning.threads;
    const uint64_t row_bytes = (a.k->ne[0] + 4 + threads + 16) * sizeof(float);
    uint32_t       tile_rows = tuning.rows;
    while (tile_rows > 4 && (tile_rows >= 2 * rows || tile_rows * row_bytes > caps.workgroup_memory)) {
        tile_rows /= 2;
    }
    return { "attention/tile", tile_rows, threads, power_of_two_above(std::max(v_quads, 4u)) };
}

const char * refusal(const ggml_tensor * dst) {
    const ggml_tensor * q = dst->src[0];
    const ggml_tensor * k = dst->src[1];
    const ggml_tensor * v = dst->src[2];
    const auto readable = [](const ggml_tensor * t) { return (is_float(t->type) || is_block(t->type)) && t->nb[0] == ggml_type_size(t->type); };
    if (q->type != GGML_TYPE_F32) return "the type of Q";
    if (!readable(k)) return "the type of K, or its rows are not contiguous";
    if (!readable(v)) return "the type of V, or its rows are not contiguous";
    if (k->ne[2] != v->ne[2] || k->ne[3] != v->ne[3]) return "K and V with different numbers of heads";
    if (k->ne[0] > 1024 || v->ne[0] > 1024) return "a head size above 1024";
    return nullptr;
}

void add_steps(const gpu::capabilities & caps, plan & p, const attention & a) {
    const attention_tuning tuning      = tuning_for(caps);
    const uint32_t         positions   = static_cast<uint32_t>(a.q->ne[1]);
    const uint32_t         heads       = static_cast<uint32_t>(a.q->ne[2]);
    const uint32_t         batches     = static_cast<uint32_t>(a.q->ne[3]);
    const uint32_t         kv          = static_cast<uint32_t>(a.k->ne[1]);
    const uint32_t         kv_heads    = static_cast<uint32_t>(a.k->ne[2]);
    const uint32_t         group_heads = heads / kv_heads;
    const uint32_t         rows        = positions * group_heads;
    const uint32_t         v_quads     = static_cast<uint32_t>((a.v->ne[0] + 3) / 4);

    const kernel_choice choice    = choose_kernel(tuning, caps, a, rows);
    const uint32_t      row_tiles = static_cast<uint32_t>(groups_for(rows, choice.rows));

    const uint64_t units  = uint64_t(row_tiles) * kv_heads * batches;
    uint32_t       splits = std::min(power_of_two_below(std::max<uint64_t>(tuning.groups / units, 1)), power_of_two_below(std::max<uint64_t>(kv / choice.threads, 1)));
    const uint32_t chunk  = static_cast<uint32_t>(groups_for(groups_for(kv, splits), choice.threads) * choice.threads);

    const float scale   = param_f32(a.dst, 0);
    const float softcap = param_f32(a.dst, 2);

    const bool     dst_quads     = quads(a.dst);
    const uint64_t vector_bytes  = (v_quads + 1) * 16;
    const uint64_t partial_bytes = splits == 1 ? spare_bytes : uint64_t(count(a.dst)) / a.dst->ne[0] * splits * vector_bytes;
    operand        partial       = bind_scratch("partial", 2 * spare_bytes, partial_bytes);
    partial.wide                 = true;
    p.scratch                    = std::max(p.scratch, 2 * spare_bytes + partial_bytes);

    step s;
    s.kernel = gpu::kernel_name(choice.shader).threads(choice.threads).define("ROWS", choice.rows).define("LANES", choice.lanes);
    if (choice.team != 0) {
        s.kernel.define("TEAM", choice.team).define("UNROLL", 4);
    } else if (caps.subgroups && choice.lanes >= caps.subgroup_max) {
        s.kernel.define("GROUPS_IN_TURN");
    }
    if (dst_quads) {
        s.kernel.define("DST_QUADS");
    }
    s.operands = {
        bind("q", a.q),
        bind_rows(s.kernel, "k", a.k, { "k_SIZE", "k_BLOCKS", "k_HALVES", "k_QUADS" }),
        bind_rows(s.kernel, "v", a.v, { "v_SIZE", "v_BLOCKS", "v_HALVES", "v_QUADS" }),
        bind_optional("mask", a.mask, 0, "f16"),
        bind_optional("sinks", a.sinks, spare_bytes, "f32"),
        bind_source("dst", a.dst, dst_quads),
        partial,
    };
    s.params.add("q_nb", nb(a.q)).add("k_nb", nb(a.k)).add("v_nb", nb(a.v)).add("dst_nb", nb(a.dst));
    s.params.add("mask_nb", a.mask != nullptr ? nb(a.mask) : shape{}).add("mask_ne", a.mask != nullptr ? ne(a.mask) : shape{ 1, 1, 1, 1 });
    s.params.add("has_mask", uint32_t(a.mask != nullptr)).add("has_sinks", uint32_t(a.sinks != nullptr));
    s.params.add("scale", softcap != 0.0f ? scale / softcap : scale).add("softcap", softcap).add("max_bias", param_f32(a.dst, 1));
    s.params.add("first_head", a.first_head).add("heads_log2", power_of_two_below(a.all_heads));
    s.params.add("positions", positions).add("heads", heads).add("group_heads", group_heads).add("kv_heads", kv_heads).add("rows", rows);
    s.params.add("k_repeat", batches / static_cast<uint32_t>(a.k->ne[3])).add("v_repeat", batches / static_cast<uint32_t>(a.v->ne[3]));
    s.params.add("kv", kv).add("splits", splits).add("chunk", chunk).add("row_tiles", row_tiles);
    s.params.add("first_split", 0u).add("all_splits", splits);
    s.groups = units * splits;
    p.steps.push_back(std::move(s));

    if (splits == 1) {
        return;
    }
    step merge;
    merge.kernel = gpu::kernel_name("attention/merge").threads(256);
    merge.kernel.define("v_SIZE", static_cast<uint32_t>(a.v->ne[0])).define("LANES", std::min(256u, v_quads));
    if (dst_quads) {
        merge.kernel.define("DST_QUADS");
    }
    merge.operands = { partial, bind_optional("sinks", a.sinks, spare_bytes, "f32"), bind_source("dst", a.dst, dst_quads) };
    merge.params.add("dst_nb", nb(a.dst)).add("has_sinks", uint32_t(a.sinks != nullptr)).add("heads", heads).add("positions", positions);
    merge.params.add("all_splits", splits);
    merge.groups = uint64_t(positions) * heads * batches;
    p.steps.push_back(std::move(merge));
}

}  // namespace

plan plan_flash_attn_ext(const gpu::capabilities & caps, const ggml_tensor * dst) {
    if (const char * why = refusal(dst)) {
        return unsupported("%s (%s, %s, %s)", why, ggml_type_name(dst->src[0]->type), ggml_type_name(dst->src[1]->type), ggml_type_name(dst->src[2]->type));
    }
    attention a{ dst, dst->src[0], dst->src[1], dst->src[2], dst->src[3], dst->src[4] };
    a.all_heads = static_cast<uint32_t>(a.q->ne[2]);
    plan p;
    add_steps(caps, p, a);
    return p;
}

}  // namespace ops
