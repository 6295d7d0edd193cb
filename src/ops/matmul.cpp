// Products. MUL_MAT and MUL_MAT_ID: dst[m, n] = src0[k, m]^T src1[k, n], batched, src0 repeated over the batches of src1.
#include "ops/families.h"
#include "ops/matrix.h"
#include "ops/split.h"

#include <algorithm>

namespace ops {

// How the products are cut up. Measured; see docs/performance.md.
struct matmul_tuning {
    uint32_t vec_threads;     // of a mat-vec workgroup
    uint32_t vec_rows;        // rows it makes
    uint32_t vec_columns;     // at most this many columns go to the mat-vec kernel
    uint32_t tile_m, tile_n;  // of the tiled kernel, multiples of 8
    uint32_t tile_k;
};

static matmul_tuning tuning_for(const gpu::capabilities & caps) {
    // 8 x 8 values a thread: 64 x 64 tiles are made by 64 threads, from 16 x (68 + 68) x 4 bytes of workgroup memory.
    if (caps.type == gpu::capabilities::kind::software) {
        return { 32, 4, 8, 64, 64, 16 };
    }
    return { 64, 4, 8, 64, 64, 16 };
}

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

// What both kernels read, and how.
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

// Columns a mat-vec workgroup makes: few variants, the next power of two.
static uint32_t column_block(uint32_t n) {
    return n <= 1 ? 1 : n <= 2 ? 2 : n <= 4 ? 4 : 8;
}

static step vec_step(const matmul_tuning & tuning, const ggml_tensor * dst, uint32_t columns) {
    step s;
    s.kernel = gpu::kernel_name("matmul/vec").threads(tuning.vec_threads).define("ROWS", tuning.vec_rows).define("COLUMNS", columns);
    describe_operands(s, dst->src[0], dst->src[1], dst);
    return s;
}

static step tile_step(const matmul_tuning & tuning, const ggml_tensor * dst) {
    step s;
    s.kernel = gpu::kernel_name("matmul/tile")
                   .threads(tuning.tile_m / 8 * tuning.tile_n / 8)
                   .define("TILE_M", tuning.tile_m)
                   .define("TILE_N", tuning.tile_n)
                   .define("TILE_K", tuning.tile_k);
    describe_operands(s, dst->src[0], dst->src[1], dst);
    return s;
}

plan plan_mul_mat(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * src0 = dst->src[0];
    const ggml_tensor * src1 = dst->src[1];
    if (const char * why = refusal(src0, src1, dst)) {
        return unsupported("%s (%s x %s)", why, ggml_type_name(src0->type), ggml_type_name(src1->type));
    }
    if (const matrix_shape shape = matrix_shape_for(caps, dst); shape.tile_m != 0) {
        return plan_matrix_product(shape, dst);
    }
    const matmul_tuning tuning  = tuning_for(caps);
    const uint32_t      m       = static_cast<uint32_t>(dst->ne[0]);
    const uint32_t      n       = static_cast<uint32_t>(dst->ne[1]);
    const uint32_t      batches = static_cast<uint32_t>(dst->ne[2] * dst->ne[3]);
    const bool          few     = n <= tuning.vec_columns;
    const uint32_t      tile_m  = few ? tuning.vec_rows : tuning.tile_m;
    const uint32_t      tile_n  = few ? column_block(n) : tuning.tile_n;

    step           s            = few ? vec_step(tuning, dst, tile_n) : tile_step(tuning, dst);
    const uint64_t row_tiles    = groups_for(m, tile_m);
    const uint64_t column_tiles = groups_for(n, tile_n);
    s.params.add("n", n).add("batches2", static_cast<uint32_t>(dst->ne[2]));
    s.params.add("repeat2", static_cast<uint32_t>(src1->ne[2] / src0->ne[2])).add("repeat3", static_cast<uint32_t>(src1->ne[3] / src0->ne[3]));
    s.params.add("row_tiles", static_cast<uint32_t>(row_tiles)).add("column_tiles", static_cast<uint32_t>(column_tiles));
    s.groups = row_tiles * column_tiles * batches;
    return s;
}

// dst[m, slot, token] = src0[k, m, ids[slot, token]]^T src1[k, slot % slots of src1, token]
plan plan_mul_mat_id(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * src0 = dst->src[0];
    const ggml_tensor * src1 = dst->src[1];
    const ggml_tensor * ids  = dst->src[2];
    if (const char * why = refusal(src0, src1, dst)) {
        return unsupported("%s (%s x %s)", why, ggml_type_name(src0->type), ggml_type_name(src1->type));
    }
    const matmul_tuning tuning  = tuning_for(caps);
    const uint32_t      m       = static_cast<uint32_t>(dst->ne[0]);
    const uint32_t      slots   = static_cast<uint32_t>(dst->ne[1]);
    const uint32_t      pairs   = slots * static_cast<uint32_t>(dst->ne[2]);
    const table_window  experts = window_of(dst, src0, 2);
    const uint32_t      src1_slots = static_cast<uint32_t>(src1->ne[1]);
    const auto          add_routing = [&](step & s) {
        s.kernel.define("ID");
        s.params.add("slots", slots).add("src1_slots", src1_slots);
        s.params.add("experts", experts.n).add("first_expert", experts.begin).add("all_experts", experts.whole);
    };

    // A tile pays when an expert gets several columns on average.
    if (pairs <= 4 * experts.whole || pairs <= tuning.vec_columns) {
        step s = vec_step(tuning, dst, 1);
        add_routing(s);
        s.operands.push_back(bind("src2", ids));
        s.operands.push_back(bind_fault());
        const uint64_t row_tiles = groups_for(m, tuning.vec_rows);
        s.params.add("src2_nb", nb(ids)).add("row_tiles", static_cast<uint32_t>(row_tiles)).add("op", static_cast<uint32_t>(dst->op));
        s.params.add("repeat2", 1u).add("repeat3", 1u);
        s.groups = row_tiles * pairs;
        return s;
    }

    plan           p;
    const uint64_t routes_bytes = uint64_t(experts.n) * (1 + pairs) * sizeof(uint32_t);
    p.scratch                   = routes_bytes;

    step route;
    route.kernel   = gpu::kernel_name("matmul/route").threads(64);
    route.operands = { bind("ids", ids), bind_scratch("routes", 0, routes_bytes), bind_fault() };
    route.params.add("first_expert", experts.begin).add("all_experts", experts.whole);
    route.params.add("pairs", pairs).add("slots", slots).add("capacity", pairs).add("op", static_cast<uint32_t>(dst->op)).add("ids_nb", nb(ids));
    route.groups = experts.n;

    step           product      = tile_step(tuning, dst);
    const uint64_t row_tiles    = groups_for(m, tuning.tile_m);
    const uint64_t column_tiles = groups_for(pairs, tuning.tile_n);
    add_routing(product);
    product.operands.push_back(bind_scratch("routes", 0, routes_bytes));
    product.params.add("capacity", pairs).add("repeat2", 1u).add("repeat3", 1u);
    product.params.add("row_tiles", static_cast<uint32_t>(row_tiles)).add("column_tiles", static_cast<uint32_t>(column_tiles));
    product.groups = row_tiles * column_tiles * experts.n;

    p.steps = { std::move(route), std::move(product) };
    return p;
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
