// The sixteen levels of iq4_nl and iq4_xs (kvalues_iq4nl of ggml-common.h), as signed bytes:
// -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113

fn levels_iq4(index: vec4<u32>) -> vec4<f32> {
    let odd   = (index & vec4<u32>(4u)) != vec4<u32>(0u);
    let low   = select(vec4<u32>(0xbfad9881u), vec4<u32>(0xf6eaddcfu), odd);
    let high  = select(vec4<u32>(0x26190d01u), vec4<u32>(0x71594535u), odd);
    let four  = select(low, high, (index & vec4<u32>(8u)) != vec4<u32>(0u));
    let shift = vec4<u32>(24u) - ((index & vec4<u32>(3u)) << vec4<u32>(3u));
    return vec4<f32>(bitcast<vec4<i32>>(four << shift) >> vec4<u32>(24u));
}
