#include "ops/matrix.h"

#include "ops/matmul.h"
#include "ops/matvec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

namespace ops {

//
// how the work is cut
//

// Matrices a subgroup, subgroups a workgroup, along m and n. Measured: docs/performance.md.
struct matrix_tiling {
    uint32_t fragments_m, fragments_n, subgroups_m, subgroups_n;
};

struct matrix_tuning {
    std::array<matrix_tiling, 5> tilings;  // from the widest to the narrowest
    uint32_t                     groups;   // workgroups that fill the device
    uint32_t                     share;    // tiles of k that a split has, at least
    uint64_t                     split_values;  // products of f32 are made here if they multiply no more values
};

static constexpr matrix_tuning gpu_tuning = {
    .tilings = { { { 2, 4, 4, 2 }, { 2, 3, 4, 2 }, { 4, 2, 2, 2 }, { 2, 2, 4, 1 }, { 2, 1, 4, 1 } } },
    .groups  = 128,
    .share   = 8,
    .split_values = UINT64_MAX,
};

// Splits, of k and of f32, are for tests here.
static constexpr matrix_tuning cpu_tuning = {
    .tilings = { { { 4, 4, 2, 2 }, { 4, 3, 2, 2 }, { 4, 2, 2, 2 }, { 4, 2, 2, 1 }, { 4, 1, 2, 1 } } },
    .groups  = 4,
    .share   = 4,
    .split_values = 1u << 22,
};

static constexpr uint32_t steps_of_tile = 4;  // matrices along k

static constexpr uint32_t pack_threads   = 64;
static constexpr uint32_t unit_threads   = 256;
static constexpr uint32_t table_rounds   = 8;  // times unit_threads / 4 units, for one filling of a table
static constexpr uint32_t column_threads = 256;
static constexpr uint32_t column_loads   = 4;
static constexpr uint32_t sum_threads    = 256;
static constexpr uint32_t route_threads  = 256;

// Weights are decoded in slabs of rows of at most this many bytes of f16, so that a large output layer needs no copy of itself.
static constexpr uint64_t largest_slab = 128u << 20;

static uint64_t align_up(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

const gpu::matrix_config * best_matrix(const gpu::capabilities & caps) {
    const gpu::matrix_config * best = nullptr;
    for (const gpu::matrix_config & c : caps.matrices) {
        const auto rank = [](const gpu::matrix_config & x) { return std::pair(x.m == x.n, x.m * x.n * x.k); };
        if (c.f32_result && c.m % 8 == 0 && c.n % 8 == 0 && (best == nullptr || rank(c) > rank(*best))) {
            best = &c;
        }
    }
    return best;
}

// What products by expert read besides the weights.
struct expert_columns {
    operand  b, factors, routes;
    uint32_t experts, pairs;
    uint32_t tiles;  // at most
    uint64_t end;    // of their scratch memory
};

// Rows in scratch memory: whole tiles, and few different strides, since each is a kernel of its own.
static uint64_t packed_stride(uint64_t k, uint32_t tile_k) {
    return align_up(k, std::max<uint64_t>(tile_k, std::bit_floor(k) / 16));
}

static matrix_shape cut(const gpu::matrix_config & matrix, const matrix_tiling & tiling, uint32_t subgroup_size) {
    matrix_shape s{};
    s.mat_m       = matrix.m;
    s.mat_n       = matrix.n;
    s.mat_k       = matrix.k;
    s.fragments_m = tiling.fragments_m;
    s.fragments_n = tiling.fragments_n;
    s.subgroups_m = tiling.subgroups_m;
    s.subgroups_n = tiling.subgroups_n;
    s.threads     = tiling.subgroups_m * tiling.subgroups_n * subgroup_size;
    s.tile_m      = tiling.fragments_m * tiling.subgroups_m * matrix.m;
    s.tile_n      = tiling.fragments_n * tiling.subgroups_n * matrix.n;
    s.tile_k      = steps_of_tile * matrix.k;
    return s;
}

static bool works(const matrix_shape & s, const gpu::capabilities & caps, bool by_expert) {
    const uint32_t columns = by_expert ? s.tile_n * 8 + 16 : 0;  // which they are and where they go
    const uint32_t subgroups = s.subgroups_m * s.subgroups_n;
    const uint32_t memory = (s.tile_m + s.tile_n) * (s.tile_k + 8) * 2 + subgroups * s.mat_m * s.mat_n * 4 + (subgroups + 3) / 4 * 16 + columns;
    const uint32_t pairs  = s.tile_k / 4;
    // The kernel's threads load whole rows, all the same number.
    return memory <= caps.workgroup_memory && s.threads <= caps.max_threads && s.threads % pairs == 0 && s.tile_m % (s.threads / pairs) == 0 &&
           s.tile_n % (s.threads / pairs) == 0;
}

// The narrowest tiling that works and holds all columns, else the widest.
static matrix_shape shape_of_tiles(const gpu::capabilities & caps, const gpu::matrix_config & matrix, const matrix_tuning & tuning, uint64_t columns,
                                   bool by_expert) {
    matrix_shape best{};
    for (const matrix_tiling & tiling : tuning.tilings) {
        const matrix_shape s = cut(matrix, tiling, caps.subgroup_max);
        if (works(s, caps, by_expert) && (best.tile_m == 0 || columns <= s.tile_n)) {
            best = s;
        }
    }
    return best;
}

// For `columns` columns, or as many as most experts have.
static matrix_shape shape_for(const gpu::capabilities & caps, const ggml_tensor * src0, uint64_t columns, bool by_expert) {
    const gpu::matrix_config * matrix = best_matrix(caps);
    const bool eligible = is_float(src0->type) || is_block(src0->type);
    // Narrow products cannot fill a tile.
    if (matrix == nullptr || caps.subgroup_min != caps.subgroup_max || !eligible || src0->ne[1] < 32 || src0->ne[0] < 32) {
        return {};
    }
    const matrix_tuning & tuning = caps.type == gpu::capabilities::kind::software ? cpu_tuning : gpu_tuning;
    matrix_shape          s      = shape_of_tiles(caps, *matrix, tuning, columns, by_expert);
    if (s.tile_m == 0) {
        return {};
    }
    // f16 alone would lose digits of f32.
    s.parts  = src0->type == GGML_TYPE_F32 ? 3 : 1;
    if (s.parts > 1 && static_cast<uint64_t>(ggml_nelements(src0)) * columns > tuning.split_values) {
        return {};
    }
    s.k      = s.parts * packed_stride(static_cast<uint64_t>(src0->ne[0]), s.tile_k);
    s.groups = tuning.groups;
    s.share  = tuning.share;
    s.slab   = std::min(largest_slab, caps.max_binding);
    return s;
}

matrix_shape matrix_shape_for(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * src0 = dst->src[0];
    if (dst->ne[1] <= 8) {
        return {};
    }
    const matrix_shape s = shape_for(caps, src0, static_cast<uint64_t>(dst->ne[1]), false);
    if (s.tile_m == 0) {
        return {};
    }
    // All scratch operands must fit a binding.
    const uint64_t columns = align_up(static_cast<uint64_t>(dst->ne[1]), s.tile_n) * static_cast<uint64_t>(dst->ne[2] * dst->ne[3]);
    const uint64_t least   = 2 * s.k * s.tile_m * static_cast<uint64_t>(src0->ne[2] * src0->ne[3]);
    return 2 * s.k * columns <= caps.max_binding && least <= s.slab ? s : matrix_shape{};
}

matrix_shape matrix_shape_by_expert(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * src0  = dst->src[0];
    const uint64_t      pairs = static_cast<uint64_t>(dst->ne[1] * dst->ne[2]);
    const uint64_t      mean  = pairs / window_of(dst, src0, 2).whole;
    const uint64_t      most  = mean + static_cast<uint64_t>(std::sqrt(mean));  // one standard deviation above, if experts are equally likely
    const matrix_shape  s     = shape_for(caps, src0, most, true);
    if (s.tile_m == 0) {
        return {};
    }
    const uint64_t columns = static_cast<uint64_t>(dst->src[1]->ne[1] * dst->src[1]->ne[2]);
    return 2 * s.k * columns <= caps.max_binding && 2 * s.k * s.tile_m <= s.slab ? s : matrix_shape{};
}

//
// f16
//

// The values of `src` follow each other as those of `to` do.
static bool lies_packed(const ggml_tensor * src, const packed & to) {
    return to.stride == static_cast<uint64_t>(src->ne[0]) && to.rows == static_cast<uint64_t>(src->ne[1]) && ggml_is_contiguous(src);
}

step pack_rows(const ggml_tensor * src, const packed & to, uint64_t scratch_at) {
    operand memory = bind_scratch("packed", scratch_at, to.bytes());
    memory.wide    = true;
    const auto add_sizes = [&](step & s) {
        s.params.add("rows", static_cast<uint32_t>(src->ne[1])).add("padded_rows", static_cast<uint32_t>(to.rows));
        s.params.add("matrices", static_cast<uint32_t>(to.matrices)).add("matrices2", static_cast<uint32_t>(src->ne[2]));
    };
    // By units of 64 values; a row's, or their pairs, must end with the row.
    step units;
    units.kernel = gpu::kernel_name("matmul/pack_units").threads(unit_threads);
    if (is_block(src->type) && to.stride % (ggml_blck_size(src->type) == 256 ? 128 : 64) == 0 && bind_packed_weights(units, src)) {
        const uint64_t padded_units = to.stride / 64;
        units.operands.push_back(memory);
        units.params.add("padded_units", static_cast<uint32_t>(padded_units)).add("src0_nb", nb(src));
        add_sizes(units);
        const uint32_t rounds = has_grid(src->type) ? table_rounds : 1;
        units.kernel.define("ROUNDS", rounds);
        if (lies_packed(src, to)) {
            units.kernel.define("FLAT");
        }
        units.joins  = !has_grid(src->type);  // else workgroup memory is short
        units.groups = groups_for(padded_units * to.rows * to.matrices, rounds * unit_threads / 4);
        return units;
    }
    const bool in_quads = quads(src);
    step       octets;
    octets.kernel = gpu::kernel_name("matmul/pack").threads(pack_threads);
    if (is_block(src->type)) {
        octets.kernel.define("BLOCKS");
    } else if (in_quads) {
        octets.kernel.define("QUADS");
    }
    octets.operands = { bind_source("src", src, in_quads), memory };
    octets.params.add("k", static_cast<uint32_t>(src->ne[0])).add("stride", static_cast<uint32_t>(to.stride)).add("src_nb", nb(src));
    add_sizes(octets);
    octets.groups = groups_for(to.bytes() / 16, pack_threads);
    return octets;
}

static operand bind_pairs(const char * name, uint64_t scratch_at, const packed & matrices) {
    operand o = bind_scratch(name, scratch_at, matrices.bytes());
    o.pairs   = true;
    return o;
}

// A row (of weights) or column (of src1) may be out of f16's range: each is scaled. Of three parts, `rest_part` is the one that differs.
static step pack_scaled(const ggml_tensor * src, const packed & to, uint32_t parts, uint32_t rest_part, uint64_t scratch_at, const operand & factors) {
    const bool     in_quads = quads(src);
    step           s;
    s.kernel = gpu::kernel_name("matmul/pack_scaled").threads(column_threads).define("LOADS", column_loads);
    if (in_quads) {
        s.kernel.define("QUADS");
    }
    if (parts > 1) {
        s.kernel.define("SPLIT").define("REST_PART", std::to_string(rest_part) + "u");
    }
    s.operands = { bind_source("src", src, in_quads), bind_pairs("packed", scratch_at, to), factors };
    s.params.add("k", static_cast<uint32_t>(src->ne[0])).add("stride", static_cast<uint32_t>(to.stride / parts)).add("src_nb", nb(src));
    s.params.add("columns", static_cast<uint32_t>(src->ne[1])).add("padded_columns", static_cast<uint32_t>(to.rows));
    s.params.add("matrices2", static_cast<uint32_t>(src->ne[2]));
    s.groups = to.rows * to.matrices;
    s.joins  = true;
    return s;
}

//
// products
//

// f16 rows that can be read where they lie: whole tiles, 8-byte steps.
static bool lies_in_tiles(const matrix_shape & shape, const ggml_tensor * src0) {
    return src0->type == GGML_TYPE_F16 && src0->nb[0] == 2 && src0->ne[0] % shape.tile_k == 0 && src0->ne[1] % shape.tile_m == 0 &&
           src0->nb[1] % 8 == 0 && src0->nb[2] % 8 == 0 && src0->nb[3] % 8 == 0 && reinterpret_cast<uintptr_t>(src0->data) % 8 == 0;
}

// Where weights lie in f16: in place, or in scratch memory from `at` on, so many rows of all matrices at a time.
struct weight_layout {
    bool     in_place;
    bool     scaled;  // f32, and bf16 which has its range
    uint64_t rows, at, factors_at, end;
};

static weight_layout layout_of(const matrix_shape & shape, const ggml_tensor * src0, uint64_t at) {
    const uint64_t m        = static_cast<uint64_t>(src0->ne[1]);
    const uint64_t matrices = static_cast<uint64_t>(src0->ne[2] * src0->ne[3]);
    const uint64_t room     = shape.slab / (2 * shape.k * matrices) / shape.tile_m * shape.tile_m;
    weight_layout  w{};
    w.in_place   = lies_in_tiles(shape, src0);
    w.scaled     = src0->type == GGML_TYPE_BF16 || src0->type == GGML_TYPE_F32;
    w.rows       = w.in_place ? m : std::min(room, align_up(m, shape.tile_m));
    w.at         = at;
    w.factors_at = align_up(at + (w.in_place ? 0 : w.rows * shape.k * matrices * 2), 256);
    w.end        = align_up(w.factors_at + (w.scaled ? w.rows * matrices * 4 : 0), 256);
    return w;
}

// Rows of the weights as the product reads them; strides in units of four halves.
struct weight_slab {
    operand  a, row_factors;
    uint32_t rows, nb2, nb3;
};

// Appends what brings rows [first, first + rows) of src0 to f16, if anything does.
static weight_slab bring_slab(plan & p, const matrix_shape & shape, const weight_layout & layout, const ggml_tensor * src0, uint64_t first, uint32_t rows) {
    const uint64_t matrices = static_cast<uint64_t>(src0->ne[2] * src0->ne[3]);
    const packed   weights  = { align_up(rows, shape.tile_m), shape.k, matrices };
    weight_slab    slab     = {
               .a           = bind("a", src0),
               .row_factors = bind_scratch("row_factors", layout.factors_at, weights.rows * matrices * 4),
               .rows        = static_cast<uint32_t>(weights.rows),
               .nb2         = static_cast<uint32_t>(src0->nb[2] / 8),
               .nb3         = static_cast<uint32_t>(src0->nb[3] / 8),
    };
    if (!layout.in_place) {
        ggml_tensor & part = p.slices.emplace_back(*src0);
        part.ne[1]         = rows;
        part.data          = static_cast<char *>(src0->data) + first * src0->nb[1];
        operand factors    = slab.row_factors;
        factors.name       = "factors";
        p.steps.push_back(layout.scaled ? pack_scaled(&part, weights, shape.parts, 2, layout.at, factors) : pack_rows(&part, weights, layout.at));
        slab.a   = bind_scratch("a", layout.at, weights.bytes());
        slab.nb2 = static_cast<uint32_t>(shape.k / 4 * weights.rows);
        slab.nb3 = slab.nb2 * static_cast<uint32_t>(src0->ne[2]);
    }
    slab.a.pairs = true;
    return slab;
}

static uint32_t tiles_of_k(const matrix_shape & shape, const ggml_tensor * src0) {
    const uint64_t before_last_part = shape.k / shape.parts * (shape.parts - 1);
    return static_cast<uint32_t>(groups_for(before_last_part + static_cast<uint64_t>(src0->ne[0]), shape.tile_k));
}

static gpu::kernel_name product_kernel(const matrix_shape & shape, uint64_t a_stride, uint64_t b_stride) {
    gpu::kernel_name name("matmul/matrix");
    name.threads(shape.threads).define("USES_MATRIX");
    name.define("TILE_M", shape.tile_m).define("TILE_N", shape.tile_n).define("TILE_K", shape.tile_k);
    name.define("MAT_M", shape.mat_m).define("MAT_N", shape.mat_n).define("MAT_K", shape.mat_k);
    name.define("FRAGMENTS_M", shape.fragments_m).define("FRAGMENTS_N", shape.fragments_n).define("SUBGROUPS_M", shape.subgroups_m);
    name.define("SUBGROUP_COUNT", shape.subgroups_m * shape.subgroups_n);
    name.define("LOADS_A", shape.tile_m * shape.tile_k / 4 / shape.threads).define("LOADS_B", shape.tile_n * shape.tile_k / 4 / shape.threads);
    // Constants: distances between loads become part of the instructions.
    name.define("A_STRIDE", std::to_string(a_stride / 4) + "u").define("B_STRIDE", std::to_string(b_stride / 4) + "u");
    return name;
}

// Adds up the splits of `rows` rows that begin at `first_row`.
static step sum_step(const ggml_tensor * dst, const operand & partial, uint32_t splits, uint32_t rows, uint32_t first_row) {
    const bool     in_quads = quads(dst) && rows % 4 == 0;
    const uint64_t count    = uint64_t(rows) * static_cast<uint64_t>(dst->ne[1] * dst->ne[2] * dst->ne[3]);
    step           s;
    s.kernel = gpu::kernel_name("matmul/sum_splits").threads(sum_threads);
    if (in_quads) {
        s.kernel.define("QUADS");
    }
    s.operands         = { partial, bind_source("dst", dst, in_quads) };
    s.operands[0].wide = in_quads;
    s.params.add("splits", splits).add("split_nb", static_cast<uint32_t>(count)).add("m", rows).add("n", static_cast<uint32_t>(dst->ne[1]));
    s.params.add("batches2", static_cast<uint32_t>(dst->ne[2])).add("first_row", first_row).add("dst_nb", nb(dst));
    s.groups = groups_for(count / (in_quads ? 4 : 1), sum_threads);
    s.joins  = true;
    return s;
}

// Rows of the result that one dispatch makes, and in how many splits of k.
struct row_part {
    uint32_t first, rows, splits;
};

// As many as keep the device busy, none of them empty.
static uint32_t splits_for(const matrix_shape & shape, uint64_t tiles, uint32_t k_tiles, uint64_t bytes) {
    const uint32_t wanted = static_cast<uint32_t>(std::max<uint64_t>(shape.groups / tiles, 1));
    const uint32_t splits = std::clamp(k_tiles / shape.share, 1u, wanted);
    return splits * bytes > shape.slab ? 1 : static_cast<uint32_t>(groups_for(k_tiles, static_cast<uint32_t>(groups_for(k_tiles, splits))));
}

// Tiles that would be a last round of workgroups on a device half idle are cut off and split. `columns`: the result's, of all batches,
// `across`: their tiles.
static std::vector<row_part> parts_of(const matrix_shape & shape, uint32_t rows, uint32_t k_tiles, uint64_t columns, uint64_t across) {
    static constexpr uint64_t most_rounds = 8;
    const auto                part        = [&](uint64_t first, uint64_t n) {
        const uint32_t splits = splits_for(shape, groups_for(n, shape.tile_m) * across, k_tiles, n * columns * sizeof(float));
        return row_part{ static_cast<uint32_t>(first), static_cast<uint32_t>(n), splits };
    };
    const uint64_t tiles = groups_for(rows, shape.tile_m) * across;
    const uint64_t whole = tiles / shape.groups * shape.groups / across * shape.tile_m;
    if (tiles < most_rounds * shape.groups && 0 < whole && whole < rows) {
        const row_part rest = part(whole, rows - whole);
        if (rest.splits > 1) {
            return { part(0, whole), rest };
        }
    }
    return { part(0, rows) };
}

plan plan_matrix_product(const matrix_shape & shape, const ggml_tensor * dst) {
    plan                p;
    const ggml_tensor * src0    = dst->src[0];
    const ggml_tensor * src1    = dst->src[1];
    const uint64_t      m       = static_cast<uint64_t>(src0->ne[1]);
    const uint32_t      n       = static_cast<uint32_t>(dst->ne[1]);
    const uint32_t      k_tiles = tiles_of_k(shape, src0);
    const uint64_t      batches = static_cast<uint64_t>(dst->ne[2] * dst->ne[3]);

    // Scratch: the columns, their factors, one slab of weights, its factors, then what splits leave.
    const packed   columns    = { align_up(n, shape.tile_n), shape.k, batches };
    const uint64_t across     = columns.rows / shape.tile_n;
    const uint64_t factors_at = align_up(columns.bytes(), 256);
    const uint64_t weights_at = align_up(factors_at + columns.rows * columns.matrices * 4, 256);
    const operand  factors    = bind_scratch("factors", factors_at, columns.rows * columns.matrices * 4);
    p.steps.push_back(pack_scaled(src1, columns, shape.parts, 1, 0, factors));
    p.steps.back().prepares = true;

    const weight_layout layout   = layout_of(shape, src0, weights_at);
    const uint64_t      parts_at = layout.end;
    p.scratch                    = parts_at;

    for (uint64_t first = 0; first < m; first += layout.rows) {
        const uint32_t    rows    = static_cast<uint32_t>(std::min(layout.rows, m - first));
        const weight_slab weights = bring_slab(p, shape, layout, src0, first, rows);

        for (const row_part & part : parts_of(shape, rows, k_tiles, n * batches, across * batches)) {
            const uint32_t to      = static_cast<uint32_t>(first) + part.first;
            const uint32_t count   = part.rows * n * static_cast<uint32_t>(batches);
            // WebGPU wants at least a matrix where one may be stored.
            const uint64_t bytes   = std::max<uint64_t>(uint64_t(part.splits) * count, shape.mat_m * shape.mat_n) * sizeof(float);
            operand        partial = bind_scratch("dst", parts_at, bytes);
            const bool     split   = part.splits > 1;
            step           product;
            product.kernel   = product_kernel(shape, layout.in_place ? src0->nb[1] / 2 : shape.k, shape.k);
            product.operands = { weights.a, bind_pairs("b", 0, columns), factors, split ? partial : bind("dst", dst) };
            product.operands.back().floats = true;
            if (layout.scaled) {
                product.kernel.define("ROW_FACTORS");
                product.operands.push_back(weights.row_factors);
            }

            gpu::params & values = product.params;
            values.add("dst_nb", split ? ops::shape{ 1, part.rows, part.rows * n, part.rows * n * static_cast<uint32_t>(dst->ne[2]) } : nb(dst));
            values.add("first_row", split ? 0u : to).add("a_row", part.first).add("a_nb2", weights.nb2).add("a_nb3", weights.nb3);
            values.add("split_nb", count).add("splits", part.splits).add("k_tiles", k_tiles);
            values.add("k_share", static_cast<uint32_t>(groups_for(k_tiles, part.splits)));
            values.add("m", part.rows).add("n", n).add("b_rows", static_cast<uint32_t>(columns.rows));
            values.add("a_rows", weights.rows).add("a_matrices2", static_cast<uint32_t>(src0->ne[2]));
            values.add("batches2", static_cast<uint32_t>(dst->ne[2])).add("repeat2", static_cast<uint32_t>(src1->ne[2] / src0->ne[2]));
            values.add("repeat3", static_cast<uint32_t>(src1->ne[3] / src0->ne[3]));
            const uint64_t row_tiles = groups_for(part.rows, shape.tile_m);
            values.add("tiles", static_cast<uint32_t>(row_tiles * across));
            values.add("row_tiles", static_cast<uint32_t>(row_tiles)).add("column_tiles", static_cast<uint32_t>(across));
            product.groups = row_tiles * across * part.splits * batches;
            p.steps.push_back(std::move(product));
            if (split) {
                p.scratch    = std::max(p.scratch, parts_at + partial.size);
                partial.name = "partial";
                p.steps.push_back(sum_step(dst, partial, part.splits, part.rows, to));
            }
        }
    }
    return p;
}

// Appends the steps that bring weights to f16 and multiply, for experts [begin, begin + src0->ne[2]).
static void add_experts(plan & p, const matrix_shape & shape, const ggml_tensor * dst, const ggml_tensor * src0, uint32_t begin, const expert_columns & columns) {
    const uint64_t      m      = static_cast<uint64_t>(src0->ne[1]);
    const weight_layout layout = layout_of(shape, src0, columns.end);
    p.scratch                  = std::max(p.scratch, layout.end);
    for (uint64_t first = 0; first < m; first += layout.rows) {
        const uint32_t    rows    = static_cast<uint32_t>(std::min(layout.rows, m - first));
        const weight_slab weights = bring_slab(p, shape, layout, src0, first, rows);
        step              product;
        product.kernel = product_kernel(shape, layout.in_place ? src0->nb[1] / 2 : shape.k, shape.k);
        product.kernel.define("ID");
        product.operands = { weights.a, columns.b, columns.factors, bind("dst", dst), columns.routes };
        if (layout.scaled) {
            product.kernel.define("ROW_FACTORS");
            product.operands.push_back(weights.row_factors);
        }
        const uint32_t row_tiles = static_cast<uint32_t>(groups_for(rows, shape.tile_m));
        gpu::params &  values    = product.params;
        values.add("dst_nb", nb(dst)).add("first_row", static_cast<uint32_t>(first)).add("m", rows).add("row_tiles", row_tiles);
        values.add("a_nb2", weights.nb2).add("a_rows", weights.rows).add("k_tiles", tiles_of_k(shape, src0));
        values.add("slots", static_cast<uint32_t>(dst->ne[1])).add("src1_slots", static_cast<uint32_t>(dst->src[1]->ne[1]));
        values.add("experts", columns.experts).add("capacity", columns.pairs);
        values.add("first_expert", begin).add("last_expert", begin + static_cast<uint32_t>(src0->ne[2]) - 1);
        product.groups = uint64_t(row_tiles) * columns.tiles;
        p.steps.push_back(std::move(product));
    }
}

plan plan_matrix_product_by_expert(const matrix_shape & shape, const ggml_tensor * dst, const table_window & experts) {
    plan                p;
    const ggml_tensor * src0  = dst->src[0];
    const ggml_tensor * src1  = dst->src[1];
    const uint32_t      pairs = static_cast<uint32_t>(dst->ne[1] * dst->ne[2]);

    // Scratch: the columns as they come, their factors, the routes with their tiles, then weights.
    const packed   packed_columns = { static_cast<uint64_t>(src1->ne[1]), shape.k, static_cast<uint64_t>(src1->ne[2]) };
    const uint64_t factors_at     = align_up(packed_columns.bytes(), 256);
    const uint64_t factor_bytes   = packed_columns.rows * packed_columns.matrices * 4;
    const uint64_t routes_at      = align_up(factors_at + factor_bytes, 256);
    const uint32_t most_tiles     = pairs / shape.tile_n + std::min(experts.n, pairs);
    const uint64_t routes_bytes   = (uint64_t(experts.n) * (1 + pairs) + 1 + 2 * uint64_t(most_tiles)) * 4;
    expert_columns columns        = {
               .b       = bind_pairs("b", 0, packed_columns),
               .factors = bind_scratch("factors", factors_at, factor_bytes),
               .routes  = bind_scratch("routes", routes_at, routes_bytes),
               .experts = experts.n,
               .pairs   = pairs,
               .tiles   = most_tiles,
               .end     = align_up(routes_at + routes_bytes, 256),
    };
    p.steps.push_back(pack_scaled(src1, packed_columns, shape.parts, 1, 0, columns.factors));
    p.steps.back().prepares = true;
    p.steps.push_back(route_step(dst, experts, columns.routes));
    step tiles;
    tiles.kernel   = gpu::kernel_name("matmul/route_tiles").threads(route_threads);
    tiles.operands = { columns.routes };
    tiles.params.add("experts", experts.n).add("capacity", pairs).add("columns", shape.tile_n);
    tiles.groups = 1;
    p.steps.push_back(std::move(tiles));

    // As many experts at a time as have a tile of rows each in a slab.
    const int64_t at_once = std::max<int64_t>(1, static_cast<int64_t>(shape.slab / (2 * shape.k * shape.tile_m)));
    for (int64_t begin = 0; begin < src0->ne[2]; begin += at_once) {
        const int64_t end = std::min(begin + at_once, src0->ne[2]);
        add_experts(p, shape, dst, part_of(src0, 2, begin, end, p.slices), static_cast<uint32_t>(begin), columns);
    }
    return p;
}

}  // namespace ops
