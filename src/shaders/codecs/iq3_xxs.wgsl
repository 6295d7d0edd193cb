// 256 values; value = d * (s + 1/2) / 2 * grid value, with signs; a scale s for each 32 values. An index names four values;
// seven sign bits are those of the first seven of eight values, the eighth makes their number even.
//
//   byte  0..1    d (f16)
//         2..65   index (u8) for each 4 values
//         66..97  for each 32 values: four times 7 sign bits | s << 28
#include "codecs/parts/bits.wgsl"
#include "codecs/parts/even_signs.wgsl"
#include "codecs/parts/grid_iq3_xxs.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 98u;

fn self_prepare(local_index: u32, threads: u32) {
    grid_iq3_xxs_prepare(local_index, threads);
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at    = params.self_offset + block * self_BLOCK_BYTES;
    let tail  = self_u32(at + 66u + 4u * (q >> 3u));
    let scale = self_f16(at) * (0.5 + f32(tail >> 28u)) * 0.5;
    let signs = even_signs((tail >> (7u * ((q >> 1u) & 3u))) & 127u) >> (4u * (q & 1u));
    return with_signs(scale * grid_iq3_xxs(self_u8(at + 2u + q)), signs);
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
    grid_iq3_xxs_bytes_prepare(local_index, threads);
}

// Sixteen values from four indices and twice seven bits of signs.
fn self_sixteen_values(index: u32, signs: u32) -> vec4<u32> {
    let s0 = even_signs(signs & 127u);
    let s1 = even_signs((signs >> 7u) & 127u);
    return vec4<u32>(negated_bytes(grid_iq3_xxs_bytes(index & 0xffu), s0), negated_bytes(grid_iq3_xxs_bytes((index >> 8u) & 0xffu), s0 >> 4u),
                     negated_bytes(grid_iq3_xxs_bytes((index >> 16u) & 0xffu), s1), negated_bytes(grid_iq3_xxs_bytes(index >> 24u), s1 >> 4u));
}

fn self_packed(row: u32, unit: u32) -> packed_values {
    let at    = params.self_offset + (row + (unit >> 2u)) * self_BLOCK_BYTES;
    let w     = self_sixteen(at + 2u + 16u * (unit & 3u));
    let tail  = self_eight(at + 66u + 8u * (unit & 3u));
    let scale = (0.5 * self_f16(at)) * (0.5 + vec2<f32>(tail >> vec2<u32>(28u)));
    return packed_values(self_sixteen_values(w.x, tail.x), self_sixteen_values(w.y, tail.x >> 14u),
                         self_sixteen_values(w.z, tail.y), self_sixteen_values(w.w, tail.y >> 14u), scale.xyxy, vec4<f32>());
}
#endif
