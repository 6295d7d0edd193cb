// The upper half of an f32, two values a word.
#include "lib/float.wgsl"
const self_BLOCK_VALUES = 1u;
const self_BLOCK_BYTES  = 2u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_value(block: u32, i: u32) -> f32 {
    return bitcast<f32>(self_u16(params.self_offset + 2u * (block + i)) << 16u);
}

// The four values of two words.
fn self_unpack(words: vec2<u32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(vec4<u32>(words.x << 16u, words.x & 0xffff0000u, words.y << 16u, words.y & 0xffff0000u));
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
#if self_WIDTH == 2
    return self_unpack(self_pair_word((params.self_offset >> 3u) + (block >> 2u) + q));
#else
    let byte = params.self_offset + 2u * (block + 4u * q);
    return self_unpack(vec2<u32>(self_u32(byte), self_u32(byte + 4u)));
#endif
}

#if self_ATOMIC
fn self_store(block: u32, v: f32) {
    self_set_u16(params.self_offset + 2u * block, bf16_bits(v));
}
#endif

fn self_store_quad(block: u32, v: vec4<f32>) {
    let word = (params.self_offset >> 2u) + (block >> 1u);
    self_set_word(word, bf16_bits(v.x) | (bf16_bits(v.y) << 16u));
    self_set_word(word + 1u, bf16_bits(v.z) | (bf16_bits(v.w) << 16u));
}
