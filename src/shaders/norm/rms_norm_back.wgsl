// dx = (dz - x * sum(x * dz) / (sum(x^2) + n * eps)) / sqrt(mean(x^2) + eps) over each row; one workgroup a row.
#include "lib/grid.wgsl"
#define totals_VALUE vec2<f32>
#include "lib/reduce.wgsl" as totals
#include "codecs/{dz_TYPE}.wgsl" as dz
#include "codecs/{x_TYPE}.wgsl" as x
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "lib/unit_load.wgsl" as dz
#include "lib/unit_load.wgsl" as x
#include "lib/unit_store.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let pos     = position(group, params.rows);
    let dz_row  = at(pos, params.dz_nb);
    let x_row   = at(pos, params.x_nb);
    let dst_row = at(pos, params.dst_nb);

    var sums = vec2<f32>(0.0);
    for (var i = local; i < params.units; i += WORKGROUP) {
        let v = x_unit(x_row, i);
        sums += vec2<f32>(sum_of(v * v), sum_of(v * dz_unit(dz_row, i)));
    }
    sums = totals(local, sums);
    let inv_rms = 1.0 / sqrt(sums.x / params.length + params.eps);
    let scale_x = sums.y / (sums.x + params.length * params.eps);
    for (var i = local; i < params.units; i += WORKGROUP) {
        dst_store_unit(dst_row, i, (dz_unit(dz_row, i) - x_unit(x_row, i) * scale_x) * inv_rms);
    }
}
