// SOLVE_TRI: X of A X = B for a lower triangular A, by forward substitution. A thread solves one column of B and keeps its X where the
// others put theirs, in dst.
#include "lib/grid.wgsl"
#include "codecs/f32.wgsl" as a
#include "codecs/f32.wgsl" as b
#include "codecs/f32.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
    let pos = position(i, vec4<u32>(params.dst_ne.x, params.dst_ne.zw, 1u));  // column, batches
    let a   = pos.y * params.a_nb.z + pos.z * params.a_nb.w;
    let b   = pos.x * params.b_nb.x + pos.y * params.b_nb.z + pos.z * params.b_nb.w;
    let x   = pos.x * params.dst_nb.x + pos.y * params.dst_nb.z + pos.z * params.dst_nb.w;
    for (var row = 0u; row < params.dst_ne.y; row++) {
        let a_row = a + row * params.a_nb.y;
        var sum   = b_value(b + row * params.b_nb.y, 0u);
        for (var n = 0u; n < row; n++) {
            sum -= a_value(a_row + n * params.a_nb.x, 0u) * dst_value(x + n * params.dst_nb.y, 0u);
        }
        dst_store(x + row * params.dst_nb.y, sum / a_value(a_row + row * params.a_nb.x, 0u));
    }
}
