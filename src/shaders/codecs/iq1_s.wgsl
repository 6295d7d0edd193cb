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

#if self_PACKED
#define self_SCALES 2
#define self_OFFSETS 1
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self

fn self_packed_prepare(local_index: u32, threads: u32) {
    grid_iq1_prepare(local_index, threads);
}

// Sixteen codes (grid value + 1) from two bytes of index, twice 3 bits above them.
fn self_sixteen_codes(low: u32, high: u32) -> vec4<u32> {
    return vec4<u32>(grid_iq1_bytes((low & 0xffu) | ((high & 7u) << 8u)), grid_iq1_bytes(((low >> 8u) & 0xffu) | ((high & 0x38u) << 5u)));
}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at     = self_block_at(row_at, unit >> 2u);
    let j      = unit & 3u;
    let low    = self_eight(at, 2u, j);
    let tails  = vec2<u32>(self_u16(self_bytes(at) + 34u + 4u * j), self_u16(self_bytes(at) + 36u + 4u * j));
    let scale  = self_half(at, 0u) * vec2<f32>(1u + 2u * ((tails >> vec2<u32>(12u)) & vec2<u32>(7u)));
    let offset = scale * select(vec2<f32>(-0.875), vec2<f32>(-1.125), (tails & vec2<u32>(0x8000u)) != vec2<u32>(0u));
    return packed_values(self_sixteen_codes(low.x, tails.x), self_sixteen_codes(low.x >> 16u, tails.x >> 6u),
                         self_sixteen_codes(low.y, tails.y), self_sixteen_codes(low.y >> 16u, tails.y >> 6u), scale.xyxy, offset.xyxy);
}
#endif

#if self_ENCODE
#define self_ENTRY_VALUES 8
#define self_SIGNS 0
const self_ENTRIES       = 2048u;
const self_VARIANTS      = 2u;
const self_SCALE_THREADS = 4u;
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
    self_put(&words, 0u, d);
    for (var g = 0u; g < 32u; g++) {
        let found = self_found[g];
        let tail  = 34u + 2u * (g >> 2u);
        self_put(&words, 2u + g, found.x & 0xffu);
        self_put(&words, tail, ((found.x >> 8u) & 7u) << (3u * (g & 3u)));
        if ((g & 3u) == 0u) {
            self_put(&words, tail, (found.z << 12u) | ((found.x >> 11u) << 15u));
        }
    }
    self_store_block(block, &words);
}
#endif
