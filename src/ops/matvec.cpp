#include "ops/matvec.h"

#include "ops/columns.h"
#include "ops/glu.h"
#include "ops/split.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace ops {

//
// how the work is cut
//

// `lanes` threads share `rows` rows; a workgroup of `threads` has threads / lanes such groups. A thread takes `unroll` steps
// along k at once. All are powers of two.
struct vec_shape {
    uint32_t threads, lanes, rows, unroll;
};

static constexpr uint32_t most_threads = 256;  // of a workgroup, on every WebGPU device

// By 1, 2, 4 and 8 columns. Measured; see docs/performance.md.
using vec_shapes = std::array<vec_shape, 4>;

struct vec_tuning {
    vec_shapes floats;   // f32, f16, bf16
    vec_shapes packed;   // quantised weights as integers
    vec_shapes levels;   // the same, of types that look values up in a table of sixteen in workgroup memory
    vec_shapes grids;    // and in a large table, which each workgroup fills first
    vec_shapes decoded;  // quantised weights as floats
    uint32_t   threads;  // so many in a dispatch keep the device busy
};

static constexpr vec_tuning gpu_tuning = {
    .floats  = { { { 128, 128, 1, 4 }, { 128, 128, 2, 2 }, { 128, 128, 4, 1 }, { 128, 128, 4, 1 } } },
    .packed  = { { { 64, 32, 4, 1 }, { 64, 32, 2, 2 }, { 64, 64, 2, 1 }, { 128, 128, 4, 1 } } },
    .levels  = { { { 128, 128, 2, 1 }, { 128, 128, 2, 1 }, { 128, 128, 2, 1 }, { 128, 128, 2, 1 } } },
    .grids   = { { { 256, 32, 1, 1 }, { 256, 32, 2, 1 }, { 256, 32, 2, 1 }, { 256, 32, 2, 1 } } },
    .decoded = { { { 64, 64, 4, 1 }, { 64, 64, 4, 1 }, { 64, 64, 4, 1 }, { 64, 64, 4, 1 } } },
    .threads = 65536,
};

// Subgroups of 8 and few processors: small groups, no barriers, little code to compile.
static constexpr vec_tuning cpu_tuning = {
    .floats  = { { { 32, 8, 4, 1 }, { 32, 8, 4, 1 }, { 32, 8, 4, 1 }, { 32, 8, 4, 1 } } },
    .packed  = { { { 32, 8, 4, 1 }, { 32, 8, 4, 1 }, { 32, 8, 2, 1 }, { 32, 8, 2, 1 } } },
    .levels  = { { { 32, 8, 2, 1 }, { 32, 8, 2, 1 }, { 32, 8, 2, 1 }, { 32, 8, 2, 1 } } },
    .grids   = { { { 64, 8, 2, 1 }, { 64, 8, 2, 1 }, { 64, 8, 2, 1 }, { 64, 8, 2, 1 } } },
    .decoded = { { { 32, 8, 2, 1 }, { 32, 8, 2, 1 }, { 32, 8, 2, 1 }, { 32, 8, 2, 1 } } },
    .threads = 1,
};

// Of gated linear units, by rows of each of the two matrices. To quantise their results a workgroup makes whole blocks of 32 rows
// (threads / lanes * rows); so the shapes of quantised types do, and are not changed for small matrices.
static constexpr vec_tuning gpu_glu_tuning = {
    .floats  = { { { 128, 128, 1, 2 }, { 128, 128, 1, 2 }, { 128, 128, 2, 1 }, { 128, 128, 2, 1 } } },
    .packed  = { { { 256, 16, 2, 1 }, { 256, 16, 2, 1 }, { 256, 16, 2, 1 }, { 256, 16, 2, 1 } } },
    .levels  = { { { 256, 16, 2, 1 }, { 256, 16, 2, 1 }, { 256, 16, 2, 1 }, { 256, 16, 2, 1 } } },
    .grids   = { { { 256, 16, 2, 1 }, { 256, 16, 2, 1 }, { 256, 16, 2, 1 }, { 256, 16, 2, 1 } } },
    .decoded = { { { 64, 64, 2, 1 }, { 64, 64, 2, 1 }, { 64, 64, 2, 1 }, { 64, 64, 2, 1 } } },
    .threads = 1,
};

static constexpr vec_tuning cpu_glu_tuning = {
    .floats  = { { { 32, 8, 2, 1 }, { 32, 8, 2, 1 }, { 32, 8, 2, 1 }, { 32, 8, 2, 1 } } },
    .packed  = { { { 128, 8, 2, 1 }, { 128, 8, 2, 1 }, { 256, 8, 1, 1 }, { 256, 8, 1, 1 } } },
    .levels  = { { { 256, 8, 1, 1 }, { 256, 8, 1, 1 }, { 256, 8, 1, 1 }, { 256, 8, 1, 1 } } },
    .grids   = { { { 256, 8, 1, 1 }, { 256, 8, 1, 1 }, { 256, 8, 1, 1 }, { 256, 8, 1, 1 } } },
    .decoded = { { { 32, 8, 1, 1 }, { 32, 8, 1, 1 }, { 32, 8, 1, 1 }, { 32, 8, 1, 1 } } },
    .threads = 1,
};

static constexpr bool fits_any_device(const vec_tuning & tuning) {
    const auto fits = [](const vec_shape & s) { return s.lanes <= s.threads && s.threads <= most_threads; };
    const auto all  = [&](const vec_shapes & shapes) { return std::ranges::all_of(shapes, fits); };
    return all(tuning.floats) && all(tuning.packed) && all(tuning.levels) && all(tuning.grids) && all(tuning.decoded);
}

static_assert(fits_any_device(gpu_tuning) && fits_any_device(cpu_tuning) && fits_any_device(gpu_glu_tuning) && fits_any_device(cpu_glu_tuning));

static const vec_tuning & tuning_for(const gpu::capabilities & caps, bool glu) {
    const bool software = caps.type == gpu::capabilities::kind::software;
    return glu ? (software ? cpu_glu_tuning : gpu_glu_tuning) : (software ? cpu_tuning : gpu_tuning);
}

// The integer view of a type, see codecs/parts/packed.wgsl.
struct packed_type {
    ggml_type               type;
    bool                    spread;  // which values a part holds
    vec_shapes vec_tuning::*shapes;
};

static constexpr packed_type packed_types[] = {
    { GGML_TYPE_Q1_0, false, &vec_tuning::packed },    { GGML_TYPE_Q2_0, false, &vec_tuning::packed },
    { GGML_TYPE_Q4_0, false, &vec_tuning::packed },    { GGML_TYPE_Q4_1, false, &vec_tuning::packed },
    { GGML_TYPE_Q5_0, false, &vec_tuning::packed },    { GGML_TYPE_Q5_1, false, &vec_tuning::packed },
    { GGML_TYPE_Q8_0, false, &vec_tuning::packed },    { GGML_TYPE_MXFP4, false, &vec_tuning::levels },
    { GGML_TYPE_NVFP4, false, &vec_tuning::levels },   { GGML_TYPE_Q2_K, true, &vec_tuning::packed },
    { GGML_TYPE_Q3_K, true, &vec_tuning::packed },     { GGML_TYPE_Q4_K, false, &vec_tuning::packed },
    { GGML_TYPE_Q5_K, false, &vec_tuning::packed },    { GGML_TYPE_Q6_K, true, &vec_tuning::packed },
    { GGML_TYPE_TQ1_0, false, &vec_tuning::packed },   { GGML_TYPE_TQ2_0, true, &vec_tuning::packed },
    { GGML_TYPE_IQ1_S, false, &vec_tuning::grids },    { GGML_TYPE_IQ1_M, false, &vec_tuning::grids },
    { GGML_TYPE_IQ2_XXS, false, &vec_tuning::grids },  { GGML_TYPE_IQ2_XS, false, &vec_tuning::grids },
    { GGML_TYPE_IQ2_S, false, &vec_tuning::grids },    { GGML_TYPE_IQ3_XXS, false, &vec_tuning::grids },
    { GGML_TYPE_IQ3_S, false, &vec_tuning::grids },    { GGML_TYPE_IQ4_NL, false, &vec_tuning::levels },
    { GGML_TYPE_IQ4_XS, false, &vec_tuning::levels },
};

static const packed_type * packed_view(ggml_type type) {
    const auto * found = std::find_if(std::begin(packed_types), std::end(packed_types), [=](const packed_type & p) { return p.type == type; });
    return found != std::end(packed_types) ? found : nullptr;
}

static constexpr uint32_t quad = 4;  // values of a step of the float kernel

// The table's shape, changed where the matrix is too small for it: `steps` is what a row has to offer to its lanes.
static vec_shape shape_for(const gpu::capabilities & caps, const vec_tuning & tuning, const vec_shapes & table, uint32_t columns, uint32_t steps,
                           uint64_t rows) {
    // Without subgroups each thread's sums take workgroup memory.
    const uint32_t most_lanes = caps.subgroups ? most_threads : 64;
    vec_shape      s          = table[std::countr_zero(columns)];
    while (s.rows > 1 && rows / s.rows * s.lanes < tuning.threads) {
        s.rows /= 2;
    }
    while (s.lanes < std::min(steps, most_lanes) && rows / s.rows * s.lanes < tuning.threads) {
        s.lanes *= 2;
    }
    while (s.lanes > 8 && s.lanes / 2 >= steps) {
        s.lanes /= 2;
    }
    s.lanes   = std::min(s.lanes, most_lanes);
    s.threads = std::max(caps.subgroups ? s.threads : std::min(s.threads, most_lanes), s.lanes);
    return s;
}

static void cut(step & s, const gpu::capabilities & caps, const vec_shape & shape, uint32_t columns, uint32_t matrices) {
    const uint32_t results = shape.rows * columns;
    s.kernel.threads(shape.threads).define("LANES", shape.lanes).define("ROWS", shape.rows).define("COLUMNS", columns).define("UNROLL", shape.unroll);
    s.kernel.define("MATRICES", matrices).define("RESULTS", results).define("SUMS", results * matrices);
    s.kernel.define("FOLD", std::min({ results, shape.lanes, std::max(caps.subgroup_min, 1u) }));
}

static uint32_t rows_of_group(const vec_shape & shape) {
    return shape.threads / shape.lanes * shape.rows;
}

//
// operands
//

static uint64_t address(const ggml_tensor * t) {
    return reinterpret_cast<uintptr_t>(t->data);
}

// The largest of 1, 2, 4 and 16 bytes that divides the addresses of all rows of `t` and of all units of `unit` bytes in them.
static uint32_t alignment_of(const ggml_tensor * t, uint64_t unit) {
    uint64_t bits = address(t) | unit | 16;
    for (int d = 1; d < GGML_MAX_DIMS; d++) {
        bits |= t->ne[d] > 1 ? t->nb[d] : 0;
    }
    const uint32_t lowest = 1u << std::countr_zero(bits);
    return lowest == 8 ? 4 : lowest;
}

static operand bind_floats(step & s, const char * name, const ggml_tensor * t, const char * quad_define) {
    const bool in_quads = quads(t);
    if (in_quads) {
        s.kernel.define(quad_define);
    }
    operand o = bind_source(name, t, in_quads);
    o.pairs   = in_quads && ggml_type_size(t->type) == 2;
    return o;
}

// What a dispatch makes: products with `weights`, or, of these and of those with `up`, gated linear units.
struct vec_products {
    const ggml_tensor * node;  // MUL_MAT or MUL_MAT_ID
    const ggml_tensor * weights;
    const ggml_tensor * up;
    const ggml_tensor * dst;

    const ggml_tensor * src1() const { return node->src[1]; }
};

static vec_products one_product(const ggml_tensor * node) {
    return { node, node->src[0], nullptr, node };
}

static step float_step(const vec_products & of) {
    const uint32_t k = static_cast<uint32_t>(of.weights->ne[0]);
    step           s;
    s.kernel = gpu::kernel_name("matmul/vec");
    if (is_block(of.weights->type)) {
        s.kernel.define("BLOCKS_A");
        s.operands.push_back(bind("src0", of.weights));
    } else {
        s.operands.push_back(bind_floats(s, "src0", of.weights, "QUADS_A"));
    }
    if (of.up != nullptr) {
        s.operands.push_back(s.operands[0]);
        s.operands[1].name   = "up";
        s.operands[1].tensor = of.up;
    }
    s.operands.push_back(bind_floats(s, "src1", of.src1(), "QUADS_B"));
    s.params.add("k", k).add("k_quads", (k + 3) / 4);
    return s;
}

// Under `name`, whose alignment is `align`.
static void bind_units(step & s, const char * name, const char * align, const ggml_tensor * weights) {
    const uint64_t unit    = std::max<uint64_t>(1, unit_values / ggml_blck_size(weights->type)) * ggml_type_size(weights->type);
    const uint32_t aligned = alignment_of(weights, unit);
    operand        o       = bind(name, weights);
    o.wide                 = aligned == 16;
    s.operands.push_back(o);
    s.kernel.define(align, aligned);
}

bool bind_packed_weights(step & s, const ggml_tensor * weights) {
    const packed_type * view = packed_view(weights->type);
    if (view == nullptr) {
        return false;
    }
    bind_units(s, "src0", "src0_ALIGN", weights);
    if (view->spread) {
        s.kernel.define("SPREAD");
    }
    if (weights->ne[0] % unit_values != 0) {
        s.kernel.define("HALF_UNIT");
    }
    s.params.add("units", static_cast<uint32_t>(groups_for(weights->ne[0], unit_values)));
    s.params.add("k_blocks", static_cast<uint32_t>(weights->ne[0] / 32));
    return true;
}

static step packed_step(const vec_products & of, const packed_columns & from) {
    step s;
    s.kernel = gpu::kernel_name("matmul/vec_packed");
    bind_packed_weights(s, of.weights);
    if (of.up != nullptr) {
        bind_units(s, "up", "up_ALIGN", of.up);
    }
    bind_columns(s, from);
    return s;
}

// ggml's CPU backend multiplies quantised weights with quantised columns as well, unless more precision is asked for.
static bool as_integers(const gpu::capabilities & caps, const vec_products & of, const packed_type * view, uint32_t columns) {
    return caps.packed_dot && view != nullptr && param_i32(of.node, 0) != GGML_PREC_F32 &&
           columns_of(of.src1(), columns, view->spread).bytes() <= caps.max_binding;
}

//
// plans
//

// The steps of products whose dispatch makes `column_tiles` times all rows; `finish` adds what places a workgroup.
template <typename F>
static plan plan_products(const gpu::capabilities & caps, const vec_products & of, uint32_t columns, uint64_t column_tiles, F && finish) {
    const bool          glu     = of.up != nullptr;
    const vec_tuning &  tuning  = tuning_for(caps, glu);
    const packed_type * view    = packed_view(of.weights->type);
    const uint32_t      m       = static_cast<uint32_t>(of.weights->ne[1]);
    const uint32_t      k       = static_cast<uint32_t>(of.weights->ne[0]);
    plan                p;
    step                product;
    vec_shape           shape;
    if (as_integers(caps, of, view, columns)) {
        const packed_columns quantised = columns_of(of.src1(), columns, view->spread);
        p.steps.push_back(quantise_step(caps, of.src1(), quantised));
        product = packed_step(of, quantised);
        shape   = shape_for(caps, tuning, tuning.*view->shapes, columns, quantised.units, m * column_tiles);
    } else {
        product = float_step(of);
        shape   = shape_for(caps, tuning, is_block(of.weights->type) ? tuning.decoded : tuning.floats, columns, k / quad, m * column_tiles);
    }
    product.operands.push_back(bind("dst", of.dst));
    cut(product, caps, shape, columns, glu ? 2 : 1);
    const uint64_t row_tiles = groups_for(m, rows_of_group(shape));
    product.params.add("m", m).add("row_tiles", static_cast<uint32_t>(row_tiles));
    product.params.add("src0_nb", nb(of.weights)).add("src1_nb", nb(of.src1())).add("dst_nb", nb(of.dst));
    product.groups = row_tiles * column_tiles;
    product.joins = caps.subgroups && (view == nullptr || view->shapes != &vec_tuning::grids);  // else workgroup memory is short
    product.quantises = glu && rows_of_group(shape) % 32 == 0;
    finish(product);
    p.steps.push_back(std::move(product));
    return p;
}

static plan plan_columns(const gpu::capabilities & caps, const vec_products & of) {
    const ggml_tensor * dst          = of.dst;
    const uint32_t      n            = static_cast<uint32_t>(dst->ne[1]);
    const uint32_t      columns      = std::bit_ceil(std::min(n, matvec_columns));
    const uint64_t      column_tiles = groups_for(n, columns);
    return plan_products(caps, of, columns, column_tiles * static_cast<uint64_t>(dst->ne[2] * dst->ne[3]), [&](step & s) {
        s.params.add("n", n).add("column_tiles", static_cast<uint32_t>(column_tiles)).add("batches2", static_cast<uint32_t>(dst->ne[2]));
        s.params.add("repeat2", static_cast<uint32_t>(of.src1()->ne[2] / of.weights->ne[2]));
        s.params.add("repeat3", static_cast<uint32_t>(of.src1()->ne[3] / of.weights->ne[3]));
    });
}

static plan plan_pairs(const gpu::capabilities & caps, const vec_products & of) {
    const ggml_tensor * dst     = of.dst;
    const ggml_tensor * ids     = of.node->src[2];
    const uint64_t      pairs   = static_cast<uint64_t>(dst->ne[1] * dst->ne[2]);
    const table_window  experts = window_of(of.node, of.weights, 2);
    return plan_products(caps, of, 1, pairs, [&](step & s) {
        s.kernel.define("ID");
        s.operands.push_back(bind("src2", ids));
        s.operands.push_back(bind_fault());
        s.params.add("slots", static_cast<uint32_t>(dst->ne[1])).add("src1_slots", static_cast<uint32_t>(of.src1()->ne[1]));
        s.params.add("experts", experts.n).add("first_expert", experts.begin).add("all_experts", experts.whole);
        s.params.add("src2_nb", nb(ids)).add("op", static_cast<uint32_t>(of.node->op));
    });
}

plan plan_matvec(const gpu::capabilities & caps, const ggml_tensor * dst) {
    return plan_columns(caps, one_product(dst));
}

plan plan_matvec_id(const gpu::capabilities & caps, const ggml_tensor * dst) {
    return plan_pairs(caps, one_product(dst));
}

plan plan_matvec_glu(const gpu::capabilities & caps, const ggml_tensor * product, const ggml_tensor * x, const ggml_tensor * g, const ggml_tensor * glu) {
    const vec_products of{ product, x, g, glu };
    plan               p = product->op == GGML_OP_MUL_MAT_ID ? plan_pairs(caps, of) : plan_columns(caps, of);
    define_glu(p.steps.back(), glu);
    return p;
}

}  // namespace ops
