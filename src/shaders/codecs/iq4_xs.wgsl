// 256 values; value = d * (s - 32) * level[q], q = 0..15, with the uneven levels of parts/levels_iq4.wgsl and a 6-bit scale s
// for each 32 values.
//
//   byte  0..1    d (f16)
//         2..3    high 2 bits of s[k] << 2k, k = 0..7
//         4..7    low 4 bits: s[2k] | s[2k + 1] << 4, k = 0..3
//         8..135  for each 32 values: q[j] | q[j + 16] << 4, j = 0..15
#include "codecs/parts/bits.wgsl"
#include "codecs/parts/levels_iq4.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 136u;

fn self_prepare(local_index: u32, threads: u32) {
    levels_iq4_prepare(local_index, threads);
}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at    = params.self_offset + block * self_BLOCK_BYTES;
    let group = q >> 3u;
    let head  = self_u32(at);
    let s_low = (self_u32(at + 4u) >> (4u * group)) & 15u;
    let s_top = (head >> (16u + 2u * group)) & 3u;
    let scale = unpack2x16float(head).x * (f32(s_low | (s_top << 4u)) - 32.0);
    let v     = nibbles_of(self_u32(at + 8u + 16u * group + 4u * (q & 3u)) >> (q & 4u));
    return scale * levels_iq4(v);
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}

#if self_PACKED
#define self_SCALES 2
#define self_OFFSETS 0
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
    let at     = self_block_at(row_at, unit >> 2u);
    let j      = unit & 3u;
    let head   = self_eight(at, 0u, 0u);
    let first  = self_sixteen(at, 8u, 2u * j);
    let second = self_sixteen(at, 24u, 2u * j);
    let low    = head.y >> (8u * j);
    let top    = head.x >> (16u + 4u * j);
    let s      = vec2<u32>((low & 15u) | ((top & 3u) << 4u), ((low >> 4u) & 15u) | ((top & 12u) << 2u));
    let scale  = unpack2x16float(head.x).x * (vec2<f32>(s) - 32.0);
    return packed_values(byte_levels(first), byte_levels(first >> vec4<u32>(4u)),
                         byte_levels(second), byte_levels(second >> vec4<u32>(4u)), scale.xyxy, vec4<f32>());
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/exact.wgsl"
#include "codecs/parts/levels_iq4_encode.wgsl"

// (sum of w x q, sum of w q^2) with w = x^2 for the levels q closest to id * x.
fn self_fit(v: ptr<function, array<f32, self_BLOCK_VALUES>>, start: u32, id: f32) -> vec2<f32> {
    var sums = vec2<f32>(0.0);
    for (var i = start; i < start + 32u; i++) {
        let x = (*v)[i];
        let q = level_iq4(nearest_level_iq4(rounded(id * x)));
        let w = rounded(x * x);
        sums += vec2<f32>(rounded(rounded(w * q) * x), rounded(rounded(w * q) * q));
    }
    return sums;
}

// Scale of 32 values: the best of those that put the peak within 7 of the lowest level.
fn self_find_scale(v: ptr<function, array<f32, self_BLOCK_VALUES>>, start: u32) -> f32 {
    let peak = self_peak(v, start, 32u);
    if (abs(peak) < 1e-15) {
        return 0.0;
    }
    let first = self_fit(v, start, quotient(1.0, quotient(peak, 127.0)));
    var scale = select(0.0, quotient(first.x, first.y), first.y > 0.0);
    var best  = scale * first.x;
    for (var attempt = -7; attempt <= 7; attempt++) {
        let sums = self_fit(v, start, quotient(f32(attempt) - 127.0, peak));
        if (sums.y > 0.0 && sums.x * sums.x > best * sums.y) {
            scale = quotient(sums.x, sums.y);
            best  = scale * sums.x;
        }
    }
    return scale;
}

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    var found: array<f32, 8>;
    var most = 0.0;
    for (var j = 0u; j < 8u; j++) {
        found[j] = self_find_scale(v, 32u * j);
        most     = select(most, found[j], abs(found[j]) > abs(most));
    }
    let d  = -most / 32.0;
    let id = inverse_or_zero(d);
    self_put(&words, 0u, f16_bits(d));
    for (var j = 0u; j < 8u; j++) {
        let s    = clamp(nearest_int(id * found[j]), -32, 31);
        let bits = bitcast<u32>(s + 32);
        let idl  = inverse_or_zero(d * f32(s));
        self_put(&words, 2u, (bits >> 4u) << (2u * j));
        self_put(&words, 4u + (j >> 1u), (bits & 15u) << (4u * (j & 1u)));
        for (var i = 0u; i < 32u; i++) {
            let index = nearest_level_iq4(rounded(idl * (*v)[32u * j + i]));
            self_put(&words, 8u + 16u * j + (i & 15u), index << (4u * (i >> 4u)));
        }
    }
    self_store_block(block, &words);
}
#endif
