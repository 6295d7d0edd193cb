// 256 values; value = d * (t - 1), t = 0..2. A byte holds five trits as a fraction of 243 scaled to 256: the top one is
// (byte * 3) >> 8, and multiplying the byte by 3 (mod 256) brings up the next.
//
//   byte  0..31   t[j + 32n], byte j = 0..31, trit n = 0..4
//         32..47  t[160 + j + 16n], byte j = 0..15, trit n = 0..4
//         48..51  t[240 + j + 4n], byte j = 0..3, trit n = 0..3
//         52..53  d (f16)
#include "codecs/parts/bits.wgsl"
const self_BLOCK_VALUES = 256u;
const self_BLOCK_BYTES  = 54u;

fn self_prepare(local_index: u32, threads: u32) {}

fn self_quad(block: u32, q: u32) -> vec4<f32> {
    let at    = params.self_offset + block * self_BLOCK_BYTES;
    let d     = self_f16(at + 52u);
    var trit: u32;
    var byte: u32;
    if (q < 40u) {
        trit = q >> 3u;
        byte = 4u * (q & 7u);
    } else if (q < 60u) {
        trit = (q - 40u) >> 2u;
        byte = 32u + 4u * (q & 3u);
    } else {
        trit = q - 60u;
        byte = 48u;
    }
    let power = select((0x1b090301u >> (8u * (trit & 3u))) & 0xffu, 81u, trit == 4u);
    let t     = (bytes_of(self_u32(at + byte)) * power) & vec4<u32>(0xffu);
    return d * (vec4<f32>((t * 3u) >> vec4<u32>(8u)) - 1.0);
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

// Four values from quad `q` of the block: a trit of four neighbouring bytes.
fn self_four_trits(at: u32, q: u32) -> u32 {
    var trit = q >> 3u;
    var byte = 4u * (q & 7u);
    if (q >= 60u) {
        trit = q - 60u;
        byte = 48u;
    } else if (q >= 40u) {
        trit = (q - 40u) >> 2u;
        byte = 32u + 4u * (q & 3u);
    }
    let power = select((0x1b090301u >> (8u * (trit & 3u))) & 0xffu, 81u, trit == 4u);
    let bytes = self_four(at, 0u, byte >> 2u);
    // Even and odd bytes apart, so that the products have room.
    let even = (((bytes & 0x00ff00ffu) * power) & 0x00ff00ffu) * 3u;
    let odd  = ((((bytes >> 8u) & 0x00ff00ffu) * power) & 0x00ff00ffu) * 3u;
    return ((even >> 8u) & 0x00030003u) | (odd & 0x03000300u);
}

fn self_sixteen_trits(at: u32, q: u32) -> vec4<u32> {
    return vec4<u32>(self_four_trits(at, q), self_four_trits(at, q + 1u), self_four_trits(at, q + 2u), self_four_trits(at, q + 3u));
}

fn self_packed(row_at: u32, unit: u32) -> packed_values {
    let at = self_block_at(row_at, unit >> 2u);
    let q  = 16u * (unit & 3u);
    let d  = vec4<f32>(self_half(at, 52u));
    return packed_values(self_sixteen_trits(at, q), self_sixteen_trits(at, q + 4u), self_sixteen_trits(at, q + 8u), self_sixteen_trits(at, q + 12u),
                         d, -d);
}
#endif

#if self_ENCODE
#include "codecs/parts/store_block.wgsl" as self
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/exact.wgsl"

// Five trits of values start, start + stride, ...; `count` of them, the rest 0, as a fraction of 243 scaled to 256, rounded up.
fn self_trits(v: ptr<function, array<f32, self_BLOCK_VALUES>>, id: f32, start: u32, stride: u32, count: u32) -> u32 {
    var q = 0u;
    for (var n = 0u; n < 5u; n++) {
        q *= 3u;
        if (n < count) {
            q += u32(round_away(rounded((*v)[start + n * stride] * id)) + 1.0);
        }
    }
    return (q * 256u + 242u) / 243u;
}

fn self_encode(block: u32, v: ptr<function, array<f32, self_BLOCK_VALUES>>) {
    var words: array<u32, self_BLOCK_WORDS>;
    let d  = abs(self_peak(v, 0u, 256u));
    let id = inverse_or_zero(d);
    for (var m = 0u; m < 32u; m++) {
        self_put(&words, m, self_trits(v, id, m, 32u, 5u));
    }
    for (var m = 0u; m < 16u; m++) {
        self_put(&words, 32u + m, self_trits(v, id, 160u + m, 16u, 5u));
    }
    for (var m = 0u; m < 4u; m++) {
        self_put(&words, 48u + m, self_trits(v, id, 240u + m, 4u, 4u));
    }
    self_put(&words, 52u, f16_bits(d));
    self_store_block(block, &words);
}
#endif
