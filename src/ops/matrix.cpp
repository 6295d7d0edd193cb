#include "ops/matrix.h"

#include "ops/matvec.h"

#include <algorithm>

namespace ops {

static constexpr uint32_t pack_threads = 64;

// Weights are decoded in slabs of rows of at most this many bytes of f16, so that a large output layer needs no copy of itself.
static constexpr uint64_t largest_slab = 128u << 20;

static uint64_t align_up(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

// The largest square f16 to f32 configuration, or one that is not square.
static const gpu::matrix_config * best_config(const gpu::capabilities & caps) {
    const gpu::matrix_config * best = nullptr;
    for (const gpu::matrix_config & c : caps.matrices) {
        const auto rank = [](const gpu::matrix_config & x) { return std::pair(x.m == x.n, x.m * x.n * x.k); };
        if (c.f32_result && c.m % 8 == 0 && c.n % 8 == 0 && (best == nullptr || rank(c) > rank(*best))) {
            best = &c;
        }
    }
    return best;
}

matrix_shape matrix_shape_for(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor *        src0   = dst->src[0];
    const gpu::matrix_config * config = best_config(caps);
    // Wider types lose range or digits in f16; narrow products cannot fill a tile.
    const bool eligible = src0->type == GGML_TYPE_F16 || is_block(src0->type);
    if (config == nullptr || caps.subgroup_min != caps.subgroup_max || !eligible || dst->ne[1] <= 8 || dst->ne[0] < 32 || src0->ne[0] < 32) {
        return {};
    }
    matrix_shape s{};
    s.mat_m         = config->m;
    s.mat_n         = config->n;
    s.mat_k         = config->k;
    s.subgroup_size = caps.subgroup_max;
    // 4 x 4 matrices a subgroup, 2 x 2 subgroups; fewer columns where n is small.
    s.fragments_m = 4;
    s.fragments_n = dst->ne[1] > 4 * config->n ? 4 : 2;
    s.subgroups_m = 2;
    s.subgroups_n = dst->ne[1] > s.fragments_n * config->n ? 2 : 1;
    s.tile_m      = s.fragments_m * s.subgroups_m * s.mat_m;
    s.tile_n      = s.fragments_n * s.subgroups_n * s.mat_n;
    s.tile_k      = 4 * s.mat_k;
    const uint32_t threads = s.subgroups_m * s.subgroups_n * s.subgroup_size;
    const uint32_t memory  = (s.tile_m + s.tile_n) * (s.tile_k + 8) * 2 + s.subgroups_m * s.subgroups_n * s.mat_m * s.mat_n * 4;
    const uint32_t pairs   = s.tile_k / 4;
    if (memory > caps.workgroup_memory || threads > caps.max_threads || threads % pairs != 0 || s.tile_m % (threads / pairs) != 0 ||
        s.tile_n % (threads / pairs) != 0) {
        return {};
    }
    // Both scratch operands must fit a binding.
    const uint64_t k       = align_up(static_cast<uint64_t>(src0->ne[0]), s.tile_k);
    const uint64_t columns = align_up(static_cast<uint64_t>(dst->ne[1]), s.tile_n) * static_cast<uint64_t>(dst->ne[2] * dst->ne[3]);
    const uint64_t least   = 2 * k * s.tile_m * static_cast<uint64_t>(src0->ne[2] * src0->ne[3]);
    s.slab                 = std::min(largest_slab, caps.max_binding);
    return 2 * k * columns <= caps.max_binding && least <= s.slab ? s : matrix_shape{};
}

// A matrix in whole tiles of f16: `rows` of `stride` halves.
struct packed {
    uint64_t rows, stride, matrices;
    uint64_t bytes() const { return rows * stride * matrices * 2; }
};

static step pack_step(const ggml_tensor * src, const packed & to, uint64_t scratch_at) {
    const bool in_quads = quads(src);
    step       s;
    s.kernel = gpu::kernel_name("matmul/pack").threads(pack_threads);
    if (is_block(src->type)) {
        s.kernel.define("BLOCKS");
    } else if (in_quads) {
        s.kernel.define("QUADS");
    }
    operand memory = bind_scratch("packed", scratch_at, to.bytes());
    memory.wide    = true;
    s.operands     = { bind_source("src", src, in_quads), memory };
    s.params.add("k", static_cast<uint32_t>(src->ne[0])).add("stride", static_cast<uint32_t>(to.stride));
    s.params.add("rows", static_cast<uint32_t>(src->ne[1])).add("padded_rows", static_cast<uint32_t>(to.rows));
    s.params.add("matrices", static_cast<uint32_t>(to.matrices)).add("matrices2", static_cast<uint32_t>(src->ne[2]));
    s.params.add("src_nb", nb(src));
    return s;
}

static step pack_weights(const ggml_tensor * src0, const packed & to, uint64_t scratch_at) {
    // By units where decoding is dear; small blocks go faster octet by octet, whose stores lie side by side. A row's units must end
    // with the row.
    step units;
    units.kernel = gpu::kernel_name("matmul/pack_units").threads(pack_threads);
    if (ggml_blck_size(src0->type) == 256 && to.stride % 128 == 0 && bind_packed_weights(units, src0)) {
        const uint64_t padded_units = to.stride / 64;
        operand        memory       = bind_scratch("packed", scratch_at, to.bytes());
        memory.wide                 = true;
        units.operands.push_back(memory);
        units.params.add("padded_units", static_cast<uint32_t>(padded_units)).add("src0_nb", nb(src0));
        units.params.add("rows", static_cast<uint32_t>(src0->ne[1])).add("padded_rows", static_cast<uint32_t>(to.rows));
        units.params.add("matrices", static_cast<uint32_t>(to.matrices)).add("matrices2", static_cast<uint32_t>(src0->ne[2]));
        units.groups = groups_for(padded_units * to.rows * to.matrices, pack_threads);
        return units;
    }
    step s = pack_step(src0, to, scratch_at);
    s.kernel.define("WEIGHTS");
    s.groups = groups_for(to.bytes() / 16, pack_threads);
    return s;
}

static step pack_columns(const ggml_tensor * src1, const packed & to, uint64_t scratch_at, uint64_t factors_at) {
    step s = pack_step(src1, to, scratch_at);
    s.operands.push_back(bind_scratch("factors", factors_at, to.rows * to.matrices * 4));
    s.groups   = to.rows * to.matrices;
    s.prepares = true;
    return s;
}

// f16 rows that can be read where they lie: whole tiles, 16-byte steps.
static bool lies_in_tiles(const matrix_shape & shape, const ggml_tensor * src0) {
    return src0->type == GGML_TYPE_F16 && src0->nb[0] == 2 && src0->ne[0] % shape.tile_k == 0 && src0->ne[1] % shape.tile_m == 0 &&
           src0->nb[1] % 16 == 0 && src0->nb[2] % 16 == 0 && src0->nb[3] % 16 == 0 && reinterpret_cast<uintptr_t>(src0->data) % 16 == 0;
}

plan plan_matrix_product(const matrix_shape & shape, const ggml_tensor * dst) {
    plan                p;
    const ggml_tensor * src0 = dst->src[0];
    const ggml_tensor * src1 = dst->src[1];
    const uint64_t      k    = align_up(static_cast<uint64_t>(src0->ne[0]), shape.tile_k);
    const uint64_t      m    = static_cast<uint64_t>(src0->ne[1]);

    // Scratch: the columns, their factors, then one slab of weights.
    const packed   columns    = { align_up(static_cast<uint64_t>(src1->ne[1]), shape.tile_n), k, static_cast<uint64_t>(src1->ne[2] * src1->ne[3]) };
    const uint64_t factors_at = align_up(columns.bytes(), 256);
    const uint64_t weights_at = align_up(factors_at + columns.rows * columns.matrices * 4, 256);
    p.steps.push_back(pack_columns(src1, columns, 0, factors_at));

    const bool     in_place = lies_in_tiles(shape, src0);
    const uint64_t matrices = static_cast<uint64_t>(src0->ne[2] * src0->ne[3]);
    const uint64_t row_room = shape.slab / (2 * k * matrices) / shape.tile_m * shape.tile_m;
    const uint64_t slab     = in_place ? m : std::min(row_room, align_up(m, shape.tile_m));
    p.scratch               = weights_at + (in_place ? 0 : slab * k * matrices * 2);

    for (uint64_t first = 0; first < m; first += slab) {
        const uint64_t rows = std::min(slab, m - first);
        step           product;
        product.kernel = gpu::kernel_name("matmul/matrix")
                             .threads(shape.subgroups_m * shape.subgroups_n * shape.subgroup_size)
                             .define("USES_MATRIX")
                             .define("TILE_M", shape.tile_m)
                             .define("TILE_N", shape.tile_n)
                             .define("TILE_K", shape.tile_k)
                             .define("MAT_M", shape.mat_m)
                             .define("MAT_N", shape.mat_n)
                             .define("MAT_K", shape.mat_k)
                             .define("FRAGMENTS_M", shape.fragments_m)
                             .define("FRAGMENTS_N", shape.fragments_n)
                             .define("SUBGROUPS_M", shape.subgroups_m)
                             .define("SUBGROUP_COUNT", shape.subgroups_m * shape.subgroups_n)
                             .define("LOADS_A", shape.tile_m * shape.tile_k / 4 / (shape.subgroups_m * shape.subgroups_n * shape.subgroup_size))
                             .define("LOADS_B", shape.tile_n * shape.tile_k / 4 / (shape.subgroups_m * shape.subgroups_n * shape.subgroup_size));
        operand a = bind("a", src0);
        gpu::params & values = product.params;
        if (in_place) {
            values.add("a_nb", std::array<uint32_t, 4>{ 1, uint32_t(src0->nb[1] / 8), uint32_t(src0->nb[2] / 8), uint32_t(src0->nb[3] / 8) });
        } else {
            ggml_tensor & part = p.slices.emplace_back(*src0);
            part.ne[1]         = static_cast<int64_t>(rows);
            part.data          = static_cast<char *>(src0->data) + first * src0->nb[1];
            const packed weights = { align_up(rows, shape.tile_m), k, matrices };
            p.steps.push_back(pack_weights(&part, weights, weights_at));
            a = bind_scratch("a", weights_at, weights.bytes());
            const uint32_t row = static_cast<uint32_t>(k / 4), matrix = row * static_cast<uint32_t>(weights.rows);
            values.add("a_nb", std::array<uint32_t, 4>{ 1, row, matrix, matrix * static_cast<uint32_t>(src0->ne[2]) });
        }
        a.pairs   = true;
        operand b = bind_scratch("b", 0, columns.bytes());
        b.pairs   = true;
        product.operands = { a, b, bind_scratch("factors", factors_at, columns.rows * columns.matrices * 4), bind("dst", dst) };

        const uint64_t row_tiles    = groups_for(rows, shape.tile_m);
        const uint64_t column_tiles = columns.rows / shape.tile_n;
        values.add("dst_nb", nb(dst)).add("first_row", static_cast<uint32_t>(first)).add("m", static_cast<uint32_t>(rows));
        values.add("n", static_cast<uint32_t>(dst->ne[1])).add("k_tiles", static_cast<uint32_t>(k / shape.tile_k));
        values.add("b_rows", static_cast<uint32_t>(columns.rows)).add("b_stride", static_cast<uint32_t>(k / 4));
        values.add("batches2", static_cast<uint32_t>(dst->ne[2])).add("repeat2", static_cast<uint32_t>(src1->ne[2] / src0->ne[2]));
        values.add("repeat3", static_cast<uint32_t>(src1->ne[3] / src0->ne[3]));
        values.add("row_tiles", static_cast<uint32_t>(row_tiles)).add("column_tiles", static_cast<uint32_t>(column_tiles));
        product.groups = row_tiles * column_tiles * columns.matrices;
        p.steps.push_back(std::move(product));
    }
    return p;
}

}  // namespace ops
