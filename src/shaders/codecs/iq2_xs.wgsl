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

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at    = self_block_at(row_at, unit >> 2u);
    let w     = self_sixteen(at, 2u, unit & 3u);
    let s     = (vec4<u32>(self_u16(self_bytes(at) + 66u + 2u * (unit & 3u))) >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(15u);
    let scale = (0.25 * self_half(at, 0u)) * (0.5 + vec4<f32>(s));
    return packed_values(self_sixteen_values(w.x), self_sixteen_values(w.y), self_sixteen_values(w.z), self_sixteen_values(w.w),
                         scale, vec4<f32>());
}
#endif

#if self_ENCODE
#define self_ENTRY_VALUES 8
#define self_SIGNS 2
const self_ENTRIES       = 512u;
const self_VARIANTS      = 1u;
const self_SCALE_THREADS = 2u;
const self_VARIANCES     = 1.0;
const self_LARGEST_SCALE = 15.0;
const self_UNIT          = 0.125;
const self_TOP_LEVEL     = 43.0;
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/search_grid.wgsl" as self

fn self_level(entry: u32, half: u32) -> vec4<f32> {
    return grid_iq2_xs(entry, half);
}

fn self_encode(block: u32, d: u32) {
    var words: array<u32, self_BLOCK_WORDS>;
    self_put(&words, 0u, d);
    for (var g = 0u; g < 32u; g++) {
        let found = self_found[g];
        self_put(&words, 2u + 2u * g, found.x | ((found.y & 127u) << 9u));
        if ((g & 1u) == 0u) {
            self_put(&words, 66u + (g >> 2u), found.z << (2u * (g & 2u)));
        }
    }
    self_store_block(block, &words);
}
#endif
