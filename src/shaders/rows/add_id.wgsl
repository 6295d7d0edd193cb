// ADD_ID: dst[:, i, j, k] = a[:, i, j, k] + table[:, index[i, j]]. An item is four values of a row (QUADS) or one.
#include "lib/grid.wgsl"
#include "rows/index.wgsl"
#include "codecs/{a_TYPE}.wgsl" as a
#include "codecs/{table_TYPE}.wgsl" as table
#include "codecs/{dst_TYPE}.wgsl" as dst
#if QUADS
const item_values = 4u;
#else
const item_values = 1u;
#endif

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = group_index(wid, nwg) * WORKGROUP + local;
    if (item >= params.count) {
        return;
    }
    let pos   = position(item * item_values, params.dst_ne);
    let which = pos + params.dst_first;
    let row   = table_row(which.y * params.index_nb.x + which.z * params.index_nb.y);
    if (row == no_row) {
        return;
    }
    let other = which.x * params.table_nb.x + row * params.table_nb.y;
#if QUADS
    dst_store_quad(at(pos, params.dst_nb), a_quad(at(pos, params.a_nb), 0u) + table_quad(other, 0u));
#else
    dst_store(at(pos, params.dst_nb), a_value(at(pos, params.a_nb), 0u) + table_value(other, 0u));
#endif
}
