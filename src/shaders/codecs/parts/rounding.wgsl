// Half to even, as nearest_int of ggml-quants.c.
fn nearest_int(x: f32) -> i32 {
    return i32(round(x));
}

// Half away from zero, as roundf of C.
fn round_away(x: f32) -> f32 {
    let whole = trunc(x);
    return whole + select(0.0, sign(x), abs(x - whole) >= 0.5);
}

fn inverse_or_zero(x: f32) -> f32 {
    return select(1.0 / x, 0.0, x == 0.0);
}
