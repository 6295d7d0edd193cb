// Quantises the columns of src1 for matmul/vec_packed.wgsl. A thread takes four values, or the whole block of 32 where subgroups of
// eight threads cannot share it.
#include "lib/grid.wgsl"
#if !SUBGROUPS || SUBGROUP_MIN < 8
#define QUANTISE_QUADS 8
#endif
#include "matmul/quantise_quads.wgsl"
#include "codecs/{src1_TYPE}.wgsl" as src1

fn load(column: u32, i: u32) -> vec4<f32> {
#if QUADS_B
    return src1_quad(column + i, 0u);
#else
    let nb = params.src1_nb.x;
    let at = column + i * nb;
    return vec4<f32>(src1_value(at, 0u), src1_value(at + nb, 0u), src1_value(at + 2u * nb, 0u), src1_value(at + 3u * nb, 0u));
#endif
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let item   = (group * WORKGROUP + local) * QUANTISE_QUADS;
    let column = item / params.column_quads;
    let quad   = item % params.column_quads;
    let pos    = column_position(column);
    let start  = pos.x * params.src1_nb.y + pos.y * params.src1_nb.z + pos.z * params.src1_nb.w;
    var v: array<vec4<f32>, QUANTISE_QUADS>;
    if (column < params.columns && quad / 8u < params.k_blocks) { // else past a row of an odd number of blocks
#repeat i QUANTISE_QUADS
        v[$i] = load(start, 4u * (quad + $iu));
#end
    }
    quantise_quads(item, v);
}
