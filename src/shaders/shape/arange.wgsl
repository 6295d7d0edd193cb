// ARANGE: dst[i] = start + step * i.
#include "lib/grid.wgsl"
#include "codecs/{dst_TYPE}.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i < params.count) {
        dst_store(i, params.start + params.step * f32(params.first + i));
    }
}
