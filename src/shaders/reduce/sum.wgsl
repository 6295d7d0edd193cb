// dst = scale * sum of each piece of each row; one workgroup a piece. A row of several pieces takes a second step over
// their sums.
#include "lib/grid.wgsl"
#include "lib/reduce.wgsl" as total
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "lib/unit_load.wgsl" as src

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let row   = at(position(group / params.pieces, params.rows), params.src_step);
    let first = group % params.pieces * params.piece;
    let end   = min(first + params.piece, params.units);
    var sum   = 0.0;
    for (var i = first + local; i < end; i += WORKGROUP) {
        sum += sum_of(src_unit(row, i));
    }
    sum = total(local, sum);
    if (local == 0u) {
        dst_store(params.dst_first + at(position(group, params.dst_ne), params.dst_nb), params.scale * sum);
    }
}
