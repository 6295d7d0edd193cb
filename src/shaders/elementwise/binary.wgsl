// dst = a OP b, with b repeated along each dimension in which it is smaller.
#include "lib/grid.wgsl"
#include "codecs/{a_TYPE}.wgsl" as a
#include "codecs/{b_TYPE}.wgsl" as b
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
    let from_a = first;
    let from_b = first;
    let to     = first;
#else
    let pos    = position(first, params.dst_ne);
    let from_a = at(pos, params.a_nb);
    let to     = at(pos, params.dst_nb);
#if SAME_SHAPE
    let from_b = at(pos, params.b_nb);
#else
    let from_b = at(pos % params.b_ne, params.b_nb);
#endif
#endif
#if QUADS
    dst_store_quad(to, a_quad(from_a, 0u) OP b_quad(from_b, 0u));
#else
    dst_store(to, a_value(from_a, 0u) OP b_value(from_b, 0u));
#endif
}
