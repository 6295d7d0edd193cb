// Four-bit floats: sign, two bits of exponent, one of mantissa; taken twice so that all are integers:
// 0 1 2 3 4 6 8 12 and their negatives. (OCP Microscaling Formats v1.0)

// Twice the values of four nibbles.
fn e2m1_doubled(nibbles: vec4<u32>) -> vec4<f32> {
    let magnitude = (vec4<u32>(0xc8643210u) >> ((nibbles & vec4<u32>(7u)) << vec4<u32>(2u))) & vec4<u32>(15u);
    let sign      = (nibbles & vec4<u32>(8u)) << vec4<u32>(28u);
    return bitcast<vec4<f32>>(bitcast<vec4<u32>>(vec4<f32>(magnitude)) | sign);
}
