// Adds up what the splits of k gave: matmul/matrix.wgsl left them in `partial` one after the other, each m x n without gaps. A thread
// takes four rows of a column, or one.
#include "lib/grid.wgsl"
#include "lib/unit.wgsl"
#include "codecs/f32.wgsl" as partial
#include "codecs/f32.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    let i     = (group * WORKGROUP + local) * UNIT_VALUES;
    if (group >= params.groups || i >= params.split_nb) {
        return;
    }
    var sum = UNIT();
    for (var split = 0u; split < params.splits; split++) {
#if QUADS
        sum += partial_quad(split * params.split_nb + i, 0u);
#else
        sum += partial_value(split * params.split_nb + i, 0u);
#endif
    }
    let column = i / params.m;
    let batch  = column / params.n;
    let to     = (column % params.n) * params.dst_nb.y + (batch % params.batches2) * params.dst_nb.z + (batch / params.batches2) * params.dst_nb.w
               + params.first_row + i % params.m;
#if QUADS
    dst_store_quad(to, sum);
#else
    dst_store(to, sum);
#endif
}
