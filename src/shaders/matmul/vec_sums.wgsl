// The end of a mat-vec: adds up the sums of the LANES threads of each row group and stores the RESULTS = ROWS x COLUMNS values that
// come of them. A value is the sum of its row and column; with MATRICES == 2 it is a gated linear unit, OP, over the sums of src0 and
// of `up`, which lie side by side: SUMS = RESULTS x MATRICES. FOLD = min(RESULTS, LANES, SUBGROUP_MIN).
// QUANTISES: dst as the quantised columns of a product as well.
#include "matmul/vec_work.wgsl"
#if MATRICES == 2
#include "elementwise/functions.wgsl"
#endif
#if QUANTISES
#include "matmul/quantise_quads.wgsl"

var<workgroup> made: array<f32, ROW_TILE * COLUMNS>;
#endif

fn store_result(work: vec_work, row_group: u32, index: u32, sums: array<f32, MATRICES>) {
    let row_of_tile = row_group * ROWS + index / COLUMNS;
    let row         = work.first_row + row_of_tile;
    let column      = index % COLUMNS;
#if MATRICES == 2
    let y = OP(sums[0], sums[1]);
#else
    let y = sums[0];
#endif
    if (row < params.m && column < work.columns) {
        dst_store(work.d + row + column * params.dst_nb.y, y);
    }
#if QUANTISES
    made[column * ROW_TILE + row_of_tile] = y;
#endif
}

#if QUANTISES
// What the workgroup has made, whole blocks of 32 rows.
fn quantise_results(work: vec_work, local: u32) {
    const quads = ROW_TILE / 4u; // of a column
    workgroupBarrier();
    for (var first = 0u; first < quads * COLUMNS; first += WORKGROUP) {
        let i      = first + local;
        let column = i / quads;
        let row    = work.first_row + 4u * (i % quads);
        let used   = column < work.columns && row < params.m;
        var v      = vec4<f32>();
        if (used) {
            v = vec4<f32>(made[4u * i], made[4u * i + 1u], made[4u * i + 2u], made[4u * i + 3u]);
        }
        quantise_quads(select(0xffffffffu, (work.d + row + column * params.dst_nb.y) / 4u, used), array<vec4<f32>, 1>(v));
    }
}
#endif

#if SUBGROUPS
#if LANES > SUBGROUP_MIN
var<workgroup> partial: array<f32, WORKGROUP / SUBGROUP_MIN * SUMS>;
#endif

fn store_sums(sums: ptr<function, array<f32, SUMS>>, work: vec_work, local: u32, lane: u32, lanes: u32) {
    // Each exchange halves the sums that a thread holds: one of two lanes goes on with the upper half, the other with the lower.
    var index = 0u;
#repeat s 5
#if FOLD > (1 << $s)
    let upper$s = (lane & (1u << $su)) != 0u;
    index += select(0u, u32(RESULTS / (2 << $s)), upper$s);
#repeat i SUMS / (2 << $s)
    let low$s_$i  = (*sums)[$i];
    let high$s_$i = (*sums)[$i + SUMS / (2 << $s)];
    (*sums)[$i] = select(low$s_$i, high$s_$i, upper$s) + subgroupShuffleXor(select(high$s_$i, low$s_$i, upper$s), 1u << $su);
#end
#endif
#end
    let span = min(u32(LANES), lanes);
    for (var bit = u32(FOLD); bit < span; bit *= 2u) {
#repeat i SUMS / FOLD
        (*sums)[$i] += subgroupShuffleXor((*sums)[$i], bit);
#end
    }
#if LANES <= SUBGROUP_MIN
    if (local % LANES < FOLD) {
#repeat i RESULTS / FOLD
        store_result(work, local / LANES, index + $iu, array<f32, MATRICES>(
#repeat t MATRICES
            (*sums)[$i * MATRICES + $t],
#end
        ));
#end
    }
#else
    if (local % span < FOLD) {
#repeat i SUMS / FOLD
        partial[local / span * SUMS + index * MATRICES + $iu] = (*sums)[$i];
#end
    }
    workgroupBarrier();
    let parts = LANES / span;
    for (var i = local; i < WORKGROUP / LANES * RESULTS; i += WORKGROUP) {
        var all = array<f32, MATRICES>();
        for (var part = 0u; part < parts; part++) {
#repeat t MATRICES
            all[$t] += partial[(i / RESULTS * parts + part) * SUMS + i % RESULTS * MATRICES + $tu];
#end
        }
        store_result(work, i / RESULTS, i % RESULTS, all);
    }
#endif
#if QUANTISES
    quantise_results(work, local);
#endif
}
#else
// One matrix.
var<workgroup> partial: array<array<f32, SUMS>, WORKGROUP>;

fn store_sums(sums: ptr<function, array<f32, SUMS>>, work: vec_work, local: u32, lane: u32, lanes: u32) {
    partial[local] = *sums;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if (local % LANES < half) {
            for (var i = 0u; i < SUMS; i++) {
                partial[local][i] += partial[local + half][i];
            }
        }
        workgroupBarrier();
    }
    for (var i = local; i < WORKGROUP / LANES * SUMS; i += WORKGROUP) {
        store_result(work, i / SUMS, i % SUMS, array<f32, 1>(partial[i / SUMS * LANES][i % SUMS]));
    }
}
#endif
