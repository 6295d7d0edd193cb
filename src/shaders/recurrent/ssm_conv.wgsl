// SSM_CONV: each channel is convolved along the tokens with its own short filter.
#include "lib/grid.wgsl"
#include "codecs/f32.wgsl" as src
#include "codecs/f32.wgsl" as filters
#include "codecs/f32.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
    let pos     = position(i, params.dst_ne);  // channel, token, sequence
    let start    = pos.x * params.src_nb.y + pos.y * params.src_nb.x + pos.z * params.src_nb.z;
    let weights = pos.x * params.filters_nb.y;
    var sum     = 0.0;
    for (var n = 0u; n < params.taps; n++) {
        sum += src_value(start + n * params.src_nb.x, 0u) * filters_value(weights + n * params.filters_nb.x, 0u);
    }
    dst_store(at(pos, params.dst_nb), sum);
}
