// 256 values; value = d * (s + 1/2) / 4 * grid value, with signs; a scale s for each 32 values. An index names eight values;
// seven sign bits are those of the first seven, the eighth makes their number even.
//
//   byte  0..1   d (f16)
//         2..65  for each 32 values: four indices (u8), then four times 7 sign bits | s << 28
#include "codecs/parts/bits.wgsl"
#include "codecs/parts/even_signs.wgsl"
#include "codecs/parts/grid_iq2_xxs.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 66u;

fn self_prepare(local_index: u32, threads: u32) {
    grid_iq2_xxs_prepare(local_index, threads);
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at    = params.self_offset + block * self_BLOCK_BYTES;
    let group = at + 2u + 8u * (q >> 3u);
    let part  = (q >> 1u) & 3u;
    let tail  = self_u32(group + 4u);
    let scale = self_f16(at) * (0.5 + f32(tail >> 28u)) * 0.25;
    let signs = even_signs((tail >> (7u * part)) & 127u) >> (4u * (q & 1u));
    return with_signs(scale * grid_iq2_xxs(self_u8(group + part), q & 1u), signs);
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}

#if self_PACKED
#define self_SCALES 2
#define self_OFFSETS 0
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self

fn self_packed_prepare(local_index: u32, threads: u32) {
    grid_iq2_xxs_bytes_prepare(local_index, threads);
}

// Sixteen values from two indices and the signs of each eight.
fn self_sixteen_values(index0: u32, signs0: u32, index1: u32, signs1: u32) -> vec4<u32> {
    let first  = grid_iq2_xxs_bytes(index0 & 0xffu);
    let second = grid_iq2_xxs_bytes(index1 & 0xffu);
    let s0     = even_signs(signs0 & 127u);
    let s1     = even_signs(signs1 & 127u);
    return vec4<u32>(negated_bytes(first.x, s0), negated_bytes(first.y, s0 >> 4u),
                     negated_bytes(second.x, s1), negated_bytes(second.y, s1 >> 4u));
}

fn self_packed(row: u32, unit: u32) -> packed_values {
    let at    = params.self_offset + (row + (unit >> 2u)) * self_BLOCK_BYTES;
    let w     = self_sixteen(at + 2u + 16u * (unit & 3u));
    let scale = (0.25 * self_f16(at)) * (0.5 + vec2<f32>(w.yw >> vec2<u32>(28u)));
    return packed_values(self_sixteen_values(w.x, w.y, w.x >> 8u, w.y >> 7u),
                         self_sixteen_values(w.x >> 16u, w.y >> 14u, w.x >> 24u, w.y >> 21u),
                         self_sixteen_values(w.z, w.w, w.z >> 8u, w.w >> 7u),
                         self_sixteen_values(w.z >> 16u, w.w >> 14u, w.z >> 24u, w.w >> 21u), scale.xyxy, vec4<f32>());
}
#endif
