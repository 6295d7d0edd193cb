// IM2COL_BACK: dst[i] = sum over all taps of the columns of src that were copies of it. src is [column, x, y, batch]. Windows
// of src after the first add what they give.
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = group_index(wid, nwg) * WORKGROUP + local;
    if (item >= params.count) {
        return;
    }
    let pos   = position(item, params.dst_ne); // x, y, channel, batch
    let whole = pos + params.dst_first;
    let taps  = params.taps.xy;
    var sum   = 0.0;
    for (var y = 0u; y < taps.y; y++) {
        for (var x = 0u; x < taps.x; x++) {
            let tap = vec2<u32>(x, y);
            let d   = whole.xy + params.pad.xy;
            if (any(d < tap * params.dilation.xy) || any((d - tap * params.dilation.xy) % params.stride.xy != vec2<u32>(0u))) {
                continue;
            }
            let o      = (d - tap * params.dilation.xy) / params.stride.xy;
            let column = (whole.z * taps.y + y) * taps.x + x;
            let p      = vec4<u32>(column, o, whole.w) - params.src_first;
            if (all(p < params.src_ne)) {
                sum += src_value(at(p, params.src_nb), 0u);
            }
        }
    }
    let to = at(pos, params.dst_nb);
    if (params.add != 0u) {
        sum += dst_value(to, 0u);
    }
    dst_store(to, sum);
}
