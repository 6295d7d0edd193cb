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
