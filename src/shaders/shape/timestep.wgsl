// TIMESTEP_EMBEDDING: dst[j, i] = cos(t[i] * f[j]), dst[half + j, i] = sin(t[i] * f[j]) with f[j] = period^(-j / half); an odd
// last value is 0.
#include "lib/grid.wgsl"
#include "lib/trig.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst

fn embedding(timestep: f32, column: u32) -> f32 {
    if (column >= 2u * params.half) {
        return 0.0;
    }
    let angle = reduced(timestep * exp(-params.log_period * f32(column % params.half) / f32(params.half)));
    return select(sin(angle), cos(angle), column < params.half);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
    let pos  = position(i, params.dst_ne);
    let step = pos.y + params.dst_first.y - params.src_first.x;
    if (step < params.src_ne.x) {
        dst_store(at(pos, params.dst_nb), embedding(src_value(step * params.src_nb.x, 0u), pos.x + params.dst_first.x));
    }
}
