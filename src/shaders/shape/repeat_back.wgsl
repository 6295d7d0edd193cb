// REPEAT_BACK: dst[p] = sum of src at all positions that are p modulo dst's size. Windows of both may be bound; the parts
// of the sum beyond the first window of src are added.
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
    let pos     = position(i, params.dst_ne);
    let to      = at(pos, params.dst_nb);
    let repeats = params.src_whole / params.dst_whole;
    var sum     = 0.0;
    for (var n = 0u; n < repeats.x * repeats.y * repeats.z * repeats.w; n++) {
        let p = pos + params.dst_first + position(n, repeats) * params.dst_whole - params.src_first;
        if (all(p < params.src_ne)) {
            sum += src_value(at(p, params.src_nb), 0u);
        }
    }
    if (params.add != 0u) {
        sum += dst_value(to, 0u);
    }
    dst_store(to, sum);
}
