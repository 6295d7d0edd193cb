const lowest = -0x1.fffffep+127; // of all f32: the maximum of nothing

// What lies inside the image of the field of the pooled value at `o`: first and end column and row (x, y; z, w).
fn field_of(o: vec2<u32>) -> vec4<u32> {
    let start = vec2<i32>(o * params.stride.xy) - vec2<i32>(params.pad.xy);
    let image = vec2<i32>(params.image.xy);
    let begin = clamp(start, vec2<i32>(0), image);
    let end   = clamp(start + vec2<i32>(params.field.xy), begin, image);
    return vec4<u32>(vec4<i32>(begin, end));
}
