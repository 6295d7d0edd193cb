// Edits whole words and the bytes at the edges of a range, for transfers WebGPU's own copies cannot do.
#include "lib/grid.wgsl"

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i    = group_index(wid, nwg) * WORKGROUP + local;
    let base = params.dst_offset >> 2u;
#if FILL
    if (i < params.words) {
        var mask = 0xffffffffu;
        if (i == 0u) {
            mask = params.first_mask;
        }
        if (i + 1u == params.words) {
            mask &= params.last_mask;
        }
        dst_set_word(base + i, (dst_word(base + i) & ~mask) | (params.value & mask));
    }
#else
    // Word i of the destination holds the source's bytes from 4 i - first.
    for (var b = 0u; b < 4u; b++) {
        let byte = 4u * i + b;
        if (byte >= params.first && byte - params.first < params.size) {
            dst_set_u8(params.dst_offset + byte, src_u8(params.src_offset + byte - params.first));
        }
    }
#endif
}
