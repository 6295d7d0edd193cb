// Units of UNIT bytes move as they are. SOURCE is a file that says which: src_unit(i) is the unit of src that unit i of dst,
// counted in the order of its values, becomes. An element of more than one unit has `parts`.
#include "lib/grid.wgsl"
#include "copy/source.wgsl"

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
    if (source == other_window) {
        return;
    }
    let to = dst_unit(i);
#if UNIT == 16
    var words = vec4<u32>();
    if (source != no_unit) {
        words = src_quad_word((params.src_offset >> 4u) + source);
    }
    dst_set_quad_word((params.dst_offset >> 4u) + to, words);
#elif UNIT == 4
    dst_set_word((params.dst_offset >> 2u) + to, src_unit_bits(source));
#elif UNIT == 2
    dst_set_u16(params.dst_offset + 2u * to, src_unit_bits(source));
#else
    dst_set_u8(params.dst_offset + to, src_unit_bits(source));
#endif
}
