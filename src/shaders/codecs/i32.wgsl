// A 32-bit integer in one word. self_int and self_store_int keep all bits; self_value and self_store go through f32.
const self_BLOCK_VALUES = 1u;
const self_BLOCK_BYTES  = 4u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_int(i: u32) -> i32 {
    return bitcast<i32>(self_word((params.self_offset >> 2u) + i));
}

// The upper half of the value as a 64-bit integer: 0 for all that can be an index.
fn self_high_int(i: u32) -> i32 {
    return self_int(i) >> 31u;
}

fn self_store_int(i: u32, v: i32) {
    self_set_word((params.self_offset >> 2u) + i, bitcast<u32>(v));
}

fn self_value(block: u32, i: u32) -> f32 {
    return f32(self_int(block + i));
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let i = block + 4u * q;
    return vec4<f32>(self_value(i, 0u), self_value(i, 1u), self_value(i, 2u), self_value(i, 3u));
}

fn self_store(block: u32, v: f32) {
    self_store_int(block, i32(v));
}

fn self_store_quad(block: u32, v: vec4<f32>) {
    self_store(block, v.x);
    self_store(block + 1u, v.y);
    self_store(block + 2u, v.z);
    self_store(block + 3u, v.w);
}
