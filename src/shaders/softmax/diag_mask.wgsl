// dst = src, with `fill` right of the diagonal that starts at column `past`.
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
    let pos = position(i, params.dst_ne);
    if (pos.x > params.past + pos.y) {
        dst_store(at(pos, params.dst_nb), params.fill);
    } else {
        dst_store(at(pos, params.dst_nb), src_value(at(pos, params.src_nb), 0u));
    }
}
