// GET_ROWS_BACK: dst[:, r] = sum of grad[:, i] over all i with index[i] = r; dst was zeroed. The invocation of the first
// such i adds them all, in order; an item is one value of grad.
#include "lib/grid.wgsl"
#include "rows/index.wgsl"
#include "codecs/{grad_TYPE}.wgsl" as grad
#include "codecs/{dst_TYPE}.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    grad_prepare(local, WORKGROUP);
    let item = group * WORKGROUP + local;
    if (item >= params.count) {
        return;
    }
    let column = item % params.columns;
    let first  = item / params.columns;
    let row    = table_row(first * params.index_nb.x);
    if (row == no_row) {
        return;
    }
    let number = index_int(first * params.index_nb.x);
    for (var i = 0u; i < first; i++) {
        if (index_int(i * params.index_nb.x) == number) {
            return;
        }
    }
    var sum = 0.0;
    for (var i = first; i < params.rows; i++) {
        if (index_int(i * params.index_nb.x) == number) {
            sum += grad_value(at(vec4<u32>(column / grad_BLOCK_VALUES, i, 0u, 0u), params.grad_nb), column % grad_BLOCK_VALUES);
        }
    }
    dst_store(column + row * params.dst_nb.y, sum);
}
