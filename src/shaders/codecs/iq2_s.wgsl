// 256 values; value = d * (s + 1/2) / 4 * grid value, with signs; a scale s for each 16 values. An index names eight values.
//
//   byte  0..1    d (f16)
//         2..33   low 8 bits of each index
//         34..65  8 sign bits for each 8 values
//         66..73  high 2 bits of four indices
//         74..81  s[2k] | s[2k + 1] << 4, k = 0..7
#include "codecs/parts/bits.wgsl"
#include "codecs/parts/grid_iq2_s.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 82u;

fn self_prepare(local_index: u32, threads: u32) {
    grid_iq2_s_prepare(local_index, threads);
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at    = params.self_offset + block * self_BLOCK_BYTES;
    let eight = q >> 1u;
    let high  = (self_u8(at + 66u + (q >> 3u)) >> (2u * (eight & 3u))) & 3u;
    let index = self_u8(at + 2u + eight) | (high << 8u);
    let s     = (self_u8(at + 74u + (q >> 3u)) >> (q & 4u)) & 15u;
    let scale = self_f16(at) * (0.5 + f32(s)) * 0.25;
    let signs = self_u8(at + 34u + eight) >> (4u * (q & 1u));
    return with_signs(scale * grid_iq2_s(index, q & 1u), signs);
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
    grid_iq2_s_bytes_prepare(local_index, threads);
}

// Sixteen values from two bytes of index, twice 2 bits above them, and 16 bits of signs.
fn self_sixteen_values(low: u32, high: u32, signs: u32) -> vec4<u32> {
    let first  = grid_iq2_s_bytes((low & 0xffu) | ((high & 3u) << 8u));
    let second = grid_iq2_s_bytes(((low >> 8u) & 0xffu) | ((high & 12u) << 6u));
    return vec4<u32>(negated_bytes(first.x, signs), negated_bytes(first.y, signs >> 4u),
                     negated_bytes(second.x, signs >> 8u), negated_bytes(second.y, signs >> 12u));
}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at    = self_block_at(row_at, unit >> 2u);
    let j     = unit & 3u;
    let low   = self_eight(at, 2u, j);
    let signs = self_eight(at, 34u, j);
    let high  = self_u16(self_bytes(at) + 66u + 2u * j);
    let s     = (vec4<u32>(self_u16(self_bytes(at) + 74u + 2u * j)) >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(15u);
    let scale = (0.25 * self_half(at, 0u)) * (0.5 + vec4<f32>(s));
    return packed_values(self_sixteen_values(low.x, high, signs.x), self_sixteen_values(low.x >> 16u, high >> 4u, signs.x >> 16u),
                         self_sixteen_values(low.y, high >> 8u, signs.y), self_sixteen_values(low.y >> 16u, high >> 12u, signs.y >> 16u),
                         scale, vec4<f32>());
}
#endif

#if self_ENCODE
#define self_ENTRY_VALUES 8
#define self_SIGNS 1
const self_ENTRIES       = 1024u;
const self_VARIANTS      = 1u;
const self_SCALE_THREADS = 2u;
const self_VARIANCES     = 2.0;
const self_LARGEST_SCALE = 15.0;
const self_UNIT          = 0.125;
const self_TOP_LEVEL     = 43.0;
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/search_grid.wgsl" as self

fn self_level(entry: u32, half: u32) -> vec4<f32> {
    return grid_iq2_s(entry, half);
}

fn self_encode(block: u32, d: u32) {
    var words: array<u32, self_BLOCK_WORDS>;
    self_put(&words, 0u, d);
    for (var g = 0u; g < 32u; g++) {
        let found = self_found[g];
        self_put(&words, 2u + g, found.x & 0xffu);
        self_put(&words, 34u + g, found.y);
        self_put(&words, 66u + (g >> 2u), (found.x >> 8u) << (2u * (g & 3u)));
        if ((g & 1u) == 0u) {
            self_put(&words, 74u + (g >> 2u), found.z << (2u * (g & 2u)));
        }
    }
    self_store_block(block, &words);
}
#endif
