// dst = src with a change of type, in the order of their values: four values an invocation.
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "copy/order.wgsl" as src
#include "copy/order.wgsl" as dst

fn src_nth(i: u32) -> f32 {
    return src_value(src_block(i), src_in_block(i));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    src_prepare(local, WORKGROUP);
    let first = 4u * (group * WORKGROUP + local);
    if (first >= params.count) {
        return;
    }
#if SRC_QUADS
    let v = src_quad(src_block(first), src_in_block(first) >> 2u);
#else
    let last = params.count - 1u;
    let v    = vec4<f32>(src_nth(first), src_nth(min(first + 1u, last)), src_nth(min(first + 2u, last)), src_nth(min(first + 3u, last)));
#endif
#if DST_QUADS
    dst_store_quad(dst_block(first), v);
#else
    for (var n = 0u; n < min(4u, params.count - first); n++) {
        dst_store(dst_block(first + n), v[n]);
    }
#endif
}
