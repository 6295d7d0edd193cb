// POOL_1D, POOL_2D: dst[x, y] = largest value or mean of the field of src that starts at (x, y) * stride - pad. The mean
// counts the padding in 2D and does not in 1D, as ggml's CPU backend.
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "conv/pool_field.wgsl"

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = group_index(wid, nwg) * WORKGROUP + local;
    if (item >= params.count) {
        return;
    }
    let pos   = position(item, params.dst_ne);
    let field = field_of(pos.xy);
    let plane = pos.z * params.src_nb.z + pos.w * params.src_nb.w;
    var value = select(0.0, lowest, params.maximum != 0u);
    for (var y = field.y; y < field.w; y++) {
        for (var x = field.x; x < field.z; x++) {
            let v = src_value(plane + x * params.src_nb.x + y * params.src_nb.y, 0u);
            if (params.maximum != 0u) {
                value = select(v, value, v < value);
            } else {
                value += v;
            }
        }
    }
    if (params.maximum == 0u) {
        let inside = (field.z - field.x) * (field.w - field.y);
        value /= f32(select(max(inside, 1u), params.field_area, params.field_area != 0u));
    }
    dst_store(at(pos, params.dst_nb), value);
}
