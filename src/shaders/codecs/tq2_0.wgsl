// 256 values; value = d * (q - 1), q = 0..2.
//
//   byte  0..63   two halves of 128 values: q[j] | q[j + 32] << 2 | q[j + 64] << 4 | q[j + 96] << 6, j = 0..31
//         64..65  d (f16)
#include "codecs/parts/bits.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 66u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at = params.self_offset + block * self_BLOCK_BYTES;
    let d  = self_f16(at + 64u);
    let v  = pairs_of(self_u32(at + 32u * (q >> 5u) + 4u * (q & 7u)) >> (2u * ((q >> 3u) & 3u)));
    return d * (vec4<f32>(v) - 1.0);
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}

#if self_PACKED
#define self_SCALES 4
#define self_OFFSETS 1
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self

fn self_packed_prepare(local_index: u32, threads: u32) {}

fn self_run(words: vec4<u32>, run: u32) -> vec4<u32> {
    return (words >> vec4<u32>(2u * run)) & vec4<u32>(0x03030303u);
}

// SPREAD
fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at = self_block_at(row_at, unit >> 2u);
    let w  = self_sixteen(at, 0u, unit & 3u);
    let d  = vec4<f32>(self_half(at, 64u));
    return packed_values(self_run(w, 0u), self_run(w, 1u), self_run(w, 2u), self_run(w, 3u), d, -d);
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/exact.wgsl"
#include "codecs/parts/runs.wgsl"

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    let d  = abs(self_peak(v, 0u, 256u));
    let id = inverse_or_zero(d);
    for (var i = 0u; i < 256u; i++) {
        self_put(&words, run_byte(i), u32(round_away(rounded((*v)[i] * id)) + 1.0) << run_shift(i));
    }
    self_put(&words, 64u, f16_bits(d));
    self_store_block(block, &words);
}
#endif
