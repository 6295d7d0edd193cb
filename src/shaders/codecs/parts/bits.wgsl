// The four bytes of a word, lowest first, and a few fields of them.

fn bytes_of(word: u32) -> vec4<u32> {
    return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu);
}

fn signed_bytes_of(word: u32) -> vec4<i32> {
    return (vec4<i32>(bitcast<i32>(word)) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u);
}

// Nibbles 0, 2, 4 and 6: the low half of each byte. For the high halves shift the word right by four.
fn nibbles_of(word: u32) -> vec4<u32> {
    return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xfu);
}

// Bits 0, 8, 16 and 24 and the one above each.
fn pairs_of(word: u32) -> vec4<u32> {
    return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(3u);
}

// Bits 0, 8, 16 and 24.
fn byte_flags_of(word: u32) -> vec4<u32> {
    return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(1u);
}

// Bits 0 to 3.
fn flags_of(word: u32) -> vec4<u32> {
    return (vec4<u32>(word) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(1u);
}

// `v` with the sign of each value turned where its bit of `signs` (0 to 3) is set.
fn with_signs(v: vec4<f32>, signs: u32) -> vec4<f32> {
    let high = (vec4<u32>(signs) << vec4<u32>(31u, 30u, 29u, 28u)) & vec4<u32>(0x80000000u);
    return bitcast<vec4<f32>>(bitcast<vec4<u32>>(v) ^ high);
}
