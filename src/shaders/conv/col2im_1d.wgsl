// COL2IM_1D: dst[t, channel] = sum over all i of src[(channel, tap), i] with i * stride + tap = t + pad. Windows of src after
// the first add what they give.
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = group_index(wid, nwg) * WORKGROUP + local;
    if (item >= params.count) {
        return;
    }
    let pos   = position(item, params.dst_ne);
    let whole = pos + params.dst_first;
    let t     = whole.x + params.pad;
    let begin = (max(t + 1u, params.taps) - params.taps + params.stride - 1u) / params.stride;
    var sum   = 0.0;
    for (var i = begin; i <= t / params.stride; i++) {
        let column = whole.y * params.taps + t - i * params.stride;
        let p      = vec2<u32>(column, i) - params.src_first.xy;
        if (all(p < params.src_ne.xy)) {
            sum += src_value(p.x * params.src_nb.x + p.y * params.src_nb.y, 0u);
        }
    }
    let to = at(pos, params.dst_nb);
    if (params.add != 0u) {
        sum += dst_value(to, 0u);
    }
    dst_store(to, sum);
}
