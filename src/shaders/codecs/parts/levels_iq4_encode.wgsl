// The index of the level closest to x, the upper of two equally close.
fn nearest_level_iq4(x: f32) -> u32 {
    let at_least = select(vec4<u32>(0u), vec4<u32>(1u), vec4<f32>(x) >= vec4<f32>(-104.0, -83.0, -65.0, -49.0))
                 + select(vec4<u32>(0u), vec4<u32>(1u), vec4<f32>(x) >= vec4<f32>(-35.0, -22.0, -10.0, 1.0))
                 + select(vec4<u32>(0u), vec4<u32>(1u), vec4<f32>(x) >= vec4<f32>(13.0, 25.0, 38.0, 53.0))
                 + select(vec4<u32>(0u), vec4<u32>(1u), vec4<f32>(x) >= vec4<f32>(69.0, 89.0, 113.0, 1e30));
    let below    = at_least.x + at_least.y + at_least.z + at_least.w;
    let levels   = levels_iq4(vec4<u32>(below, min(below + 1u, 15u), 0u, 0u));
    return select(below + 1u, below, x - levels.x < levels.y - x || below == 15u);
}

fn level_iq4(index: u32) -> f32 {
    return levels_iq4(vec4<u32>(index)).x;
}
