// The functions of one value and of a value with its gate. Formulas are those of ggml's CPU backend (ggml-cpu/unary-ops.cpp,
// ggml-cpu/vec.h), also in what they make of NaN; p0..p3 are the op's parameters.
#include "lib/float.wgsl"
#include "lib/trig.wgsl"

// exp(x) - 1 without cancellation near 0.
fn expm1(x: f32) -> f32 {
    if (abs(x) < 0.01) {
        return x * (1.0 + x * (0.5 + x * 0.16666667));
    }
    return exp(x) - 1.0;
}

// Beyond +-10 tanh is 1 in f32; some implementations overflow there. Clamping would lose NaN. Near zero implementations lose digits:
// there the series is taken, whose next term is below 1e-9 of the sum.
fn safe_tanh(x: f32) -> f32 {
    if (abs(x) < 0.1) {
        let s = x * x;
        return x * (1.0 - s * (1.0 / 3.0 - s * (2.0 / 15.0 - s * (17.0 / 315.0))));
    }
    return select(tanh(clamp(x, -10.0, 10.0)), x, is_nan(x));
}

// Abramowitz and Stegun 7.1.26, error below 1.5e-7.
fn erf(x: f32) -> f32 {
    let a = abs(x);
    let t = 1.0 / (1.0 + 0.3275911 * a);
    let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return sign(x) * (1.0 - poly * exp(-a * a));
}

fn op_abs(x: f32) -> f32 { return abs(x); }
fn op_sgn(x: f32) -> f32 { return sign(x); }
fn op_neg(x: f32) -> f32 { return -x; }
fn op_step(x: f32) -> f32 { return select(0.0, 1.0, x > 0.0); }
fn op_tanh(x: f32) -> f32 { return safe_tanh(x); }
fn op_elu(x: f32) -> f32 { return select(expm1(x), x, x > 0.0); }
fn op_relu(x: f32) -> f32 { return select(0.0, x, x > 0.0); }
fn op_sigmoid(x: f32) -> f32 { return 1.0 / (1.0 + exp(-x)); }
fn op_silu(x: f32) -> f32 { return x / (1.0 + exp(-x)); }
fn op_gelu(x: f32) -> f32 {
    if (abs(x) >= 10.0) { // where 0 * infinity would come of it
        return op_relu(x);
    }
    return 0.5 * x * (1.0 + safe_tanh(0.79788456 * x * (1.0 + 0.044715 * x * x)));
}
fn op_gelu_quick(x: f32) -> f32 { return x / (1.0 + exp(-1.702 * x)); }
fn op_gelu_erf(x: f32) -> f32 { return 0.5 * x * (1.0 + erf(x * 0.70710678)); }
fn op_hardsigmoid(x: f32) -> f32 { return clamp((x + 3.0) / 6.0, 0.0, 1.0); }
fn op_hardswish(x: f32) -> f32 { return x * clamp((x + 3.0) / 6.0, 0.0, 1.0); }
fn op_exp(x: f32) -> f32 { return exp(x); }
fn op_expm1(x: f32) -> f32 { return expm1(x); }
fn op_softplus(x: f32) -> f32 { return select(log(1.0 + exp(x)), x, x > 20.0); }
fn op_floor(x: f32) -> f32 { return floor(x); }
fn op_ceil(x: f32) -> f32 { return ceil(x); }
fn op_trunc(x: f32) -> f32 { return trunc(x); }
fn op_sqr(x: f32) -> f32 { return x * x; }
fn op_sqrt(x: f32) -> f32 { return sqrt(x); }
fn op_log(x: f32) -> f32 { return log(x); }

// Halves go away from zero; WGSL's round takes them to even.
fn op_round(x: f32) -> f32 {
    let whole = trunc(x);
    return whole + select(0.0, sign(x), abs(x - whole) >= 0.5);
}

fn op_sin(x: f32) -> f32 { return sin(reduced(x)); }
fn op_cos(x: f32) -> f32 { return cos(reduced(x)); }

// Functions with parameters; GLU kernels have none of these.
#if defined(src_TYPE)
fn op_scale(x: f32) -> f32 { return x * params.p0 + params.p1; }
fn op_leaky_relu(x: f32) -> f32 { return select(0.0, x, x > 0.0) + params.p0 * select(0.0, x, x < 0.0); }
fn op_fill(x: f32) -> f32 { return params.p0; }

// NaN becomes p1.
fn op_clamp(x: f32) -> f32 {
    let below = select(params.p1, x, x < params.p1);
    return select(params.p0, below, below > params.p0);
}

// p: alpha_n, alpha_p, beta, eps
fn op_xielu(x: f32) -> f32 {
    if (x > 0.0) {
        return params.p1 * x * x + params.p2 * x;
    }
    return (expm1(min(x, params.p3)) - x) * params.p0 + params.p2 * x;
}
#else
fn glu_relu(x: f32, g: f32) -> f32 { return select(0.0, x * g, x > 0.0); }
fn glu_gelu(x: f32, g: f32) -> f32 { return op_gelu(x) * g; }
fn glu_silu(x: f32, g: f32) -> f32 { return op_silu(x) * g; }
fn glu_gelu_erf(x: f32, g: f32) -> f32 { return op_gelu_erf(x) * g; }
fn glu_gelu_quick(x: f32, g: f32) -> f32 { return op_gelu_quick(x) * g; }

// The derivative of silu at x, times g.
fn glu_silu_back(x: f32, g: f32) -> f32 {
    let s = 1.0 / (1.0 + exp(-x));
    return g * s * (1.0 + x * (1.0 - s));
}

// Both keep NaN.
fn limited_above(x: f32) -> f32 { return select(x, params.limit, x > params.limit); }
fn limited(x: f32) -> f32 { return select(limited_above(x), -params.limit, x < -params.limit); }

fn glu_silu_clamp(x: f32, g: f32) -> f32 {
    return op_silu(limited_above(x)) * limited(g);
}

fn glu_oai(x: f32, g: f32) -> f32 {
    let gate = limited_above(x);
    return gate / (1.0 + exp(-params.alpha * gate)) * (limited(g) + 1.0);
}
#endif
