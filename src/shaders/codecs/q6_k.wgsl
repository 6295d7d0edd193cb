// 256 values; value = d * s * (q - 32), q = 0..63, with an 8-bit scale s for each 16 values.
//
//   byte  0..127    two halves of 128 values, low 4 bits: q[j] | q[j + 64] << 4, j = 0..63
//         128..191  two halves, high 2 bits: q[j] | q[j + 32] << 2 | q[j + 64] << 4 | q[j + 96] << 6, j = 0..31
//         192..207  s[k] (i8), k = 0..15
//         208..209  d (f16)
#include "codecs/parts/bits.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 210u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at   = params.self_offset + block * self_BLOCK_BYTES;
    let d    = self_f16(at + 208u);
    let half = q >> 5u;
    let run  = (q >> 3u) & 3u;
    let j    = 4u * (q & 7u);
    let s    = extractBits(bitcast<i32>(self_u8(at + 192u + (q >> 2u))), 0u, 8u);
    let low  = nibbles_of(self_u32(at + 64u * half + 32u * (run & 1u) + j) >> (2u * (run & 2u)));
    let high = pairs_of(self_u32(at + 128u + 32u * half + j) >> (2u * run));
    return (d * f32(s)) * (vec4<f32>(low | (high << vec4<u32>(4u))) - 32.0);
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

// SPREAD
fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at    = self_block_at(row_at, unit >> 2u);
    let odd   = unit & 1u;
    let half  = (unit >> 1u) & 1u;
    let even  = self_sixteen(at, 0u, 4u * half + odd);
    let later = self_sixteen(at, 32u, 4u * half + odd);
    let high  = self_sixteen(at, 128u, unit & 3u);
    let s     = bitcast<vec2<i32>>(self_eight(at, 192u, half) >> vec2<u32>(8u * odd));
    let scale = self_half(at, 208u) * vec4<f32>(f32(extractBits(s.x, 0u, 8u)), f32(extractBits(s.x, 16u, 8u)),
                                                f32(extractBits(s.y, 0u, 8u)), f32(extractBits(s.y, 16u, 8u)));
    return packed_values(low_nibbles(even) | ((high & vec4<u32>(0x03030303u)) << vec4<u32>(4u)),
                         low_nibbles(later) | ((high & vec4<u32>(0x0c0c0c0cu)) << vec4<u32>(2u)),
                         high_nibbles(even) | (high & vec4<u32>(0x30303030u)),
                         high_nibbles(later) | ((high & vec4<u32>(0xc0c0c0c0u)) >> vec4<u32>(2u)), scale, -32.0 * scale);
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/exact.wgsl"

// (sum of w x q, sum of w q^2) with w = x^2 for q = x * iscale.
fn self_fit(v: ptr<function, array<f32, self_BLOCK_VALUES>>, start: u32, iscale: f32) -> vec2<f32> {
    var sums = vec2<f32>(0.0);
    for (var i = start; i < start + 16u; i++) {
        let x = (*v)[i];
        let q = clamp(round(iscale * x), -32.0, 31.0);
        let w = rounded(x * x);
        sums += vec2<f32>(rounded(rounded(w * x) * q), rounded(rounded(w * q) * q));
    }
    return sums;
}

// Scale of 16 values: the best of 19 around the one that the peak suggests (make_qx_quants of ggml-quants.c).
fn self_find_scale(v: ptr<function, array<f32, self_BLOCK_VALUES>>, start: u32) -> f32 {
    let peak = self_peak(v, start, 16u);
    if (abs(peak) < 1e-15) {
        return 0.0;
    }
    let first = self_fit(v, start, quotient(-32.0, peak));
    var scale = select(quotient(first.x, first.y), 0.0, first.y == 0.0);
    var best  = scale * first.x;
    for (var attempt = -9; attempt <= 9; attempt++) {
        let sums = self_fit(v, start, quotient(-(32.0 + rounded(0.1 * f32(attempt))), peak));
        if (attempt != 0 && sums.y > 0.0 && sums.x * sums.x > best * sums.y) {
            scale = quotient(sums.x, sums.y);
            best  = scale * sums.x;
        }
    }
    return scale;
}

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    var found: array<f32, 16>;
    var most = 0.0;
    for (var j = 0u; j < 16u; j++) {
        found[j] = self_find_scale(v, 16u * j);
        most     = select(most, found[j], abs(found[j]) > abs(most));
    }
    let inverse = select(quotient(-128.0, most), 0.0, abs(most) < 1e-15);
    let d_bits  = f16_bits(inverse_or_zero(inverse));
    let d       = unpack2x16float(d_bits).x;
    self_put(&words, 208u, d_bits);
    for (var j = 0u; j < 16u; j++) {
        let s     = min(127, nearest_int(inverse * found[j]));
        let scale = d * f32(s);
        self_put(&words, 192u + j, bitcast<u32>(s) & 0xffu);
        if (scale == 0.0) {
            continue;
        }
        for (var i = 16u * j; i < 16u * j + 16u; i++) {
            let q    = u32(clamp(round(quotient((*v)[i], scale)), -32.0, 31.0) + 32.0);
            let half = i >> 7u;
            let run  = (i >> 5u) & 3u;
            self_put(&words, 64u * half + 32u * (run & 1u) + (i & 31u), (q & 15u) << (2u * (run & 2u)));
            self_put(&words, 128u + 32u * half + (i & 31u), (q >> 4u) << (2u * run));
        }
    }
    self_store_block(block, &words);
}
#endif
