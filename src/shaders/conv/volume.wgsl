// Convolutions see tensors as volumes: values at (x, y, z, channel) of a batch. Of src and dst a window may be bound, whose
// first values lie at src_first and dst_first. Positions wrap around below 0, so one comparison tells whether a value is in
// the window; the padding is outside of all windows.

fn src_inside(i: vec3<u32>) -> bool {
    return all(i < params.src_ne.xyz);
}

fn src_at(i: vec3<u32>, channel: u32, n: u32) -> u32 {
    return at(vec4<u32>(i, channel), params.src_nb) + n * params.src_batch_nb;
}
