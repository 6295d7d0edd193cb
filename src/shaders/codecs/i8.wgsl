// An 8-bit integer, four a word.
const self_BLOCK_VALUES = 1u;
const self_BLOCK_BYTES  = 1u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_int(i: u32) -> i32 {
    return extractBits(bitcast<i32>(self_u8(params.self_offset + i)), 0u, 8u);
}

#if self_ATOMIC
fn self_store_int(i: u32, v: i32) {
    self_set_u8(params.self_offset + i, bitcast<u32>(v) & 0xffu);
}
#endif
