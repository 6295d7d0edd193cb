// POOL_2D_BACK: dst[p] = sum over all fields with p in them of grad / area, or of grad where p is the first largest value
// of the field. `src` is what the forward pass had pooled.
#include "lib/grid.wgsl"
#include "codecs/{grad_TYPE}.wgsl" as grad
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "conv/pool_field.wgsl"

fn is_first_largest(p: vec2<u32>, field: vec4<u32>, plane: u32) -> bool {
    var largest = lowest;
    var spot    = vec2<u32>(0xffffffffu);
    for (var y = field.y; y < field.w; y++) {
        for (var x = field.x; x < field.z; x++) {
            let v = src_value(plane + x * params.src_nb.x + y * params.src_nb.y, 0u);
            if (v > largest) {
                largest = v;
                spot    = vec2<u32>(x, y);
            }
        }
    }
    return all(spot == p);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = group_index(wid, nwg) * WORKGROUP + local;
    if (item >= params.count) {
        return;
    }
    let pos   = position(item, params.dst_ne);
    let p     = pos.xy;
    let plane = pos.z * params.src_nb.z + pos.w * params.src_nb.w;
    // Fields start at o * stride - pad and end `field` later.
    let padded = p + params.pad.xy;
    let begin  = (max(padded + 1u, params.field.xy) - params.field.xy + params.stride.xy - 1u) / params.stride.xy;
    let end    = min(padded / params.stride.xy + 1u, params.grad_ne.xy);
    var sum    = 0.0;
    for (var y = begin.y; y < end.y; y++) {
        for (var x = begin.x; x < end.x; x++) {
            let g = grad_value(at(vec4<u32>(x, y, pos.zw), params.grad_nb), 0u);
            if (params.maximum == 0u) {
                sum += g / f32(params.field.x * params.field.y);
            } else if (is_first_largest(p, field_of(vec2<u32>(x, y)), plane)) {
                sum += g;
            }
        }
    }
    dst_store(at(pos, params.dst_nb), sum);
}
