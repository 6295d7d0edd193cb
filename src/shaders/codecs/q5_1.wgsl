// 32 values; value = d * q + m, q = 0..31.
//
//   byte  0..1   d (f16)
//         2..3   m (f16)
//         4..7   bit 4 of q[i] in bit i
//         8..23  low bits: q[j] | q[j + 16] << 4, j = 0..15
#include "codecs/parts/bits.wgsl"
const self_BLOCK_VALUES = 32u;
const self_BLOCK_BYTES  = 24u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at   = params.self_offset + block * self_BLOCK_BYTES;
    let dm   = unpack2x16float(self_u32(at));
    let low  = nibbles_of(self_u32(at + 8u + 4u * (q & 3u)) >> (q & 4u));
    let high = flags_of(self_u32(at + 4u) >> (4u * q));
    return dm.x * vec4<f32>(low | (high << vec4<u32>(4u))) + dm.y;
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}

#if self_PACKED
#define self_SCALES 2
#define self_OFFSETS 1
#define self_UNIT_WORDS 12
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self

fn self_packed_prepare(local_index: u32, threads: u32) {}

// Bit 4 of sixteen quants, from 16 bits.
fn self_fifth_bits(bits: u32) -> vec4<u32> {
    return bits_to_bytes(vec4<u32>(bits) >> vec4<u32>(0u, 4u, 8u, 12u)) << vec4<u32>(4u);
}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let w      = self_unit_words(self_block_at(row_at, unit));
    let first  = vec4<u32>(w[2], w[3], w[4], w[5]);
    let second = vec4<u32>(w[8], w[9], w[10], w[11]);
    let dm0    = unpack2x16float(w[0]);
    let dm1    = unpack2x16float(w[6]);
    return packed_values(low_nibbles(first) | self_fifth_bits(w[1]), high_nibbles(first) | self_fifth_bits(w[1] >> 16u),
                         low_nibbles(second) | self_fifth_bits(w[7]), high_nibbles(second) | self_fifth_bits(w[7] >> 16u),
                         vec4<f32>(dm0.x, dm1.x, 0.0, 0.0), vec4<f32>(dm0.y, dm1.y, 0.0, 0.0));
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/exact.wgsl"

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    let range = self_range(v, 0u, 32u);
    let d     = quotient(range.y - range.x, 31.0);
    let id    = inverse_or_zero(d);
    self_put(&words, 0u, f16_bits(d) | (f16_bits(range.x) << 16u));
    for (var i = 0u; i < 32u; i++) {
        let q = u32(rounded(((*v)[i] - range.x) * id) + 0.5);
        self_put(&words, 4u + (i >> 3u), (q >> 4u) << (i & 7u));
        self_put(&words, 8u + (i & 15u), (q & 15u) << (4u * (i >> 4u)));
    }
    self_store_block(block, &words);
}
#endif
