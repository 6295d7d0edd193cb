// Places of dst, a volume, and what they are made of.
#include "conv/volume.wgsl"

// Where in src the field of the value at `o` of dst starts.
fn field_start(o: vec3<u32>) -> vec3<u32> {
    return (o + params.dst_first.xyz) * params.stride.xyz - params.pad.xyz - params.src_first.xyz;
}

fn src_batch(n: u32) -> u32 {
    return n + params.dst_first_batch - params.src_first_batch;
}

fn dst_at(o: vec3<u32>, channel: u32, n: u32) -> u32 {
    return at(vec4<u32>(o, channel), params.dst_nb) + n * params.dst_batch_nb;
}
