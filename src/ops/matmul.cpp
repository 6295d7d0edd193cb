// Products. MUL_MAT and MUL_MAT_ID: dst[m, n] = src0[k, m]^T src1[k, n], batched, src0 repeated over the batches of src1.
#include "ops/families.h"
#include "ops/glu.h"
#include "ops/matmul.h"
#include "ops/matrix.h"
#include "ops/matvec.h"
#include "ops/split.h"

#include <algorithm>

namespace ops {

// The tiled kernel: 8 x 8 values a thread, so 64 x 64 tiles are made by 64 threads, from 16 x (68 + 68) x 4 bytes of workgroup
// memory.
static constexpr uint32_t tile_m = 64, tile_n = 64, tile_k = 16;
static constexpr uint32_t tile_threads = tile_m / 8 * tile_n / 8;
static_assert(tile_threads % (tile_k / 4) == 0, "all of a thread's units lie at the same k");

static bool is_weight(ggml_type type) {
    return is_float(type) || is_block(type);
}

static const char * refusal(const ggml_tensor * src0, const ggml_tensor * src1, const ggml_tensor * dst) {
    if (!is_weight(src0->type)) {
        return "the type of src0";
    }
    if (!is_float(src1->type)) {
        return "the type of src1";
    }
    if (dst->type != GGML_TYPE_F32) {
        return "the type of dst";
    }
    if (is_block(src0->type) && src0->nb[0] != ggml_type_size(src0->type)) {
        return "quantised rows that are not contiguous";
    }
    return nullptr;
}

// What the tiled kernel reads, and how.
static void describe_operands(step & s, const ggml_tensor * src0, const ggml_tensor * src1, const ggml_tensor * dst) {
    const bool quads_a = quads(src0), quads_b = quads(src1);
    if (is_block(src0->type)) {
        s.kernel.define("BLOCKS_A");
    } else if (quads_a) {
        s.kernel.define("QUADS_A");
    }
    if (quads_b) {
        s.kernel.define("QUADS_B");
    }
    s.operands = { bind_source("src0", src0, quads_a), bind_source("src1", src1, quads_b), bind("dst", dst) };
    const uint32_t k = static_cast<uint32_t>(src0->ne[0]);
    s.params.add("k", k).add("k_quads", (k + 3) / 4).add("m", static_cast<uint32_t>(src0->ne[1]));
    s.params.add("src0_nb", nb(src0)).add("src1_nb", nb(src1)).add("dst_nb", nb(dst));
}

static step tile_step(const ggml_tensor * dst) {
    step s;
    s.kernel = gpu::kernel_name("matmul/tile")
                   .threads(tile_threads)
                   .define("TILE_M", tile_m)
                   .define("TILE_N", tile_n)
                   .define("TILE_K", tile_k)
                   .define("UNITS_A", tile_m / 4 * tile_k / 4 / tile_threads)
                   .define("UNITS_B", tile_n / 4 * tile_k / 4 / tile_threads);
    describe_operands(s, dst->src[0], dst->src[1], dst);
    return s;
}

// Weights are read once for every eight columns. For integer products of quantised weights that is faster up to 32 columns than
// bringing the weights to f16: docs/performance.md.
static bool few_columns(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const bool integers = is_block(dst->src[0]->type) && caps.packed_dot && param_i32(dst, 0) != GGML_PREC_F32;
    const bool software = caps.type == gpu::capabilities::kind::software;
    return dst->ne[1] <= (integers && !software ? 4 * matvec_columns : matvec_columns);
}

plan plan_mul_mat(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * src0 = dst->src[0];
    const ggml_tensor * src1 = dst->src[1];
    if (const char * why = refusal(src0, src1, dst)) {
        return unsupported("%s (%s x %s)", why, ggml_type_name(src0->type), ggml_type_name(src1->type));
    }
    if (few_columns(caps, dst)) {
        return plan_matvec(caps, dst);
    }
    if (const matrix_shape shape = matrix_shape_for(caps, dst); shape.tile_m != 0) {
        return plan_matrix_product(shape, dst);
    }
    const uint32_t m       = static_cast<uint32_t>(dst->ne[0]);
    const uint32_t n       = static_cast<uint32_t>(dst->ne[1]);
    const uint32_t batches = static_cast<uint32_t>(dst->ne[2] * dst->ne[3]);
    step           s            = tile_step(dst);
    const uint64_t row_tiles    = groups_for(m, tile_m);
    const uint64_t column_tiles = groups_for(n, tile_n);
    s.params.add("n", n).add("batches2", static_cast<uint32_t>(dst->ne[2]));
    s.params.add("repeat2", static_cast<uint32_t>(src1->ne[2] / src0->ne[2])).add("repeat3", static_cast<uint32_t>(src1->ne[3] / src0->ne[3]));
    s.params.add("row_tiles", static_cast<uint32_t>(row_tiles)).add("column_tiles", static_cast<uint32_t>(column_tiles));
    s.groups = row_tiles * column_tiles * batches;
    return s;
}

// A tile pays when an expert gets several columns on average.
static bool few_pairs(const ggml_tensor * dst) {
    const int64_t pairs = dst->ne[1] * dst->ne[2];
    return pairs <= 4 * int64_t(window_of(dst, dst->src[0], 2).whole) || pairs <= matvec_columns;
}

bool is_by_matvec(const gpu::capabilities & caps, const ggml_tensor * product) {
    return product->op == GGML_OP_MUL_MAT_ID ? few_pairs(product) : few_columns(caps, product);
}

step route_step(const ggml_tensor * dst, const table_window & experts, const operand & routes) {
    const ggml_tensor * ids   = dst->src[2];
    const uint32_t      slots = static_cast<uint32_t>(dst->ne[1]);
    const uint32_t      pairs = slots * static_cast<uint32_t>(dst->ne[2]);
    step                route;
    route.kernel   = gpu::kernel_name("matmul/route").threads(256);
    route.operands = { bind("ids", ids), routes, bind_fault() };
    route.params.add("first_expert", experts.begin).add("all_experts", experts.whole);
    route.params.add("pairs", pairs).add("slots", slots).add("capacity", pairs).add("op", static_cast<uint32_t>(dst->op)).add("ids_nb", nb(ids));
    route.groups = experts.n;
    return route;
}

// dst[m, slot, token] = src0[k, m, ids[slot, token]]^T src1[k, slot % slots of src1, token]
plan plan_mul_mat_id(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * src0 = dst->src[0];
    const ggml_tensor * src1 = dst->src[1];
    if (const char * why = refusal(src0, src1, dst)) {
        return unsupported("%s (%s x %s)", why, ggml_type_name(src0->type), ggml_type_name(src1->type));
    }
    const uint32_t     m          = static_cast<uint32_t>(dst->ne[0]);
    const uint32_t     slots      = static_cast<uint32_t>(dst->ne[1]);
    const uint32_t     pairs      = slots * static_cast<uint32_t>(dst->ne[2]);
    const table_window experts    = window_of(dst, src0, 2);
    const uint32_t     src1_slots = static_cast<uint32_t>(src1->ne[1]);

    if (few_pairs(dst)) {
        return plan_matvec_id(caps, dst);
    }
    if (const matrix_shape shape = matrix_shape_by_expert(caps, dst); shape.tile_m != 0) {
        return plan_matrix_product_by_expert(shape, dst, experts);
    }

    plan           p;
    const uint64_t routes_bytes = uint64_t(experts.n) * (1 + pairs) * sizeof(uint32_t);
    p.scratch                   = routes_bytes;
    step           route        = route_step(dst, experts, bind_scratch("routes", 0, routes_bytes));
    step           product      = tile_step(dst);
    const uint64_t row_tiles    = groups_for(m, tile_m);
    const uint64_t column_tiles = groups_for(pairs, tile_n);
    product.kernel.define("ID");
    product.params.add("slots", slots).add("src1_slots", src1_slots);
    product.params.add("experts", experts.n).add("first_expert", experts.begin).add("all_experts", experts.whole);
    product.operands.push_back(bind_scratch("routes", 0, routes_bytes));
    product.params.add("capacity", pairs).add("repeat2", 1u).add("repeat3", 1u);
    product.params.add("row_tiles", static_cast<uint32_t>(row_tiles)).add("column_tiles", static_cast<uint32_t>(column_tiles));
    product.groups = row_tiles * column_tiles * experts.n;

    p.steps = { std::move(route), std::move(product) };
    return p;
}

plan plan_mul_mat_glu(const gpu::capabilities & caps, const ggml_tensor * product, const ggml_tensor * x, const ggml_tensor * g, const ggml_tensor * glu) {
    const bool few = product->op == GGML_OP_MUL_MAT_ID ? few_pairs(product) : product->ne[1] <= matvec_columns;
    if (!few || !caps.subgroups) {
        return unsupported("many columns, or no subgroups");
    }
    if (x->type != g->type || !ggml_are_same_shape(x, g) || !ggml_are_same_stride(x, g) || quads(x) != quads(g)) {
        return unsupported("different weights");
    }
    if (glu->type != GGML_TYPE_F32 || glu_function(ggml_get_glu_op(glu)) == nullptr) {
        return unsupported("the unit");
    }
    if (const char * why = refusal(x, product->src[1], glu)) {
        return unsupported("%s", why);
    }
    return plan_matvec_glu(caps, product, x, g, glu);
}

// dst[m, n] = sum over k of src0[m, k] src1[n, k], src0 repeated over the batches of src1.
plan plan_out_prod(const gpu::capabilities &, const ggml_tensor * dst) {
    static constexpr uint32_t threads = 64;
    const ggml_tensor *       src0    = dst->src[0];
    const ggml_tensor *       src1    = dst->src[1];
    if (!is_weight(src0->type) || !is_weight(src1->type) || dst->type != GGML_TYPE_F32) {
        return unsupported("%s x %s to %s", ggml_type_name(src0->type), ggml_type_name(src1->type), ggml_type_name(dst->type));
    }
    step s;
    s.kernel = gpu::kernel_name("matmul/outer").threads(threads);
    if (is_block(src0->type)) {
        s.kernel.define("BLOCKS_A");
    }
    if (is_block(src1->type)) {
        s.kernel.define("BLOCKS_B");
    }
    s.operands                  = { bind("src0", src0), bind("src1", src1), bind("dst", dst) };
    const uint64_t row_tiles    = groups_for(dst->ne[0], 4 * threads);
    const uint64_t column_tiles = groups_for(dst->ne[1], 4);
    s.params.add("m", static_cast<uint32_t>(dst->ne[0])).add("n", static_cast<uint32_t>(dst->ne[1])).add("k", static_cast<uint32_t>(src0->ne[1]));
    s.params.add("batches2", static_cast<uint32_t>(dst->ne[2])).add("repeat2", static_cast<uint32_t>(src1->ne[2] / src0->ne[2]));
    s.params.add("repeat3", static_cast<uint32_t>(src1->ne[3] / src0->ne[3])).add("row_tiles", static_cast<uint32_t>(row_tiles));
    s.params.add("column_tiles", static_cast<uint32_t>(column_tiles));
    s.params.add("src0_nb", nb(src0)).add("src1_nb", nb(src1)).add("dst_nb", nb(dst));
    s.groups = row_tiles * column_tiles * static_cast<uint64_t>(dst->ne[2] * dst->ne[3]);
    return s;
}

}  // namespace ops
