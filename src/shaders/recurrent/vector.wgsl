// An f32 operand read in quads: values 4 q .. 4 q + 3 of the SIZE values from `start` on, with zeros past the last.
#include "codecs/f32.wgsl" as self

fn self_four(start: u32, q: u32) -> vec4<f32> {
    if (q >= QUADS) {
        return vec4<f32>();
    }
#if self_WIDTH == 4
    return self_quad(start + 4u * q, 0u);
#else
    var v = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if (4u * q + i < SIZE) {
            v[i] = self_value(start + 4u * q + i, 0u);
        }
    }
    return v;
#endif
}
