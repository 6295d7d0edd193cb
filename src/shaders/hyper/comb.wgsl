// DSV4_HC_COMB: the 4 x 4 matrix that mixes a token's residual streams, from the last 16 of its 24 mixes. Its rows go through a softmax,
// then columns and rows are scaled in turn until both sum to about 1.
#include "lib/grid.wgsl"
#include "codecs/f32.wgsl" as mixes
#include "codecs/f32.wgsl" as scale
#include "codecs/f32.wgsl" as base
#include "codecs/f32.wgsl" as dst

alias Matrix = array<vec4<f32>, 4>;

fn columns_to_one(m: ptr<function, Matrix>) {
    let sums = 1.0 / ((*m)[0] + (*m)[1] + (*m)[2] + (*m)[3] + params.eps);
    for (var r = 0u; r < 4u; r++) {
        (*m)[r] *= sums;
    }
}

fn rows_to_one(m: ptr<function, Matrix>) {
    for (var r = 0u; r < 4u; r++) {
        (*m)[r] *= 1.0 / (dot((*m)[r], vec4<f32>(1.0)) + params.eps);
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let token = group_index(wid, nwg) * WORKGROUP + local;
    if (token >= params.count) {
        return;
    }
    let scale = scale_value(2u * params.scale_nb.x, 0u);
    var m = Matrix();
    for (var r = 0u; r < 4u; r++) {
        for (var c = 0u; c < 4u; c++) {
            let i = 8u + 4u * r + c;
            m[r][c] = mixes_value(i * params.mixes_nb.x + token * params.mixes_nb.y, 0u) * scale + base_value(i * params.base_nb.x, 0u);
        }
        m[r] = exp(m[r] - max(max(m[r].x, m[r].y), max(m[r].z, m[r].w)));
        m[r] = m[r] * (1.0 / dot(m[r], vec4<f32>(1.0))) + params.eps;
    }
    columns_to_one(&m);
    for (var i = 1u; i < params.iterations; i++) {
        rows_to_one(&m);
        columns_to_one(&m);
    }
    for (var r = 0u; r < 4u; r++) {
        for (var c = 0u; c < 4u; c++) {
            dst_store(c * params.dst_nb.x + r * params.dst_nb.y + token * params.dst_nb.z, m[r][c]);
        }
    }
}
