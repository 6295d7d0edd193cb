// Copies the columns of src1, or rows of weights with a wider range than f16's, into f16 scratch memory for the subgroup-matrix kernel:
// `stride` halves each, zeros beyond k and beyond the last column. A column is divided by a power of two that keeps it inside f16's
// range, its factor. A workgroup makes one column; a thread issues the loads of LOADS quads together.
// With SPLIT a value keeps the digits of f32 in two halves, what f16 holds of it and the rest: a column has three parts of `stride`, the
// rest in part REST_PART and f16's in the others. Along three parts a product sums up high x high, high x rest and rest x high.
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

#if SPLIT
const PARTS = 3u;
const LARGEST_F16 = 65504.0;
#else
const PARTS = 1u;
#endif

fn halves(v: vec4<f32>) -> vec2<u32> {
    return vec2<u32>(pack2x16float(v.xy), pack2x16float(v.zw));
}

fn store(to: u32, q: u32, v: vec4<f32>) {
    if (4u * q >= params.stride) {
        return;
    }
    packed_set_pair_word(to + q, halves(v));
#if SPLIT
    // Infinities and NaN have no other parts: an infinity must not meet a rest of 0.
    let part  = params.stride / 4u;
    let fits  = abs(v) <= vec4<f32>(LARGEST_F16);
    let again = halves(select(vec4<f32>(), v, fits));
    let rest  = select(vec4<f32>(), v - vec4<f32>(unpack2x16float(again.x), unpack2x16float(again.y)), fits);
    packed_set_pair_word(to + (3u - REST_PART) * part + q, again);
    packed_set_pair_word(to + REST_PART * part + q, halves(rest));
#endif
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
    let to     = (params.packed_offset >> 3u) + group * PARTS * quads;
    if (column >= params.columns) {
        for (var q = local; q < PARTS * quads; q += WORKGROUP) {
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
#if !SPLIT
        store(to, first + $iu * WORKGROUP, v_$i);
#endif
#end
    }
    let highest = largest(local, max(max(most.x, most.y), max(most.z, most.w)));

    // A power of two, exact to multiply by, that brings the highest value to 2^14: where it is larger than f16 holds, or so small that
    // others (with SPLIT, their rests) would lose their digits. Infinities and NaN keep factor 1.
    let exponent = max(i32((bitcast<u32>(highest) >> 23u) & 0xffu) - 127, -100);
#if SPLIT
    let scaled   = exponent < 128 && highest > 0.0;
    let stored   = false;
#else
    let scaled   = (exponent >= 15 && exponent < 128) || (exponent < -8 && highest > 0.0);
    let stored   = !scaled;
#endif
    if (local == 0u) {
        factors_set_word((params.factors_offset >> 2u) + group, bitcast<u32>(select(1.0, exp2(f32(exponent - 14)), scaled)));
    }
    if (!stored) {
        // Rare without SPLIT, so it may take a second look.
        let scale = select(1.0, exp2(f32(14 - exponent)), scaled);
        for (var q = local; q < quads; q += WORKGROUP) {
            store(to, q, scale * load(start, q));
        }
    }
}
