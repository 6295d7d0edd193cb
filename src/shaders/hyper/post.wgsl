// DSV4_HC_POST: the residual streams after a layer: its output x, weighted for each stream, plus the streams before it, mixed by the
// matrix comb or with IDENTITY left as they are.
#include "lib/grid.wgsl"
#include "codecs/f32.wgsl" as x
#include "codecs/f32.wgsl" as residual
#include "codecs/f32.wgsl" as post
#if !IDENTITY
#include "codecs/f32.wgsl" as comb
#endif
#include "codecs/f32.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
    let pos  = position(i, params.dst_ne);  // value, stream, token
    let start = pos.x * params.residual_nb.x + pos.z * params.residual_nb.z;
    var sum  = x_value(pos.x * params.x_nb.x + pos.z * params.x_nb.y, 0u) * post_value(pos.y * params.post_nb.x + pos.z * params.post_nb.y, 0u);
#if IDENTITY
    sum += residual_value(start + pos.y * params.residual_nb.y, 0u);
#else
    for (var s = 0u; s < params.dst_ne.y; s++) {
        sum += residual_value(start + s * params.residual_nb.y, 0u) *
               comb_value(pos.y * params.comb_nb.x + s * params.comb_nb.y + pos.z * params.comb_nb.z, 0u);
    }
#endif
    dst_store(at(pos, params.dst_nb), sum);
}
