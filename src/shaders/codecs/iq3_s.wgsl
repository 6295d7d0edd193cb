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

#if self_PACKED
#define self_SCALES 2
#define self_OFFSETS 0
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self

fn self_packed_prepare(local_index: u32, threads: u32) {
    grid_iq3_s_bytes_prepare(local_index, threads);
}

// Sixteen values from four bytes of index, four bits above them, and 16 bits of signs.
fn self_sixteen_values(low: u32, high: u32, signs: u32) -> vec4<u32> {
    return vec4<u32>(negated_bytes(grid_iq3_s_bytes((low & 0xffu) | ((high & 1u) << 8u)), signs),
                     negated_bytes(grid_iq3_s_bytes(((low >> 8u) & 0xffu) | ((high & 2u) << 7u)), signs >> 4u),
                     negated_bytes(grid_iq3_s_bytes(((low >> 16u) & 0xffu) | ((high & 4u) << 6u)), signs >> 8u),
                     negated_bytes(grid_iq3_s_bytes((low >> 24u) | ((high & 8u) << 5u)), signs >> 12u));
}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at    = self_block_at(row_at, unit >> 2u);
    let j     = unit & 3u;
    let w     = self_sixteen(at, 2u, j);
    let high  = self_u16(self_bytes(at) + 66u + 2u * j);
    let signs = self_eight(at, 74u, j);
    let s     = self_u8(self_bytes(at) + 106u + j);
    let scale = self_half(at, 0u) * vec2<f32>(1u + 2u * vec2<u32>(s & 15u, s >> 4u));
    return packed_values(self_sixteen_values(w.x, high, signs.x), self_sixteen_values(w.y, high >> 4u, signs.x >> 16u),
                         self_sixteen_values(w.z, high >> 8u, signs.y), self_sixteen_values(w.w, high >> 12u, signs.y >> 16u),
                         scale.xyxy, vec4<f32>());
}
#endif

#if self_ENCODE
#define self_ENTRY_VALUES 4
#define self_SIGNS 1
const self_ENTRIES       = 512u;
const self_VARIANTS      = 1u;
const self_SCALE_THREADS = 4u;
const self_VARIANCES     = 2.0;
const self_LARGEST_SCALE = 15.0;
const self_UNIT          = 1.0;
const self_TOP_LEVEL     = 15.0;
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/search_grid.wgsl" as self

fn self_level(entry: u32, half: u32) -> vec4<f32> {
    return grid_iq3_s(entry);
}

fn self_encode(block: u32, d: u32) {
    var words: array<u32, self_BLOCK_WORDS>;
    self_put(&words, 0u, d);
    for (var g = 0u; g < 32u; g++) {
        let found = self_found[g];
        let high  = ((found.x >> 8u) & 1u) | ((found.x >> 23u) & 2u);
        self_put(&words, 2u + 2u * g, (found.x & 0xffu) | ((found.x >> 8u) & 0xff00u));
        self_put(&words, 66u + (g >> 2u), high << (2u * (g & 3u)));
        self_put(&words, 74u + g, found.y);
        if ((g & 3u) == 0u) {
            self_put(&words, 106u + (g >> 3u), found.z << (g & 4u));
        }
    }
    self_store_block(block, &words);
}
#endif
