// 32 values; value = d * q, q = -128..127.
//
//   byte  0..1   d (f16)
//         2..33  q[j] (i8), j = 0..31
#include "codecs/parts/bits.wgsl"
const self_BLOCK_VALUES = 32u;
const self_BLOCK_BYTES  = 34u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at = params.self_offset + block * self_BLOCK_BYTES;
    let d  = self_f16(at);
    return d * vec4<f32>(signed_bytes_of(self_u32(at + 2u + 4u * q)));
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}

#if self_PACKED
#define self_SCALES 2
#define self_OFFSETS 0
#define self_UNIT_WORDS 17
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self

fn self_packed_prepare(local_index: u32, threads: u32) {}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let w = self_unit_words(self_block_at(row_at, unit));
    let d = vec4<f32>(unpack2x16float(w[0]).x, unpack2x16float(w[8]).y, 0.0, 0.0);
    return packed_values(shifted_words(vec4<u32>(w[0], w[1], w[2], w[3]), w[4], 16u),
                         shifted_words(vec4<u32>(w[4], w[5], w[6], w[7]), w[8], 16u),
                         vec4<u32>(w[9], w[10], w[11], w[12]), vec4<u32>(w[13], w[14], w[15], w[16]), d, vec4<f32>());
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/exact.wgsl"

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    // As ggml's CPU backend, whose SIMD code takes 127 / peak and rounds to even where ggml-quants.c takes 1 / d and rounds away.
    let peak = abs(self_peak(v, 0u, 32u));
    let id   = select(quotient(127.0, peak), 0.0, peak == 0.0);
    self_put(&words, 0u, f16_bits(quotient(peak, 127.0)));
    for (var i = 0u; i < 32u; i++) {
        self_put(&words, 2u + i, bitcast<u32>(i32(round(rounded((*v)[i] * id)))) & 0xffu);
    }
    self_store_block(block, &words);
}
#endif
