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

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at    = self_block_at(row_at, unit >> 2u);
    let w     = self_sixteen(at, 2u, unit & 3u);
    let scale = (0.25 * self_half(at, 0u)) * (0.5 + vec2<f32>(w.yw >> vec2<u32>(28u)));
    return packed_values(self_sixteen_values(w.x, w.y, w.x >> 8u, w.y >> 7u),
                         self_sixteen_values(w.x >> 16u, w.y >> 14u, w.x >> 24u, w.y >> 21u),
                         self_sixteen_values(w.z, w.w, w.z >> 8u, w.w >> 7u),
                         self_sixteen_values(w.z >> 16u, w.w >> 14u, w.z >> 24u, w.w >> 21u), scale.xyxy, vec4<f32>());
}
#endif

#if self_ENCODE
#define self_ENTRY_VALUES 8
#define self_SIGNS 2
const self_ENTRIES       = 256u;
const self_VARIANTS      = 1u;
const self_SCALE_THREADS = 4u;
const self_VARIANCES     = 1.0;
const self_LARGEST_SCALE = 15.0;
const self_UNIT          = 0.125;
const self_TOP_LEVEL     = 43.0;
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/search_grid.wgsl" as self

fn self_level(entry: u32, half: u32) -> vec4<f32> {
    return grid_iq2_xxs(entry, half);
}

fn self_encode(block: u32, d: u32) {
    var words: array<u32, self_BLOCK_WORDS>;
    self_put(&words, 0u, d);
    for (var g = 0u; g < 32u; g++) {
        let found = self_found[g];
        let group = 2u + 8u * (g >> 2u);
        let part  = g & 3u;
        self_put(&words, group + part, found.x);
        self_put_wide(&words, group + 4u, (found.y & 127u) << (7u * part));
        if (part == 0u) {
            self_put(&words, group + 7u, found.z << 4u);
        }
    }
    self_store_block(block, &words);
}
#endif
