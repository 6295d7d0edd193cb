// Stochastic gradient descent with weight decay. hyper: alpha, weight decay.
#include "lib/grid.wgsl"
#include "codecs/f32.wgsl" as weight
#include "codecs/f32.wgsl" as grad
#include "codecs/f32.wgsl" as hyper

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
    let alpha = hyper_value(0u, 0u);
    weight_store(i, weight_value(i, 0u) * (1.0 - alpha * hyper_value(1u, 0u)) - alpha * grad_value(i, 0u));
}
