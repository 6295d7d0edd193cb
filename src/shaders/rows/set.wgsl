// SET_ROWS: dst[:, index[i, b, c], b, c] = src[:, i, b, c], indices repeated over b and c. An item is a block of a row
// (ENCODE), a thread's part of a block that a workgroup encodes (TOGETHER), four values (QUADS) or one.
#include "lib/grid.wgsl"
#include "rows/index.wgsl"
#if ENCODE
#define dst_ENCODE 1
#endif
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#if QUADS
const item_values = 4u;
#elif TOGETHER
const item_values = dst_BLOCK_VALUES / WORKGROUP;
#else
const item_values = dst_BLOCK_VALUES;
#endif

#if ENCODE
fn load_values(first: u32, v: ptr<function, array<f32, item_values>>) {
    for (var i = 0u; i < item_values; i++) {
        (*v)[i] = src_value(first + i * params.src_nb.x, 0u);
    }
}
#endif

// Stores nothing where `row` is no_row.
fn make_item(local: u32, first: u32, row: u32, to: u32) {
#if TOGETHER
    var v: array<f32, item_values>;
    load_values(first, &v);
    let d = dst_search(local, &v);
    if (local == 0u && row != no_row) {
        dst_encode(to, d);
    }
#else
    if (row == no_row) {
        return;
    }
#if ENCODE
    var v: array<f32, item_values>;
    load_values(first, &v);
    dst_encode(to, &v);
#elif QUADS
    dst_store_quad(to, src_quad(first, 0u));
#else
    dst_store(to, src_value(first, 0u));
#endif
#endif
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    dst_prepare(local, WORKGROUP);
    let item = group * WORKGROUP + local;
#if !TOGETHER
    if (item >= params.count) {
        return;
    }
#endif
    let pos  = position(item, params.items);
    let turn = vec4<u32>(pos.yzw, 0u) % params.index_ne;
    let row  = table_row(at(turn, params.index_nb));
    let column = pos.x * item_values;
    let first  = at(vec4<u32>(column, pos.yzw), params.src_nb);
    let to     = at(vec4<u32>(column / dst_BLOCK_VALUES, row, pos.zw), params.dst_nb);
    make_item(local, first, row, to);
}
