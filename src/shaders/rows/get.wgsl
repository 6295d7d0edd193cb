// GET_ROWS: dst[:, i, b, c] = src[:, index[i, b, c], b, c]. An item is four values of a row of dst (QUADS) or one.
// MOVE: same type in one word each, moved as it is.
#include "lib/grid.wgsl"
#include "rows/index.wgsl"
#if MOVE
const src_BLOCK_VALUES = 1u;
#else
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#endif
#if QUADS
const item_values = 4u;
#else
const item_values = 1u;
#endif

fn make_item(block: u32, i: u32, to: u32) {
#if MOVE && QUADS
    dst_set_quad_word((params.dst_offset + 4u * to) >> 4u, src_quad_word((params.src_offset + 4u * block) >> 4u));
#elif MOVE
    dst_set_word((params.dst_offset >> 2u) + to, src_word((params.src_offset >> 2u) + block));
#elif QUADS
    dst_store_quad(to, src_quad(block, i >> 2u));
#else
    dst_store(to, src_value(block, i));
#endif
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
#if !MOVE
    src_prepare(local, WORKGROUP);
#endif
    let item = group * WORKGROUP + local;
    if (item >= params.count) {
        return;
    }
    let pos = position(item / params.row_items, params.index_ne);  // i, b, c
    let row = table_row(at(pos, params.index_nb));
    if (row == no_row) {
        return;
    }
    let column = (item % params.row_items) * item_values;
    let block  = at(vec4<u32>(column / src_BLOCK_VALUES, row, pos.yz), params.src_nb);
    let to     = at(vec4<u32>(column, pos.xyz), params.dst_nb);
    make_item(block, column % src_BLOCK_VALUES, to);
}
