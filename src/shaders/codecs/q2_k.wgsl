// 256 values; value = d * s * q - dmin * m, q = 0..3, with a scale s and a min m for each 16 values.
//
//   byte  0..15   s[k] | m[k] << 4, k = 0..15
//         16..79  two halves of 128 values: q[j] | q[j + 32] << 2 | q[j + 64] << 4 | q[j + 96] << 6, j = 0..31
//         80..81  d (f16)
//         82..83  dmin (f16)
#include "codecs/parts/bits.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 84u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at    = params.self_offset + block * self_BLOCK_BYTES;
    let d     = unpack2x16float(self_u32(at + 80u));
    let scale = self_u8(at + (q >> 2u));
    let v     = pairs_of(self_u32(at + 16u + 32u * (q >> 5u) + 4u * (q & 7u)) >> (2u * ((q >> 3u) & 3u)));
    return (d.x * f32(scale & 15u)) * vec4<f32>(v) - d.y * f32(scale >> 4u);
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
    let at     = self_block_at(row_at, unit >> 2u);
    let half   = (unit >> 1u) & 1u;
    let w      = self_sixteen(at, 16u, unit & 3u);
    let d      = unpack2x16float(self_four(at, 80u, 0u));
    let s      = self_eight(at, 0u, half) >> vec2<u32>(8u * (unit & 1u));
    let scales = vec4<u32>(s.x, s.x >> 16u, s.y, s.y >> 16u);
    return packed_values(self_run(w, 0u), self_run(w, 1u), self_run(w, 2u), self_run(w, 3u),
                         d.x * vec4<f32>(scales & vec4<u32>(15u)), -d.y * vec4<f32>((scales >> vec4<u32>(4u)) & vec4<u32>(15u)));
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/search_scale_min.wgsl" as self
#include "codecs/parts/runs.wgsl"

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    var found: array<vec2<f32>, 16>;
    var most = vec2<f32>(0.0);
    for (var j = 0u; j < 16u; j++) {
        found[j] = self_scale_and_min(v, self_scale_search(16u * j, 16u, 3.0, 0.0, -0.5, 15, true));
        most     = max(most, found[j]);
    }
    let inverse = select(vec2<f32>(quotient(15.0, most.x), quotient(15.0, most.y)), vec2<f32>(0.0), most <= vec2<f32>(0.0));
    let d_bits  = f16_bits(quotient(most.x, 15.0)) | (f16_bits(quotient(most.y, 15.0)) << 16u);
    let d       = unpack2x16float(d_bits);
    self_put(&words, 80u, d_bits);
    for (var j = 0u; j < 16u; j++) {
        let sm    = vec2<u32>(vec2<i32>(round(inverse * found[j]))) & vec2<u32>(15u);
        let scale = d * vec2<f32>(sm);
        self_put(&words, j, sm.x | (sm.y << 4u));
        if (scale.x == 0.0) {
            continue;
        }
        for (var i = 16u * j; i < 16u * j + 16u; i++) {
            let q = u32(clamp(round(quotient((*v)[i] + scale.y, scale.x)), 0.0, 3.0));
            self_put(&words, 16u + run_byte(i), q << run_shift(i));
        }
    }
    self_store_block(block, &words);
}
#endif
