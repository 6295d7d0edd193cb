// 256 values; value = d * (2s + 1) * (grid value + delta), delta = 1/8 or -1/8, with a scale s for each 16 values and a delta
// for each 8. An index names eight values.
//
//   byte  0..31   low 8 bits of each index
//         32..47  for each 8 values, in a nibble: high 3 bits of the index | delta is negative << 3
//         48..55  for each 64 values: four times s (3 bits) | a nibble of d (f16), lowest first, << 12 (u16)
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
