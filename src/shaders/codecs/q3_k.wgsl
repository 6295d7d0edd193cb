// 256 values; value = d * (s - 32) * (q - 4), q = 0..7, with a 6-bit scale s for each 16 values.
//
//   byte  0..31     bit 2 of q[j + 32n] in bit n, j = 0..31, n = 0..7
//         32..95    two halves of 128 values, low bits: q[j] | q[j + 32] << 2 | q[j + 64] << 4 | q[j + 96] << 6, j = 0..31
//         96..103   low 4 bits: s[k] | s[k + 8] << 4, k = 0..7
//         104..107  high 2 bits: s[k] | s[k + 4] << 2 | s[k + 8] << 4 | s[k + 12] << 6, k = 0..3
//         108..109  d (f16)
#include "codecs/parts/bits.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 110u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at    = params.self_offset + block * self_BLOCK_BYTES;
    let d     = self_f16(at + 108u);
    let s     = q >> 2u;
    let s_low = (self_u8(at + 96u + (s & 7u)) >> ((s & 8u) >> 1u)) & 15u;
    let s_top = (self_u8(at + 104u + (s & 3u)) >> (2u * (s >> 2u))) & 3u;
    let low   = pairs_of(self_u32(at + 32u + 32u * (q >> 5u) + 4u * (q & 7u)) >> (2u * ((q >> 3u) & 3u)));
    let high  = byte_flags_of(self_u32(at + 4u * (q & 7u)) >> (q >> 3u));
    return (d * (f32(s_low | (s_top << 4u)) - 32.0)) * (vec4<f32>(low | (high << vec4<u32>(2u))) - 4.0);
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

// Run `run` of a half: two low bits of each quant, and the third from `high`, whose bit 0 belongs to run 0.
fn self_run(low: vec4<u32>, high: vec4<u32>, run: u32) -> vec4<u32> {
    return ((low >> vec4<u32>(2u * run)) & vec4<u32>(0x03030303u)) | (((high >> vec4<u32>(run)) & vec4<u32>(0x01010101u)) << vec4<u32>(2u));
}

// SPREAD
fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at     = self_block_at(row_at, unit >> 2u);
    let odd    = unit & 1u;
    let half   = (unit >> 1u) & 1u;
    let low    = self_sixteen(at, 32u, unit & 3u);
    let high   = self_sixteen(at, 0u, odd) >> vec4<u32>(4u * half);
    let tail   = self_sixteen(at, 96u, 0u);
    let d      = unpack2x16float(tail.w).x;
    let top    = vec2<u32>(tail.z) >> vec2<u32>(4u * half, 4u * half + 2u);
    let s      = ((tail.xy >> vec2<u32>(4u * half)) & vec2<u32>(0x0f0f0f0fu)) | ((top & vec2<u32>(0x03030303u)) << vec2<u32>(4u));
    let pairs  = s >> vec2<u32>(8u * odd);
    let scale  = d * (vec4<f32>(vec4<u32>(pairs.x, pairs.x >> 16u, pairs.y, pairs.y >> 16u) & vec4<u32>(0xffu)) - 32.0);
    return packed_values(self_run(low, high, 0u), self_run(low, high, 1u), self_run(low, high, 2u), self_run(low, high, 3u),
                         scale, -4.0 * scale);
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/exact.wgsl"
#include "codecs/parts/runs.wgsl"

// Scale of 16 values: a first guess from the peak, then single quants are moved while that fits better (make_q3_quants of
// ggml-quants.c, in its order).
fn self_find_scale(v: ptr<function, array<f32, self_BLOCK_VALUES>>, start: u32) -> f32 {
    let peak = self_peak(v, start, 16u);
    if (abs(peak) < 1e-15) {
        return 0.0;
    }
    let iscale = quotient(-4.0, peak);
    var quants: array<f32, 16>;
    var sum_xq = 0.0;
    var sum_q2 = 0.0;
    for (var i = 0u; i < 16u; i++) {
        let x = (*v)[start + i];
        let q = clamp(round(iscale * x), -4.0, 3.0);
        let w = rounded(x * x);
        quants[i] = q;
        sum_xq += rounded(rounded(w * x) * q);
        sum_q2 += rounded(rounded(w * q) * q);
    }
    for (var attempt = 0u; attempt < 5u; attempt++) {
        var changed = false;
        for (var i = 0u; i < 16u; i++) {
            let x        = (*v)[start + i];
            let q        = quants[i];
            let w        = rounded(x * x);
            let other_xq = sum_xq - rounded(rounded(w * x) * q);
            if (!(other_xq > 0.0)) {
                continue;
            }
            let other_q2 = sum_q2 - rounded(rounded(w * q) * q);
            let new_q    = clamp(round(quotient(rounded(x * other_q2), other_xq)), -4.0, 3.0);
            let new_xq   = other_xq + rounded(rounded(w * x) * new_q);
            let new_q2   = other_q2 + rounded(rounded(w * new_q) * new_q);
            if (new_q != q && new_q2 > 0.0 && rounded(new_xq * new_xq) * sum_q2 > rounded(sum_xq * sum_xq) * new_q2) {
                quants[i] = new_q;
                sum_xq    = new_xq;
                sum_q2    = new_q2;
                changed   = true;
            }
        }
        if (!changed) {
            break;
        }
    }
    return select(0.0, quotient(sum_xq, sum_q2), sum_q2 > 0.0);
}

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    var found: array<f32, 16>;
    var most = 0.0;
    for (var j = 0u; j < 16u; j++) {
        found[j] = self_find_scale(v, 16u * j);
        most     = select(most, found[j], abs(found[j]) > abs(most));
    }
    let inverse = select(quotient(-32.0, most), 0.0, most == 0.0);
    let d_bits  = f16_bits(inverse_or_zero(inverse));
    let d       = unpack2x16float(d_bits).x;
    self_put(&words, 108u, d_bits);
    for (var j = 0u; j < 16u; j++) {
        let s = clamp(nearest_int(inverse * found[j]), -32, 31);
        if (most != 0.0) {
            let bits = bitcast<u32>(s + 32);
            self_put(&words, 96u + (j & 7u), (bits & 15u) << ((j & 8u) >> 1u));
            self_put(&words, 104u + (j & 3u), (bits >> 4u) << (2u * (j >> 2u)));
        }
        let scale = d * f32(s);
        if (scale == 0.0) {
            continue;
        }
        for (var i = 16u * j; i < 16u * j + 16u; i++) {
            let q = u32(clamp(round(quotient((*v)[i], scale)), -4.0, 3.0) + 4.0);
            self_put(&words, i & 31u, (q >> 2u) << (i >> 5u));
            self_put(&words, 32u + run_byte(i), (q & 3u) << run_shift(i));
        }
    }
    self_store_block(block, &words);
}
#endif
