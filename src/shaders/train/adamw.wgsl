// AdamW (arXiv:1711.05101). hyper: alpha, beta1, beta2, eps, weight decay, 1 / (1 - beta1^t), 1 / (1 - beta2^t).
#include "lib/grid.wgsl"
#include "codecs/f32.wgsl" as weight
#include "codecs/f32.wgsl" as grad
#include "codecs/f32.wgsl" as mean
#include "codecs/f32.wgsl" as variance
#include "codecs/f32.wgsl" as hyper

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
    let alpha = hyper_value(0u, 0u);
    let beta1 = hyper_value(1u, 0u);
    let beta2 = hyper_value(2u, 0u);
    let g     = grad_value(i, 0u);
    let m     = mean_value(i, 0u) * beta1 + g * (1.0 - beta1);
    let v     = variance_value(i, 0u) * beta2 + g * g * (1.0 - beta2);
    let decay = 1.0 - alpha * hyper_value(4u, 0u);
    let step  = alpha * m * hyper_value(5u, 0u) / (sqrt(v * hyper_value(6u, 0u)) + hyper_value(3u, 0u));
    mean_store(i, m);
    variance_store(i, v);
    weight_store(i, weight_value(i, 0u) * decay - step);
}
