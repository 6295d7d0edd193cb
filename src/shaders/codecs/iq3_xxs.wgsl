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

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at    = self_block_at(row_at, unit >> 2u);
    let w     = self_sixteen(at, 2u, unit & 3u);
    let tail  = self_eight(at, 66u, unit & 3u);
    let scale = (0.5 * self_half(at, 0u)) * (0.5 + vec2<f32>(tail >> vec2<u32>(28u)));
    return packed_values(self_sixteen_values(w.x, tail.x), self_sixteen_values(w.y, tail.x >> 14u),
                         self_sixteen_values(w.z, tail.y), self_sixteen_values(w.w, tail.y >> 14u), scale.xyxy, vec4<f32>());
}
#endif

#if self_ENCODE
#define self_ENTRY_VALUES 4
#define self_SIGNS 2
const self_ENTRIES       = 256u;
const self_VARIANTS      = 1u;
const self_SCALE_THREADS = 4u;
const self_VARIANCES     = 2.0;
const self_LARGEST_SCALE = 15.0;
const self_UNIT          = 0.25;
const self_TOP_LEVEL     = 62.0;
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/search_grid.wgsl" as self

fn self_level(entry: u32, half: u32) -> vec4<f32> {
    return grid_iq3_xxs(entry);
}

fn self_encode(block: u32, d: u32) {
    var words: array<u32, self_BLOCK_WORDS>;
    self_put(&words, 0u, d);
    for (var g = 0u; g < 32u; g++) {
        let found = self_found[g];
        let tail  = 66u + 4u * (g >> 2u);
        self_put(&words, 2u + 2u * g, (found.x & 0xffu) | ((found.x >> 16u) << 8u));
        self_put_wide(&words, tail, (found.y & 127u) << (7u * (g & 3u)));
        if ((g & 3u) == 0u) {
            self_put(&words, tail + 3u, found.z << 4u);
        }
    }
    self_store_block(block, &words);
}
#endif
