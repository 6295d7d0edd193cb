// dst = OP(src), value by value.
#include "lib/grid.wgsl"
#include "elementwise/functions.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
#if QUADS
    let first = 4u * i;
#else
    let first = i;
#endif
#if CONTIGUOUS
    let source = first;
    let to     = first;
#else
    let pos    = position(first, params.dst_ne);
    let source = at(pos, params.src_nb);
    let to     = at(pos, params.dst_nb);
#endif
#if QUADS
    let x = src_quad(source, 0u);
    dst_store_quad(to, vec4<f32>(OP(x.x), OP(x.y), OP(x.z), OP(x.w)));
#else
    dst_store(to, OP(src_value(source, 0u)));
#endif
}
