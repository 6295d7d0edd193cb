// 256 values; value = d * s * q - dmin * m, q = 0..15, with a 6-bit scale s and min m for each 32 values.
//
//   byte  0..1     d (f16)
//         2..3     dmin (f16)
//         4..15    scales and mins, see parts/scale_min.wgsl
//         16..143  four runs of 64 values: q[j] | q[j + 32] << 4, j = 0..31
#include "codecs/parts/bits.wgsl"
#include "codecs/parts/scale_min.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 144u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at = params.self_offset + block * self_BLOCK_BYTES;
    let d  = unpack2x16float(self_u32(at));
    let j  = q >> 3u;
    let sm = vec2<f32>(scale_min(self_u32(at + 4u), self_u32(at + 8u), self_u32(at + 12u), j));
    let v  = nibbles_of(self_u32(at + 16u + 32u * (j >> 1u) + 4u * (q & 7u)) >> (4u * (j & 1u)));
    return (d.x * sm.x) * vec4<f32>(v) - d.y * sm.y;
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

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at     = self_block_at(row_at, unit >> 2u);
    let j      = unit & 3u;
    let head   = self_sixteen(at, 0u, 0u);
    let first  = self_sixteen(at, 16u, 2u * j);
    let second = self_sixteen(at, 32u, 2u * j);
    let d      = unpack2x16float(head.x);
    let sm     = scale_min_pair(head.yzw, j);
    return packed_values(low_nibbles(first), low_nibbles(second), high_nibbles(first), high_nibbles(second),
                         d.x * sm.xyxy, -d.y * sm.zwzw);
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/scale_min_encode.wgsl" as self

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    let head = self_encode_scales(v, 15.0, -1.0, 20);
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
            let q = u32(clamp(round(quotient((*v)[32u * j + i] + scale.y, scale.x)), 0.0, 15.0));
            self_put(&words, 16u + 32u * (j >> 1u) + i, q << (4u * (j & 1u)));
        }
    }
    self_store_block(block, &words);
}
#endif
