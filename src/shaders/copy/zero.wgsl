// dst = 0; dst is contiguous, an item is a word.
#include "lib/grid.wgsl"

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i < params.count) {
        dst_set_word((params.dst_offset >> 2u) + i, 0u);
    }
}
