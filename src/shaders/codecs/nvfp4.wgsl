// 64 values; value = s / 2 * q, q = twice a four-bit float, with a scale s for each 16 values.
//
//   byte  0..3   s[k] (unsigned e4m3), k = 0..3
//         4..35  q[16k + j] | q[16k + j + 8] << 4, j = 0..7, k = 0..3
#include "codecs/parts/bits.wgsl"
#include "codecs/parts/e2m1.wgsl"
const self_BLOCK_VALUES = 64u;
const self_BLOCK_BYTES  = 36u;

fn self_prepare(local_index: u32, threads: u32) {}

// Half of an unsigned e4m3 number: exponent bias 7, 0x7f counts as zero, the sign bit is not looked at.
fn self_half_scale(bits: u32) -> f32 {
    let mantissa = bits & 7u;
    let exponent = (bits >> 3u) & 15u;
    let normal   = bitcast<f32>(((exponent + 119u) << 23u) | (mantissa << 20u));
    let value    = select(normal, f32(mantissa) * 0.0009765625, exponent == 0u);
    return select(value, 0.0, bits == 0x7fu);
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at = params.self_offset + block * self_BLOCK_BYTES;
    let s  = q >> 2u;
    let v  = nibbles_of(self_u32(at + 4u + 8u * s + 4u * (q & 1u)) >> (2u * (q & 2u)));
    return self_half_scale(self_u8(at + s)) * e2m1_doubled(v);
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}

#if self_PACKED
#define self_SCALES 4
#define self_OFFSETS 0
#define self_UNIT_WORDS 9
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self
#include "codecs/parts/byte_levels.wgsl"

fn self_packed_prepare(local_index: u32, threads: u32) {
    for (var i = local_index; i < 16u; i += threads) {
        set_byte_level(i, e2m1_doubled(vec4<u32>(i)).x);
    }
    workgroupBarrier();
}

// Values 0..7 of 16 are low nibbles, 8..15 the high nibbles of the same eight bytes.
fn self_sixteen_levels(words: vec2<u32>) -> vec4<u32> {
    return byte_levels(vec4<u32>(words, words >> vec2<u32>(4u)));
}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let w     = self_unit_words(self_block_at(row_at, unit));
    let scale = vec4<f32>(self_half_scale(w[0] & 0xffu), self_half_scale((w[0] >> 8u) & 0xffu),
                          self_half_scale((w[0] >> 16u) & 0xffu), self_half_scale(w[0] >> 24u));
    return packed_values(self_sixteen_levels(vec2<u32>(w[1], w[2])), self_sixteen_levels(vec2<u32>(w[3], w[4])),
                         self_sixteen_levels(vec2<u32>(w[5], w[6])), self_sixteen_levels(vec2<u32>(w[7], w[8])), scale, vec4<f32>());
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/exact.wgsl"
#include "codecs/parts/e2m1_encode.wgsl"

// Unsigned e4m3 bits of x, ties up; as in ggml all from 256 on become the largest, 448.
fn self_scale_bits(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if (x <= 0.0) {
        return 0u;
    }
    if (bits < 0x3c800000u) { // below 2^-6: steps of 2^-9
        return min(7u, u32(x * 512.0 + 0.5));
    }
    let rounded_bits = (bits - 0x3c000000u + 0x80000u) >> 20u;
    return select(rounded_bits, 0x7eu, rounded_bits >= 0x78u);
}

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    for (var s = 0u; s < 4u; s++) {
        let scale = self_scale_bits(quotient(abs(self_peak(v, 16u * s, 16u)), 6.0));
        let d     = self_half_scale(scale);
        self_put(&words, s, scale);
        for (var i = 0u; i < 16u; i++) {
            let q = e2m1_nearest((*v)[16u * s + i], d);
            self_put(&words, 4u + 8u * s + (i & 7u), q << (4u * (i >> 3u)));
        }
    }
    self_store_block(block, &words);
}
#endif
