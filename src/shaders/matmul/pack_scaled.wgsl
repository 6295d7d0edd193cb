// Copies the columns of src1, or rows of weights with a wider range than f16's, into f16 scratch memory for the subgroup-matrix kernel:
// `stride` halves each, zeros beyond k and beyond the last column. A column is divided by a power of two that keeps it inside f16's
// range, its factor. A workgroup makes one column; a thread issues the loads of LOADS quads together.
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#define largest_LARGEST 1
#include "lib/reduce.wgsl" as largest

const AT_ONCE = WORKGROUP * LOADS;  // quads

// Values 4 q .. 4 q + 3 of the column that starts at `start`; zeros past k.
fn load(start: u32, q: u32) -> vec4<f32> {
#if QUADS
    let inside = 4u * q < params.k;
    return select(vec4<f32>(), src_quad(start + select(0u, 4u * q, inside), 0u), inside);
#else
    var v = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if (4u * q + i < params.k) {
            v[i] = src_value(start + (4u * q + i) * params.src_nb.x, 0u);
        }
    }
    return v;
#endif
}

fn store(to: u32, q: u32, v: vec4<f32>) {
    if (4u * q < params.stride) {
        packed_set_pair_word(to + q, vec2<u32>(pack2x16float(v.xy), pack2x16float(v.zw)));
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let column = group % params.padded_columns;
    let matrix = group / params.padded_columns;
    let quads  = params.stride / 4u;
    let to     = (params.packed_offset >> 3u) + group * quads;
    if (column >= params.columns) {
        for (var q = local; q < quads; q += WORKGROUP) {
            packed_set_pair_word(to + q, vec2<u32>());
        }
        return;
    }
    let start = column * params.src_nb.y + (matrix % params.matrices2) * params.src_nb.z + (matrix / params.matrices2) * params.src_nb.w;

    var most = vec4<f32>();
    for (var first = local; first < quads; first += AT_ONCE) {
#repeat i LOADS
        let v_$i = load(start, first + $iu * WORKGROUP);
#end
#repeat i LOADS
        most = max(most, abs(v_$i));
        store(to, first + $iu * WORKGROUP, v_$i);
#end
    }
    let highest = largest(local, max(max(most.x, most.y), max(most.z, most.w)));

    // A power of two, exact to multiply by, that brings the highest value to 2^14: where it is larger than f16 holds, or so small that
    // others would lose their digits. Infinities and NaN keep factor 1.
    let exponent = max(i32((bitcast<u32>(highest) >> 23u) & 0xffu) - 127, -100);
    let scaled   = (exponent >= 15 && exponent < 128) || (exponent < -8 && highest > 0.0);
    if (local == 0u) {
        factors_set_word((params.factors_offset >> 2u) + group, bitcast<u32>(select(1.0, exp2(f32(exponent - 14)), scaled)));
    }
    if (scaled) {
        // Rare, so it may take a second look.
        for (var q = local; q < quads; q += WORKGROUP) {
            store(to, q, exp2(f32(14 - exponent)) * load(start, q));
        }
    }
}
