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

#if self_PACKED
#define self_SCALES 4
#define self_OFFSETS 0
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self

fn self_packed_prepare(local_index: u32, threads: u32) {
    grid_iq1_prepare(local_index, threads);
}

// Eight times grid value + delta, from the low byte of an index and its nibble: 8 c - 8 + 1 or - 1 with c = grid value + 1.
// The top bit of each byte keeps carries from its neighbour until it is turned.
fn self_eight_values(low: u32, high: u32) -> vec2<u32> {
    let codes = grid_iq1_bytes((low & 0xffu) | ((high & 7u) << 8u));
    let shift = select(0x79797979u, 0x77777777u, (high & 8u) != 0u);
    return (8u * codes + shift) ^ vec2<u32>(0x80808080u);
}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at     = self_block_at(row_at, unit >> 2u);
    let j      = unit & 3u;
    let low    = self_eight(at, 0u, j);
    let high   = self_four(at, 32u, j);
    let tail   = self_eight(at, 48u, 0u);
    let d_bits = ((tail.x >> 12u) & 0xfu) | ((tail.x >> 24u) & 0xf0u) | ((tail.y >> 4u) & 0xf00u) | ((tail.y >> 16u) & 0xf000u);
    let s      = select(tail.x, tail.y, j >= 2u) >> (16u * (j & 1u));
    let scales = (vec4<u32>(s) >> vec4<u32>(0u, 3u, 6u, 9u)) & vec4<u32>(7u);
    return packed_values(vec4<u32>(self_eight_values(low.x, high), self_eight_values(low.x >> 8u, high >> 4u)),
                         vec4<u32>(self_eight_values(low.x >> 16u, high >> 8u), self_eight_values(low.x >> 24u, high >> 12u)),
                         vec4<u32>(self_eight_values(low.y, high >> 16u), self_eight_values(low.y >> 8u, high >> 20u)),
                         vec4<u32>(self_eight_values(low.y >> 16u, high >> 24u), self_eight_values(low.y >> 24u, high >> 28u)),
                         (0.125 * unpack2x16float(d_bits).x) * vec4<f32>(1u + 2u * scales), vec4<f32>());
}
#endif

#if self_ENCODE
#define self_ENTRY_VALUES 8
#define self_SIGNS 0
const self_ENTRIES       = 4096u;
const self_VARIANTS      = 1u;
const self_SCALE_THREADS = 2u;
const self_VARIANCES     = 2.0;
const self_LARGEST_SCALE = 7.0;
const self_UNIT          = 1.0;
const self_TOP_LEVEL     = 1.125;
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/search_grid.wgsl" as self

fn self_level(entry: u32, half: u32) -> vec4<f32> {
    return grid_iq1(entry & 2047u, half) + select(0.125, -0.125, entry >= 2048u);
}

fn self_encode(block: u32, d: u32) {
    var words: array<u32, self_BLOCK_WORDS>;
    for (var g = 0u; g < 32u; g++) {
        let found = self_found[g];
        self_put(&words, g, found.x & 0xffu);
        self_put(&words, 32u + (g >> 1u), (found.x >> 8u) << (4u * (g & 1u)));
        if ((g & 1u) == 0u) {
            self_put(&words, 48u + 2u * (g >> 3u), found.z << (3u * ((g >> 1u) & 3u)));
        }
    }
    for (var k = 0u; k < 4u; k++) {
        self_put(&words, 48u + 2u * k, ((d >> (4u * k)) & 15u) << 12u);
    }
    self_store_block(block, &words);
}
#endif
