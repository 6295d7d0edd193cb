// 256 values in 56 bytes; value = d * (2s + 1) * (grid value +- 1/8), grid values -1, 0 and 1; a scale s for each 16 values.
//
//   byte   0                       32                                                     48                      56
//        | 32 x low index (u8)   | 32 nibbles: high 3 index bits | 1/8 is negative << 3  | 4 x (4 x s | d << 12) |
//
// An index names eight values. d is an f16 whose nibbles, lowest first, are the top bits of the last four u16.
#include "codecs/parts/grid_iq1.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 56u;

fn self_prepare(local_index: u32, threads: u32) {
    grid_iq1_prepare(local_index, threads);
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at     = params.self_offset + block * self_BLOCK_BYTES;
    let eight  = q >> 1u;
    let word0  = self_u32(at + 48u);
    let word1  = self_u32(at + 52u);
    let d_bits = ((word0 >> 12u) & 0xfu) | ((word0 >> 24u) & 0xf0u) | ((word1 >> 4u) & 0xf00u) | ((word1 >> 16u) & 0xf000u);
    let scales = select(word0, word1, q >= 32u) >> (16u * ((q >> 4u) & 1u) + 3u * ((q >> 2u) & 3u));
    let high   = (self_u8(at + 32u + (q >> 2u)) >> (4u * (eight & 1u))) & 15u;
    let index  = self_u8(at + eight) | ((high & 7u) << 8u);
    let scale  = unpack2x16float(d_bits).x * f32(2u * (scales & 7u) + 1u);
    let delta  = select(0.125, -0.125, high >= 8u);
    return scale * (grid_iq1(index, q & 1u) + delta);
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}
