// 128 values; value = d where its bit is set, else -d.
//
//   byte  0..1   d (f16)
//         2..17  value i in bit i
#include "codecs/parts/bits.wgsl"
const self_BLOCK_VALUES = 128u;
const self_BLOCK_BYTES  = 18u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at   = params.self_offset + block * self_BLOCK_BYTES;
    let d    = self_f16(at);
    let bits = self_u8(at + 2u + (q >> 1u)) >> (4u * (q & 1u));
    return select(vec4<f32>(-d), vec4<f32>(d), flags_of(bits) != vec4<u32>(0u));
}

fn self_value(block: u32, i: u32) -> f32 {
    return self_quad(block, i >> 2u)[i & 3u];
}

#if self_PACKED
#define self_SCALES 2
#define self_OFFSETS 1
#include "codecs/parts/packed.wgsl"
#include "codecs/parts/windows.wgsl" as self

fn self_packed_prepare(local_index: u32, threads: u32) {}

fn self_sixteen_bits(bits: u32) -> vec4<u32> {
    return bits_to_bytes(vec4<u32>(bits) >> vec4<u32>(0u, 4u, 8u, 12u));
}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at = self_block_at(row_at, unit >> 1u);
    let w  = self_eight(at, 2u, unit & 1u);
    let d  = vec4<f32>(self_half(at, 0u));
    return packed_values(self_sixteen_bits(w.x), self_sixteen_bits(w.x >> 16u), self_sixteen_bits(w.y), self_sixteen_bits(w.y >> 16u),
                         2.0 * d, -d);
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    var sum = 0.0;
    for (var i = 0u; i < 128u; i++) {
        sum += abs((*v)[i]);
        if ((*v)[i] >= 0.0) {
            self_put(&words, 2u + (i >> 3u), 1u << (i & 7u));
        }
    }
    self_put(&words, 0u, f16_bits(sum / 128.0));
    self_store_block(block, &words);
}
#endif
