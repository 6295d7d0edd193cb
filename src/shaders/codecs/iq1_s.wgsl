// 256 values; value = d * (2s + 1) * (grid value + delta), delta = 1/8 or -1/8, with a scale s and a delta for each 32 values.
// An index names eight values.
//
//   byte  0..1    d (f16)
//         2..33   low 8 bits of each index
//         34..49  for each 32 values: high 3 bits of four indices | s << 12 | delta is negative << 15 (u16)
#include "codecs/parts/grid_iq1.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 50u;

fn self_prepare(local_index: u32, threads: u32) {
    grid_iq1_prepare(local_index, threads);
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at    = params.self_offset + block * self_BLOCK_BYTES;
    let eight = q >> 1u;
    let tail  = self_u16(at + 34u + 2u * (q >> 3u));
    let index = self_u8(at + 2u + eight) | (((tail >> (3u * (eight & 3u))) & 7u) << 8u);
    let scale = self_f16(at) * f32(2u * ((tail >> 12u) & 7u) + 1u);
    let delta = select(0.125, -0.125, (tail & 0x8000u) != 0u);
    return scale * (grid_iq1(index, q & 1u) + delta);
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}
