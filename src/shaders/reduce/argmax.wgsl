// dst = index of the largest value of each piece of each row, the last of equal ones as on the CPU; one workgroup a piece. A
// row of several pieces takes a second step, over the candidates that the first one found. NaN counts as least.
#include "lib/grid.wgsl"
#include "lib/float.wgsl"
#include "lib/order.wgsl"
#define largest_VALUE u32
#define largest_LARGEST 1
#include "lib/reduce.wgsl" as largest
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#if CANDIDATES
#include "codecs/{candidates_TYPE}.wgsl" as candidates
#endif

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let row   = group / params.pieces;
    let base  = at(position(row, params.rows), params.src_nb);
    let first = group % params.pieces * params.piece;
    let end   = min(first + params.piece, params.length);
    var best  = 0u; // key of the best value so far
    var index = 0u;
    for (var i = first + local; i < end; i += WORKGROUP) {
#if CANDIDATES
        let at_i = u32(candidates_int(row * params.length + i));
#else
        let at_i = i;
#endif
        let x   = src_value(base + at_i * params.src_nb.x, 0u);
        let key = select(order_key(x), 0u, is_nan(x));
        if (key >= best) {
            best  = key;
            index = at_i;
        }
    }
    let top = largest(local, best);
    index   = largest(local, select(0u, index, best == top));
    if (local == 0u) {
        dst_store_int(group, i32(index));
    }
}
