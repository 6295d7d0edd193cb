// dst = OP(x, g): a gated linear unit over x and its gate g, which may be the two halves of one row.
// QUANTISES: dst as the quantised columns of a product as well.
#include "lib/grid.wgsl"
#include "elementwise/functions.wgsl"
#include "codecs/{x_TYPE}.wgsl" as x
#include "codecs/{g_TYPE}.wgsl" as g
#include "codecs/{dst_TYPE}.wgsl" as dst
#if QUANTISES
#include "matmul/quantise_quads.wgsl"
#endif

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
#if QUADS
    var y = vec4<f32>();
    if (i < params.count) {
        let pos = position(4u * i, params.dst_ne);
        let x   = x_quad(params.x_first + at(pos, params.x_nb), 0u);
        let g   = g_quad(params.g_first + at(pos, params.g_nb), 0u);
        y = vec4<f32>(OP(x.x, g.x), OP(x.y, g.y), OP(x.z, g.z), OP(x.w, g.w));
        dst_store_quad(at(pos, params.dst_nb), y);
    }
#if QUANTISES
    quantise_quads(select(0xffffffffu, i, i < params.count), array<vec4<f32>, 1>(y));
#endif
#else
    if (i < params.count) {
        let pos = position(i, params.dst_ne);
        let x   = x_value(params.x_first + at(pos, params.x_nb), 0u);
        let g   = g_value(params.g_first + at(pos, params.g_nb), 0u);
        dst_store(at(pos, params.dst_nb), OP(x, g));
    }
#endif
}
