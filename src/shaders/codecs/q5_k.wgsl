// 256 values; value = d * s * q - dmin * m, q = 0..31, with a 6-bit scale s and min m for each 32 values.
//
//   byte  0..1     d (f16)
//         2..3     dmin (f16)
//         4..15    scales and mins, see parts/scale_min.wgsl
//         16..47   bit 4 of q[j + 32n] in bit n, j = 0..31, n = 0..7
//         48..175  four runs of 64 values, low bits: q[j] | q[j + 32] << 4, j = 0..31
#include "codecs/parts/bits.wgsl"
#include "codecs/parts/scale_min.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 176u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at   = params.self_offset + block * self_BLOCK_BYTES;
    let d    = unpack2x16float(self_u32(at));
    let j    = q >> 3u;
    let sm   = vec2<f32>(scale_min(self_u32(at + 4u), self_u32(at + 8u), self_u32(at + 12u), j));
    let low  = nibbles_of(self_u32(at + 48u + 32u * (j >> 1u) + 4u * (q & 7u)) >> (4u * (j & 1u)));
    let high = byte_flags_of(self_u32(at + 16u + 4u * (q & 7u)) >> j);
    return (d.x * sm.x) * vec4<f32>(low | (high << vec4<u32>(4u))) - d.y * sm.y;
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}

#if self_PACKED
#define self_SCALES 2
#define self_OFFSETS 1
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self
#include "codecs/parts/scale_min_pair.wgsl"

fn self_packed_prepare(local_index: u32, threads: u32) {}

// Run j of the eight: low bits and bit 4, which lies at bit j.
fn self_fifth_bits(words: vec4<u32>, j: u32) -> vec4<u32> {
    return ((words >> vec4<u32>(j)) & vec4<u32>(0x01010101u)) << vec4<u32>(4u);
}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at     = self_block_at(row_at, unit >> 2u);
    let j      = unit & 3u;
    let head   = self_sixteen(at, 0u, 0u);
    let high0  = self_sixteen(at, 16u, 0u);
    let high1  = self_sixteen(at, 32u, 0u);
    let first  = self_sixteen(at, 48u, 2u * j);
    let second = self_sixteen(at, 64u, 2u * j);
    let d      = unpack2x16float(head.x);
    let sm     = scale_min_pair(head.yzw, j);
    return packed_values(low_nibbles(first) | self_fifth_bits(high0, 2u * j), low_nibbles(second) | self_fifth_bits(high1, 2u * j),
                         high_nibbles(first) | self_fifth_bits(high0, 2u * j + 1u), high_nibbles(second) | self_fifth_bits(high1, 2u * j + 1u),
                         d.x * sm.xyxy, -d.y * sm.zwzw);
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/scale_min_encode.wgsl" as self

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    let head = self_encode_scales(v, 31.0, -0.5, 15);
    let d    = unpack2x16float(head.x);
    for (var i = 0u; i < 4u; i++) {
        words[i] = head[i];
    }
    for (var j = 0u; j < 8u; j++) {
        let scale = d * vec2<f32>(scale_min(head.y, head.z, head.w, j));
        if (scale.x == 0.0) {
            continue;
        }
        for (var i = 0u; i < 32u; i++) {
            let q = u32(clamp(round(quotient((*v)[32u * j + i] + scale.y, scale.x)), 0.0, 31.0));
            self_put(&words, 16u + i, (q >> 4u) << j);
            self_put(&words, 48u + 32u * (j >> 1u) + i, (q & 15u) << (4u * (j & 1u)));
        }
    }
    self_store_block(block, &words);
}
#endif
