// Copies quantised weights into f16 scratch memory for the subgroup-matrix kernels: rows of `stride` halves, zeros beyond k and
// beyond the last row. A thread decodes one of the four parts of a unit of 64 values by the integer view of their codec, the same
// part as its neighbours, so that the codec's work for other parts falls away. Neighbours swap halves of their 16 values, so that
// two threads together store 32 bytes.
#define src0_PACKED 1
#include "lib/grid.wgsl"
#include "codecs/{src0_TYPE}.wgsl" as src0

const UNITS = WORKGROUP / 4u;  // at once

struct part_values {
    q: vec4<u32>,
    scale: f32,
    offset: f32,
}

fn halves(words: vec2<u32>, scale: f32, offset: f32) -> vec4<u32> {
    let low  = scale * vec4<f32>(unpack4xI8(words.x)) + offset;
    let high = scale * vec4<f32>(unpack4xI8(words.y)) + offset;
    return vec4<u32>(pack2x16float(low.xy), pack2x16float(low.zw), pack2x16float(high.xy), pack2x16float(high.zw));
}

// Part `part` of unit `i` of all.
fn load(i: u32, part: u32) -> part_values {
#if FLAT
    // No padding and no gaps: the matrix is one row.
    let unit  = i;
    let start = 0u;
    let there = i < params.padded_units * params.padded_rows * params.matrices;
#else
    let unit   = i % params.padded_units;
    let row    = (i / params.padded_units) % params.padded_rows;
    let matrix = i / params.padded_units / params.padded_rows;
    let start  = row * params.src0_nb.y + (matrix % params.matrices2) * params.src0_nb.z + (matrix / params.matrices2) * params.src0_nb.w;
    var there  = matrix < params.matrices && row < params.rows && unit < params.units;
#if HALF_UNIT
    // A row ends in the middle of its last unit; what follows is another row's.
    there = there && 2u * unit + part / 2u < params.k_blocks;
#endif
#endif
    var p: part_values;
    if (there) {
        let at = src0_row_at(start);
#repeat p 4
        if (part == $pu) {
            let values = src0_packed(at, unit);
            p.q = values.q$p;
#if src0_SCALES == 4
            p.scale = values.scale[$p];
#else
            p.scale = values.scale[$p / 2];
#endif
#if src0_OFFSETS && src0_SCALES == 4
            p.offset = values.offset[$p];
#elif src0_OFFSETS
            p.offset = values.offset[$p / 2];
#endif
        }
#end
    }
    return p;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    src0_packed_prepare(local, WORKGROUP);
    let part = local / UNITS;
    let odd  = local & 1u;
    let all  = params.padded_units * params.padded_rows * params.matrices;
    for (var round = 0u; round < ROUNDS; round++) {
        let i     = (group * ROUNDS + round) * UNITS + local % UNITS;
        let p     = load(i, part);
        let first = halves(p.q.xy, p.scale, p.offset);
        let last  = halves(p.q.zw, p.scale, p.offset);
        // Of the even thread's unit, then of the odd one's, one half each.
        let mine  = select(last, first, odd == 1u);
        let other = subgroupShuffleXor(mine, 1u);
        let even_unit = i - odd;
#if SPREAD
        // Parts lie 32 values apart, units of a pair 16.
        let even_at = 16u * (even_unit / 2u) + 4u * part + odd;
        let odd_at  = even_at + 2u;
#else
        let even_at = 8u * even_unit + 2u * part + odd;
        let odd_at  = even_at + 8u;
#endif
        if (even_unit < all) {
            packed_set_quad_word((params.packed_offset >> 4u) + even_at, select(first, other, odd == 1u));
        }
        if (even_unit + 1u < all) {
            packed_set_quad_word((params.packed_offset >> 4u) + odd_at, select(other, last, odd == 1u));
        }
    }
}
