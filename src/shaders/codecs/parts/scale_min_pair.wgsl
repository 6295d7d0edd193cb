// Scales and mins 2 j and 2 j + 1 of the twelve bytes described in scale_min.wgsl: (s, s, m, m).
fn scale_min_pair(words: vec3<u32>, j: u32) -> vec4<f32> {
    let w     = words >> vec3<u32>(16u * (j & 1u));
    let first = w.xy & vec2<u32>(0x3f3fu);
    let later = (vec2<u32>(w.z, w.z >> 4u) & vec2<u32>(0x0f0fu)) | ((w.xy & vec2<u32>(0xc0c0u)) >> vec2<u32>(2u));
    let pair  = select(first, later, j >= 2u);
    return vec4<f32>(vec4<u32>(pair.x & 0xffu, pair.x >> 8u, pair.y & 0xffu, pair.y >> 8u));
}
