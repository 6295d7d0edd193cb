// 256 values; value = d * (2s + 1) * grid value, with signs; a scale s for each 32 values. An index names four values.
//
//   byte  0..1      d (f16)
//         2..65     low 8 bits of each index
//         66..73    high bit of eight indices
//         74..105   8 sign bits for each 8 values
//         106..109  s[2k] | s[2k + 1] << 4, k = 0..3
#include "codecs/parts/bits.wgsl"
#include "codecs/parts/grid_iq3_s.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 110u;

fn self_prepare(local_index: u32, threads: u32) {
    grid_iq3_s_prepare(local_index, threads);
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at    = params.self_offset + block * self_BLOCK_BYTES;
    let group = q >> 3u;
    let high  = (self_u8(at + 66u + group) >> (q & 7u)) & 1u;
    let index = self_u8(at + 2u + q) | (high << 8u);
    let s     = (self_u8(at + 106u + (group >> 1u)) >> (4u * (group & 1u))) & 15u;
    let scale = self_f16(at) * f32(2u * s + 1u);
    let signs = self_u8(at + 74u + (q >> 1u)) >> (4u * (q & 1u));
    return with_signs(scale * grid_iq3_s(index), signs);
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}
