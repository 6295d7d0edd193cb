// DSV4_HC_PRE: a token's residual streams summed up with a weight each; with GATED a weight for each value, the sigmoid of a gate.
#include "lib/grid.wgsl"
#include "codecs/f32.wgsl" as x
#include "codecs/f32.wgsl" as weights
#include "codecs/f32.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
    let pos = position(i, params.dst_ne);  // value, token
    var sum = 0.0;
    for (var s = 0u; s < params.streams; s++) {
#if GATED
        let w = 1.0 / (1.0 + exp(-weights_value(pos.x * params.weights_nb.x + s * params.weights_nb.y + pos.y * params.weights_nb.z, 0u)));
#else
        let w = weights_value(s * params.weights_nb.x + pos.y * params.weights_nb.y, 0u);
#endif
        sum += w * x_value(pos.x * params.x_nb.x + s * params.x_nb.y + pos.y * params.x_nb.z, 0u);
    }
    dst_store(at(pos, params.dst_nb), params.scale * sum);
}
