// 32 values; value = d * (q - 8), q = 0..15.
//
//   byte  0..1   d (f16)
//         2..17  q[j] | q[j + 16] << 4, j = 0..15
#include "codecs/parts/bits.wgsl"
const self_BLOCK_VALUES = 32u;
const self_BLOCK_BYTES  = 18u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at = params.self_offset + block * self_BLOCK_BYTES;
    let d  = self_f16(at);
    let v  = nibbles_of(self_u32(at + 2u + 4u * (q & 3u)) >> (q & 4u));
    return d * (vec4<f32>(v) - 8.0);
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}

#if self_PACKED
#define self_SCALES 2
#define self_OFFSETS 1
#define self_UNIT_WORDS 9
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self

fn self_packed_prepare(local_index: u32, threads: u32) {}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let w      = self_unit_words(self_block_at(row_at, unit));
    let first  = shifted_words(vec4<u32>(w[0], w[1], w[2], w[3]), w[4], 16u);
    let second = vec4<u32>(w[5], w[6], w[7], w[8]);
    let d      = vec4<f32>(unpack2x16float(w[0]).x, unpack2x16float(w[4]).y, 0.0, 0.0);
    return packed_values(low_nibbles(first), high_nibbles(first), low_nibbles(second), high_nibbles(second), d, -8.0 * d);
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/exact.wgsl"

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    let d  = self_peak(v, 0u, 32u) / -8.0;
    let id = inverse_or_zero(d);
    self_put(&words, 0u, f16_bits(d));
    for (var i = 0u; i < 16u; i++) {
        let low  = min(15u, u32(rounded((*v)[i] * id) + 8.5));
        let high = min(15u, u32(rounded((*v)[i + 16u] * id) + 8.5));
        self_put(&words, 2u + i, low | (high << 4u));
    }
    self_store_block(block, &words);
}
#endif
