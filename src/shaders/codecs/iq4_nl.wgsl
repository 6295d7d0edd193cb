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

#if self_PACKED
#define self_SCALES 2
#define self_OFFSETS 0
#define self_UNIT_WORDS 9
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self
#include "codecs/parts/byte_levels.wgsl"

fn self_packed_prepare(local_index: u32, threads: u32) {
    for (var i = local_index; i < 16u; i += threads) {
        set_byte_level(i, level_iq4(i));
    }
    workgroupBarrier();
}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let w      = self_unit_words(self_block_at(row_at, unit));
    let first  = shifted_words(vec4<u32>(w[0], w[1], w[2], w[3]), w[4], 16u);
    let second = vec4<u32>(w[5], w[6], w[7], w[8]);
    let d      = vec4<f32>(unpack2x16float(w[0]).x, unpack2x16float(w[4]).y, 0.0, 0.0);
    return packed_values(byte_levels(first), byte_levels(first >> vec4<u32>(4u)),
                         byte_levels(second), byte_levels(second >> vec4<u32>(4u)), d, vec4<f32>());
}
#endif

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
