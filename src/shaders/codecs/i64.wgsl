// A 64-bit integer in two words, low word first. WGSL has no such type: callers read the low word and check the high one.
const self_BLOCK_VALUES = 1u;
const self_BLOCK_BYTES  = 8u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_int(i: u32) -> i32 {
    return bitcast<i32>(self_word((params.self_offset >> 2u) + 2u * i));
}

// 0 for all values that fit 32 bits and can be an index.
fn self_high_int(i: u32) -> i32 {
    return bitcast<i32>(self_word((params.self_offset >> 2u) + 2u * i + 1u));
}

fn self_store_int(i: u32, v: i32) {
    let word = (params.self_offset >> 2u) + 2u * i;
    self_set_word(word, bitcast<u32>(v));
    self_set_word(word + 1u, bitcast<u32>(v >> 31u));
}
