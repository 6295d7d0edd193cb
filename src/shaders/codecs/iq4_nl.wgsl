// 32 values; value = d * level[q], q = 0..15, with the uneven levels of parts/levels_iq4.wgsl.
//
//   byte  0..1   d (f16)
//         2..17  q[j] | q[j + 16] << 4, j = 0..15
#include "codecs/parts/bits.wgsl"
#include "codecs/parts/levels_iq4.wgsl"
const self_BLOCK_VALUES = 32u;
const self_BLOCK_BYTES  = 18u;

fn self_prepare(local_index: u32, threads: u32) {
    levels_iq4_prepare(local_index, threads);
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at = params.self_offset + block * self_BLOCK_BYTES;
    let d  = self_f16(at);
    let v  = nibbles_of(self_u32(at + 2u + 4u * (q & 3u)) >> (q & 4u));
    return d * levels_iq4(v);
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/exact.wgsl"
#include "codecs/parts/levels_iq4_encode.wgsl"

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    let peak   = self_peak(v, 0u, 32u);
    let id     = quotient(1.0, quotient(peak, -127.0));
    var sum_xq = 0.0;
    var sum_q2 = 0.0;
    if (abs(peak) >= 1e-15) {
        for (var i = 0u; i < 32u; i++) {
            let x     = (*v)[i];
            let index = nearest_level_iq4(rounded(id * x));
            let q     = level_iq4(index);
            let wq    = rounded(rounded(x * x) * q);
            sum_xq += rounded(wq * x);
            sum_q2 += rounded(wq * q);
            self_put(&words, 2u + (i & 15u), index << (4u * (i >> 4u)));
        }
    }
    self_put(&words, 0u, f16_bits(select(0.0, quotient(sum_xq, sum_q2), sum_q2 > 0.0)));
    self_store_block(block, &words);
}
#endif
