// One value in one word.
const self_BLOCK_VALUES = 1u;
const self_BLOCK_BYTES  = 4u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_value(block: u32, i: u32) -> f32 {
    return bitcast<f32>(self_word((params.self_offset >> 2u) + block + i));
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
#if self_WIDTH == 4
    return bitcast<vec4<f32>>(self_quad_word((params.self_offset >> 4u) + (block >> 2u) + q));
#else
    let i = block + 4u * q;
    return vec4<f32>(self_value(i, 0u), self_value(i, 1u), self_value(i, 2u), self_value(i, 3u));
#endif
}

fn self_store(block: u32, v: f32) {
    self_set_word((params.self_offset >> 2u) + block, bitcast<u32>(v));
}

fn self_store_quad(block: u32, v: vec4<f32>) {
#if self_WIDTH == 4
    self_set_quad_word((params.self_offset >> 4u) + (block >> 2u), bitcast<vec4<u32>>(v));
#else
    self_store(block, v.x);
    self_store(block + 1u, v.y);
    self_store(block + 2u, v.z);
    self_store(block + 3u, v.w);
#endif
}
