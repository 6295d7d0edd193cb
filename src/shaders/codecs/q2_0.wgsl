// 64 values; value = d * (q - 1), q = 0..3.
//
//   byte  0..1   d (f16)
//         2..17  q[4j] | q[4j + 1] << 2 | q[4j + 2] << 4 | q[4j + 3] << 6, j = 0..15
const self_BLOCK_VALUES = 64u;
const self_BLOCK_BYTES  = 18u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at = params.self_offset + block * self_BLOCK_BYTES;
    let d  = self_f16(at);
    let v  = (vec4<u32>(self_u8(at + 2u + q)) >> vec4<u32>(0u, 2u, 4u, 6u)) & vec4<u32>(3u);
    return d * (vec4<f32>(v) - 1.0);
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}

#if self_PACKED
#define self_SCALES 2
#define self_OFFSETS 1
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self

fn self_packed_prepare(local_index: u32, threads: u32) {}

fn self_four_bytes(word: u32) -> vec4<u32> {
    return vec4<u32>(pairs_to_bytes(word & 0xffu), pairs_to_bytes((word >> 8u) & 0xffu),
                     pairs_to_bytes((word >> 16u) & 0xffu), pairs_to_bytes(word >> 24u));
}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at = self_block_at(row_at, unit);
    let w  = self_sixteen(at, 2u, 0u);
    let d  = vec4<f32>(self_half(at, 0u));
    return packed_values(self_four_bytes(w.x), self_four_bytes(w.y), self_four_bytes(w.z), self_four_bytes(w.w), d, -d);
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/exact.wgsl"

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    let d  = abs(self_peak(v, 0u, 64u));
    let id = inverse_or_zero(d);
    self_put(&words, 0u, f16_bits(d));
    for (var i = 0u; i < 64u; i++) {
        let q = u32(clamp(round_away(rounded((*v)[i] * id)) + 1.0, 0.0, 3.0));
        self_put(&words, 2u + (i >> 2u), q << (2u * (i & 3u)));
    }
    self_store_block(block, &words);
}
#endif
