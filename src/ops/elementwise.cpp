// One value in, one value out: unary functions, arithmetic with broadcasting, gated linear units.
#include "gpu/log.h"
#include "ops/families.h"
#include "ops/glu.h"

namespace ops {

static constexpr uint32_t threads = 256;

// A kernel over all values of dst, four at a time when every operand allows it.
static step over_values(const char * shader, const ggml_tensor * dst, bool in_quads, bool contiguous) {
    step s;
    s.kernel = gpu::kernel_name(shader).threads(threads);
    if (in_quads) {
        s.kernel.define("QUADS");
    }
    if (contiguous) {
        s.kernel.define("CONTIGUOUS");
    }
    const uint32_t units = count(dst) / (in_quads ? 4 : 1);
    s.params.add("count", units);
    s.groups = groups_for(units, threads);
    return s;
}

// The shader function of a unary op (src/shaders/elementwise/functions.wgsl).
static const char * unary_function(ggml_unary_op op) {
    switch (op) {
        case GGML_UNARY_OP_ABS:         return "op_abs";
        case GGML_UNARY_OP_SGN:         return "op_sgn";
        case GGML_UNARY_OP_NEG:         return "op_neg";
        case GGML_UNARY_OP_STEP:        return "op_step";
        case GGML_UNARY_OP_TANH:        return "op_tanh";
        case GGML_UNARY_OP_ELU:         return "op_elu";
        case GGML_UNARY_OP_RELU:        return "op_relu";
        case GGML_UNARY_OP_SIGMOID:     return "op_sigmoid";
        case GGML_UNARY_OP_GELU:        return "op_gelu";
        case GGML_UNARY_OP_GELU_QUICK:  return "op_gelu_quick";
        case GGML_UNARY_OP_SILU:        return "op_silu";
        case GGML_UNARY_OP_HARDSWISH:   return "op_hardswish";
        case GGML_UNARY_OP_HARDSIGMOID: return "op_hardsigmoid";
        case GGML_UNARY_OP_EXP:         return "op_exp";
        case GGML_UNARY_OP_EXPM1:       return "op_expm1";
        case GGML_UNARY_OP_SOFTPLUS:    return "op_softplus";
        case GGML_UNARY_OP_GELU_ERF:    return "op_gelu_erf";
        case GGML_UNARY_OP_XIELU:       return "op_xielu";
        case GGML_UNARY_OP_FLOOR:       return "op_floor";
        case GGML_UNARY_OP_CEIL:        return "op_ceil";
        case GGML_UNARY_OP_ROUND:       return "op_round";
        case GGML_UNARY_OP_TRUNC:       return "op_trunc";
        default:                        return nullptr;
    }
}

// y = f(x; p0..p3)
static plan plan_function_of(const char * function, const ggml_tensor * dst, std::array<float, 4> p) {
    const ggml_tensor * src = dst->src[0];
    if (!is_float(src->type) || !is_float(dst->type)) {
        return unsupported("from %s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    const bool in_quads   = quads(src) && quads(dst);
    const bool contiguous = ggml_is_contiguous(src) && ggml_is_contiguous(dst);
    step       s          = over_values("elementwise/unary", dst, in_quads, contiguous);
    s.kernel.define("OP", function);
    s.operands = { bind_source("src", src, in_quads), bind_dest("dst", dst, in_quads) };
    s.params.add("p0", p[0]).add("p1", p[1]).add("p2", p[2]).add("p3", p[3]);
    s.params.add("dst_ne", ne(dst)).add("src_nb", nb(src)).add("dst_nb", nb(dst));
    return s;
}

plan plan_unary(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_unary_op op       = ggml_get_unary_op(dst);
    const char *        function = unary_function(op);
    if (function == nullptr) {
        return unsupported("unary op %d is not known", int(op));
    }
    // XIELU: alpha_n, alpha_p, beta and eps follow the op's number.
    return plan_function_of(function, dst, { param_f32(dst, 1), param_f32(dst, 2), param_f32(dst, 3), param_f32(dst, 4) });
}

plan plan_math(const gpu::capabilities &, const ggml_tensor * dst) {
    const float a = param_f32(dst, 0), b = param_f32(dst, 1);
    switch (dst->op) {
        case GGML_OP_SQR:        return plan_function_of("op_sqr", dst, {});
        case GGML_OP_SQRT:       return plan_function_of("op_sqrt", dst, {});
        case GGML_OP_LOG:        return plan_function_of("op_log", dst, {});
        case GGML_OP_SIN:        return plan_function_of("op_sin", dst, {});
        case GGML_OP_COS:        return plan_function_of("op_cos", dst, {});
        case GGML_OP_SCALE:      return plan_function_of("op_scale", dst, { a, b });
        case GGML_OP_CLAMP:      return plan_function_of("op_clamp", dst, { a, b });
        case GGML_OP_LEAKY_RELU: return plan_function_of("op_leaky_relu", dst, { a });
        case GGML_OP_FILL:       return plan_function_of("op_fill", dst, { a });
        default:                 return unsupported("%s is not a function of one value", ggml_op_name(dst->op));
    }
}

static const char * operator_of(ggml_op op) {
    switch (op) {
        case GGML_OP_ADD:
        case GGML_OP_ADD1: return "+";
        case GGML_OP_SUB:  return "-";
        case GGML_OP_MUL:  return "*";
        case GGML_OP_DIV:  return "/";
        default:           return nullptr;
    }
}

// dst = a op b, b repeated to a's shape.
plan plan_binary(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const ggml_tensor * b = dst->src[1];
    if (!is_float(a->type) || !is_float(b->type) || !is_float(dst->type)) {
        return unsupported("%s, %s to %s", ggml_type_name(a->type), ggml_type_name(b->type), ggml_type_name(dst->type));
    }
    const bool in_quads   = quads(a) && quads(b) && quads(dst) && b->ne[0] == a->ne[0];
    const bool same       = ggml_are_same_shape(a, b);
    const bool contiguous = same && ggml_is_contiguous(a) && ggml_is_contiguous(b) && ggml_is_contiguous(dst);
    step       s          = over_values("elementwise/binary", dst, in_quads, contiguous);
    s.kernel.define("OP", operator_of(dst->op));
    if (same) {
        s.kernel.define("SAME_SHAPE");
    }
    s.operands = { bind_source("a", a, in_quads), bind_source("b", b, in_quads), bind_dest("dst", dst, in_quads) };
    s.params.add("dst_ne", ne(dst)).add("a_nb", nb(a)).add("b_ne", ne(b)).add("b_nb", nb(b)).add("dst_nb", nb(dst));
    return s;
}

const char * glu_function(ggml_glu_op op) {
    switch (op) {
        case GGML_GLU_OP_REGLU:        return "glu_relu";
        case GGML_GLU_OP_GEGLU:        return "glu_gelu";
        case GGML_GLU_OP_SWIGLU:       return "glu_silu";
        case GGML_GLU_OP_SWIGLU_OAI:   return "glu_oai";
        case GGML_GLU_OP_GEGLU_ERF:    return "glu_gelu_erf";
        case GGML_GLU_OP_GEGLU_QUICK:  return "glu_gelu_quick";
        case GGML_GLU_OP_SWIGLU_CLAMP: return "glu_silu_clamp";
        default:                       return nullptr;
    }
}

void define_glu(step & s, const ggml_tensor * glu) {
    s.kernel.define("OP", glu_function(ggml_get_glu_op(glu)));
    s.params.add("alpha", param_f32(glu, 2)).add("limit", param_f32(glu, 3));
}

// dst = f(x) * g, with x and g the halves of each row of src0 (swapped or not), or src0 and src1.
plan plan_glu(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * x        = dst->src[0];
    const ggml_tensor * g        = dst->src[1] != nullptr ? dst->src[1] : x;
    if (glu_function(ggml_get_glu_op(dst)) == nullptr) {
        return unsupported("GLU op %d is not known", param_i32(dst, 0));
    }
    if (!is_float(x->type) || g->type != x->type || dst->type != x->type) {
        return unsupported("%s, %s to %s", ggml_type_name(x->type), ggml_type_name(g->type), ggml_type_name(dst->type));
    }
    const bool     halves   = dst->src[1] == nullptr;
    const bool     swapped  = param_i32(dst, 1) != 0;
    const uint32_t half     = static_cast<uint32_t>(dst->ne[0]);
    const bool     in_quads = quads(x) && quads(g) && quads(dst);
    step           s        = over_values("elementwise/glu", dst, in_quads, false);
    define_glu(s, dst);
    s.operands = { bind_source("x", x, in_quads), bind_source("g", g, in_quads), bind_dest("dst", dst, in_quads) };
    s.params.add("x_first", halves && swapped ? half : 0u).add("g_first", halves && !swapped ? half : 0u);
    s.params.add("dst_ne", ne(dst)).add("x_nb", nb(x)).add("g_nb", nb(g)).add("dst_nb", nb(dst));
    s.quantises = in_quads;
    return s;
}

// dst = grad * silu'(x)
plan plan_silu_back(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * grad = dst->src[0];
    const ggml_tensor * x    = dst->src[1];
    if (!is_float(x->type) || !is_float(grad->type) || !is_float(dst->type)) {
        return unsupported("%s, %s to %s", ggml_type_name(x->type), ggml_type_name(grad->type), ggml_type_name(dst->type));
    }
    const bool in_quads = quads(x) && quads(grad) && quads(dst);
    step       s        = over_values("elementwise/glu", dst, in_quads, false);
    s.kernel.define("OP", "glu_silu_back");
    s.operands = { bind_source("x", x, in_quads), bind_source("g", grad, in_quads), bind_dest("dst", dst, in_quads) };
    s.params.add("x_first", 0u).add("g_first", 0u).add("alpha", 0.0f).add("limit", 0.0f);
    s.params.add("dst_ne", ne(dst)).add("x_nb", nb(x)).add("g_nb", nb(grad)).add("dst_nb", nb(dst));
    return s;
}

}  // namespace ops
