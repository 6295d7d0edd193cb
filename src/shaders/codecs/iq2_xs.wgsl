// 256 values; value = d * (s + 1/2) / 4 * grid value, with signs; a scale s for each 16 values. An index names eight values;
// seven sign bits are those of the first seven, the eighth makes their number even.
//
//   byte  0..1    d (f16)
//         2..65   index | 7 sign bits << 9 (u16) for each 8 values
//         66..73  s[2k] | s[2k + 1] << 4, k = 0..7
#include "codecs/parts/bits.wgsl"
#include "codecs/parts/even_signs.wgsl"
#include "codecs/parts/grid_iq2_xs.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 74u;

fn self_prepare(local_index: u32, threads: u32) {
    grid_iq2_xs_prepare(local_index, threads);
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at    = params.self_offset + block * self_BLOCK_BYTES;
    let word  = self_u16(at + 2u + 2u * (q >> 1u));
    let s     = (self_u8(at + 66u + (q >> 3u)) >> (q & 4u)) & 15u;
    let scale = self_f16(at) * (0.5 + f32(s)) * 0.25;
    let signs = even_signs(word >> 9u) >> (4u * (q & 1u));
    return with_signs(scale * grid_iq2_xs(word & 511u, q & 1u), signs);
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}

#if self_PACKED
#define self_SCALES 4
#define self_OFFSETS 0
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self

fn self_packed_prepare(local_index: u32, threads: u32) {
    grid_iq2_xs_bytes_prepare(local_index, threads);
}

// Sixteen values from two indices of 9 bits, each with 7 bits of signs above it.
fn self_sixteen_values(word: u32) -> vec4<u32> {
    let first  = grid_iq2_xs_bytes(word & 511u);
    let second = grid_iq2_xs_bytes((word >> 16u) & 511u);
    let s0     = even_signs((word >> 9u) & 127u);
    let s1     = even_signs(word >> 25u);
    return vec4<u32>(negated_bytes(first.x, s0), negated_bytes(first.y, s0 >> 4u),
                     negated_bytes(second.x, s1), negated_bytes(second.y, s1 >> 4u));
}

fn self_packed(row: u32, unit: u32) -> packed_values {
    let at    = params.self_offset + (row + (unit >> 2u)) * self_BLOCK_BYTES;
    let w     = self_sixteen(at + 2u + 16u * (unit & 3u));
    let s     = (vec4<u32>(self_u16(at + 66u + 2u * (unit & 3u))) >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(15u);
    let scale = (0.25 * self_f16(at)) * (0.5 + vec4<f32>(s));
    return packed_values(self_sixteen_values(w.x), self_sixteen_values(w.y), self_sixteen_values(w.z), self_sixteen_values(w.w),
                         scale, vec4<f32>());
}
#endif
