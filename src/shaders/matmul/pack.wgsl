// Copies a matrix into f16 scratch memory for the subgroup-matrix kernels: rows of `stride` halves, zeros beyond k and
// beyond the last row. A thread makes eight neighbouring values.
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src

// Four values of the row that starts at block `row`; zeros past k.
fn load(row: u32, kq: u32) -> vec4<f32> {
    if (4u * kq >= params.k) {
        return vec4<f32>();
    }
#if BLOCKS
    const quads_per_block = src_BLOCK_VALUES / 4u;
    return src_quad(row + kq / quads_per_block, kq % quads_per_block);
#elif QUADS
    return src_quad(row + 4u * kq, 0u);
#else
    var v = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if (4u * kq + i < params.k) {
            v[i] = src_value(row + (4u * kq + i) * params.src_nb.x, 0u);
        }
    }
    return v;
#endif
}

fn halves(v: vec4<f32>) -> vec2<u32> {
    return vec2<u32>(pack2x16float(v.xy), pack2x16float(v.zw));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    src_prepare(local, WORKGROUP);
    let i      = group * WORKGROUP + local;
    let octets = params.stride / 8u;
    let octet  = i % octets;
    let row    = (i / octets) % params.padded_rows;
    let matrix = i / octets / params.padded_rows;
    if (matrix >= params.matrices) {
        return;
    }
    var low  = vec2<u32>();
    var high = vec2<u32>();
    if (row < params.rows) {
        let start = row * params.src_nb.y + (matrix % params.matrices2) * params.src_nb.z + (matrix / params.matrices2) * params.src_nb.w;
        low  = halves(load(start, 2u * octet));
        high = halves(load(start, 2u * octet + 1u));
    }
    packed_set_quad_word((params.packed_offset >> 4u) + i, vec4<u32>(low, high));
}
