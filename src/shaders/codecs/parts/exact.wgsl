// Encoders take the same decisions as ggml's reference only if each product and quotient is rounded as IEEE 754 says. WGSL
// allows a product to be fused into the sum it feeds, and divisions and roots that are a few units off in the last place
// (on an H200 a quarter of all quotients are).

// A result that no further operation may swallow: the driver cannot know that `groups` never reaches 2^31.
fn rounded(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ (params.groups >> 31u));
}

fn upper_half(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
}

// a - q * b for q close to a / b. The factors' halves have 12 bits, so every product is exact, and so is every difference.
fn rest_of(a: f32, q: f32, b: f32) -> f32 {
    let q0 = upper_half(q);
    let b0 = upper_half(b);
    let q1 = q - q0;
    let b1 = b - b0;
    return (((a - q0 * b0) - q0 * b1) - q1 * b0) - q1 * b1;
}

// Far enough from both ends of the range for rest_of.
fn is_moderate(x: f32) -> bool {
    return abs(x) > 1e-20 && abs(x) < 1e20;
}

// a / b, correctly rounded.
fn quotient(a: f32, b: f32) -> f32 {
    let q = rounded(a / b); // else a / b + rest / b may become (a + rest) / b
    return select(q, q + rest_of(a, q, b) / b, is_moderate(a) && is_moderate(b) && is_moderate(q));
}

// The square root of a, correctly rounded.
fn root(a: f32) -> f32 {
    let r = rounded(sqrt(a));
    return select(r, r + rest_of(a, r, r) / (2.0 * r), is_moderate(a));
}

fn inverse_or_zero(x: f32) -> f32 {
    return select(quotient(1.0, x), 0.0, x == 0.0);
}

// Half to even, as nearest_int of ggml-quants.c.
fn nearest_int(x: f32) -> i32 {
    return i32(round(x));
}

// Half away from zero, as roundf of C.
fn round_away(x: f32) -> f32 {
    let whole = trunc(x);
    return whole + select(0.0, sign(x), abs(x - whole) >= 0.5);
}
