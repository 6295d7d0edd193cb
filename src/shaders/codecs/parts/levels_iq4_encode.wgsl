// The index of the level closest to x, the upper of two equally close: the number of midpoints that x reaches.
fn nearest_level_iq4(x: f32) -> u32 {
    let zero  = vec4<u32>(0u);
    let one   = vec4<u32>(1u);
    let count = select(zero, one, vec4<f32>(x) >= vec4<f32>(-115.5, -93.5, -74.0, -57.0))
              + select(zero, one, vec4<f32>(x) >= vec4<f32>(-42.0, -28.5, -16.0, -4.5))
              + select(zero, one, vec4<f32>(x) >= vec4<f32>(7.0, 19.0, 31.5, 45.5));
    let last  = select(zero.xyz, one.xyz, vec3<f32>(x) >= vec3<f32>(61.0, 79.0, 101.0));
    return count.x + count.y + count.z + count.w + last.x + last.y + last.z;
}
