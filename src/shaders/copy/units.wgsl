// dst = src, same type: units of UNIT bytes move as they are, in the order of their tensor. An element of more than one
// unit has `parts`.
#include "lib/grid.wgsl"

fn src_unit(i: u32) -> u32 {
    if (params.src_flat != 0u) {
        return i;
    }
    return at(position(i / params.parts, params.src_ne), params.src_nb) + i % params.parts;
}

fn dst_unit(i: u32) -> u32 {
    if (params.dst_flat != 0u) {
        return i;
    }
    return at(position(i / params.parts, params.dst_ne), params.dst_nb) + i % params.parts;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
    let source = src_unit(i);
    let to   = dst_unit(i);
#if UNIT == 16
    dst_set_quad_word((params.dst_offset >> 4u) + to, src_quad_word((params.src_offset >> 4u) + source));
#elif UNIT == 4
    dst_set_word((params.dst_offset >> 2u) + to, src_word((params.src_offset >> 2u) + source));
#elif UNIT == 2
    dst_set_u16(params.dst_offset + 2u * to, src_u16(params.src_offset + 2u * source));
#else
    dst_set_u8(params.dst_offset + to, src_u8(params.src_offset + source));
#endif
}
