// 32 values; value = 2^(e - 128) * q, q = twice a four-bit float.
//
//   byte  0      e (u8)
//         1..16  q[j] | q[j + 16] << 4, j = 0..15
#include "codecs/parts/bits.wgsl"
#include "codecs/parts/e2m1.wgsl"
const self_BLOCK_VALUES = 32u;
const self_BLOCK_BYTES  = 17u;

fn self_prepare(local_index: u32, threads: u32) {}

// 2^(e - 128); the two lowest are subnormal.
fn self_scale(e: u32) -> f32 {
    return bitcast<f32>(select((e - 1u) << 23u, 0x00200000u << e, e < 2u));
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at = params.self_offset + block * self_BLOCK_BYTES;
    let v  = nibbles_of(self_u32(at + 1u + 4u * (q & 3u)) >> (q & 4u));
    return self_scale(self_u8(at)) * e2m1_doubled(v);
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
        set_byte_level(i, e2m1_doubled(vec4<u32>(i)).x);
    }
    workgroupBarrier();
}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let w      = self_unit_words(self_block_at(row_at, unit));
    let first  = shifted_words(vec4<u32>(w[0], w[1], w[2], w[3]), w[4], 8u);
    let second = shifted_words(vec4<u32>(w[4], w[5], w[6], w[7]), w[8], 16u);
    let scale  = vec4<f32>(self_scale(w[0] & 0xffu), self_scale((w[4] >> 8u) & 0xffu), 0.0, 0.0);
    return packed_values(byte_levels(first), byte_levels(first >> vec4<u32>(4u)),
                         byte_levels(second), byte_levels(second >> vec4<u32>(4u)), scale, vec4<f32>());
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/e2m1_encode.wgsl"

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    // The largest magnitude has exponent floor(log2 |x|); 4, the largest power of two below 6, is to meet it.
    let exponent = bitcast<u32>(abs(self_peak(v, 0u, 32u))) >> 23u;
    let e        = max(exponent, 2u) - 2u;
    let d        = self_scale(e);
    self_put(&words, 0u, e);
    for (var i = 0u; i < 16u; i++) {
        self_put(&words, 1u + i, e2m1_nearest((*v)[i], d) | (e2m1_nearest((*v)[i + 16u], d) << 4u));
    }
    self_store_block(block, &words);
}
#endif
