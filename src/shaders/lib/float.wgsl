// What WGSL's floats lack. Implementations may assume that no NaN or infinity occurs, so the tests look at bits,
// and the constants come from variables: a constant expression of an infinity is refused.
fn neg_inf() -> f32 {
    var bits = 0xff800000u;
    return bitcast<f32>(bits);
}

fn pos_inf() -> f32 {
    var bits = 0x7f800000u;
    return bitcast<f32>(bits);
}

fn nan() -> f32 {
    var bits = 0x7fc00000u;
    return bitcast<f32>(bits);
}

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn is_inf(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

fn is_neg_inf(x: f32) -> bool {
    return bitcast<u32>(x) == 0xff800000u;
}

// IEEE half precision bits of x: nearest even, overflow to infinity, NaN kept. pack2x16float alone leaves
// the result of values beyond 65504 open.
fn f16_bits(x: f32) -> u32 {
    let bits      = bitcast<u32>(x);
    let sign      = (bits >> 16u) & 0x8000u;
    let magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return sign | 0x7e00u;
    }
    if (magnitude >= 0x477ff000u) { // 65520, halfway past the largest half
        return sign | 0x7c00u;
    }
    if (magnitude < 0x38800000u) { // below 2^-14: a subnormal half counts steps of 2^-24
        return sign | u32(round(bitcast<f32>(magnitude) * 16777216.0));
    }
    return sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13u) & 1u)) >> 13u);
}

// bfloat16 bits of x as ggml_compute_fp32_to_bf16: nearest even, NaN made quiet.
fn bf16_bits(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (bits >> 16u) | 64u;
    }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}
