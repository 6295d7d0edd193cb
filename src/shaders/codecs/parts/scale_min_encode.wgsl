// The search for the scales and mins of q4_K and q5_K. Included `as` the operand.
#include "codecs/parts/extremes.wgsl" as self
#include "codecs/parts/search_scale_min.wgsl" as self

// The first 16 bytes of a block: d, dmin and the twelve bytes of scales and mins.
fn self_encode_scales(v: ptr<function, array<f32, self_BLOCK_VALUES>>, top: f32, first_step: f32, attempts: i32) -> vec4<u32> {
    var found: array<vec2<f32>, 8>;
    var most = vec2<f32>(0.0);
    for (var j = 0u; j < 8u; j++) {
        var squares = 0.0;
        for (var i = 32u * j; i < 32u * j + 32u; i++) {
            squares += rounded((*v)[i] * (*v)[i]);
        }
        found[j] = self_scale_and_min(v, self_scale_search(32u * j, 32u, top, root(squares / 32.0), first_step, attempts, false));
        most     = max(most, found[j]);
    }
    let inverse = select(vec2<f32>(quotient(63.0, most.x), quotient(63.0, most.y)), vec2<f32>(0.0), most <= vec2<f32>(0.0));
    var words   = vec4<u32>(f16_bits(quotient(most.x, 63.0)) | (f16_bits(quotient(most.y, 63.0)) << 16u), 0u, 0u, 0u);
    for (var j = 0u; j < 8u; j++) {
        let sm    = min(vec2<u32>(vec2<i32>(round(inverse * found[j]))) & vec2<u32>(0xffu), vec2<u32>(63u));
        let shift = 8u * (j & 3u);
        if (j < 4u) {
            words.y |= sm.x << shift;
            words.z |= sm.y << shift;
        } else {
            words.y |= (sm.x >> 4u) << (shift + 6u);
            words.z |= (sm.y >> 4u) << (shift + 6u);
            words.w |= ((sm.x & 15u) | ((sm.y & 15u) << 4u)) << shift;
        }
    }
    return words;
}
