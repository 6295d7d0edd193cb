// dx = scale * (dy - dot(y, dy)) * y over each row; one workgroup a row.
#include "lib/grid.wgsl"
#include "lib/reduce.wgsl" as total
#include "codecs/{dy_TYPE}.wgsl" as dy
#include "codecs/{y_TYPE}.wgsl" as y
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "lib/unit_load.wgsl" as dy
#include "lib/unit_load.wgsl" as y
#include "lib/unit_store.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let pos     = position(group, params.rows);
    let dy_row  = at(pos, params.dy_nb);
    let y_row   = at(pos, params.y_nb);
    let dst_row = at(pos, params.dst_nb);

    var sum = 0.0;
    for (var i = local; i < params.units; i += WORKGROUP) {
        sum += sum_of(dy_unit(dy_row, i) * y_unit(y_row, i));
    }
    let product = total(local, sum);
    for (var i = local; i < params.units; i += WORKGROUP) {
        dst_store_unit(dst_row, i, params.scale * (dy_unit(dy_row, i) - product) * y_unit(y_row, i));
    }
}
