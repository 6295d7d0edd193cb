// A 16-bit integer, two a word.
const self_BLOCK_VALUES = 1u;
const self_BLOCK_BYTES  = 2u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_int(i: u32) -> i32 {
    return extractBits(bitcast<i32>(self_u16(params.self_offset + 2u * i)), 0u, 16u);
}

#if self_ATOMIC
fn self_store_int(i: u32, v: i32) {
    self_set_u16(params.self_offset + 2u * i, bitcast<u32>(v) & 0xffffu);
}
#endif
