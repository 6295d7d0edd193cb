// The end of a mat-vec: adds up the SUMS = ROWS x COLUMNS sums of the LANES threads of each row group and stores them.
// FOLD = min(SUMS, LANES, SUBGROUP_MIN).
#include "matmul/vec_work.wgsl"

fn store_sum(work: vec_work, row_group: u32, index: u32, sum: f32) {
    let row    = work.first_row + row_group * ROWS + index / COLUMNS;
    let column = index % COLUMNS;
    if (row < params.m && column < work.columns) {
        dst_store(work.d + row + column * params.dst_nb.y, sum);
    }
}

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
    index += select(0u, u32(SUMS / (2 << $s)), upper$s);
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
#repeat i SUMS / FOLD
        store_sum(work, local / LANES, index + $iu, (*sums)[$i]);
#end
    }
#else
    if (local % span < FOLD) {
#repeat i SUMS / FOLD
        partial[local / span * SUMS + index + $iu] = (*sums)[$i];
#end
    }
    workgroupBarrier();
    let parts = LANES / span;
    for (var i = local; i < WORKGROUP / LANES * SUMS; i += WORKGROUP) {
        var sum = 0.0;
        for (var part = 0u; part < parts; part++) {
            sum += partial[(i / SUMS * parts + part) * SUMS + i % SUMS];
        }
        store_sum(work, i / SUMS, i % SUMS, sum);
    }
#endif
}
#else
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
        store_sum(work, i / SUMS, i % SUMS, partial[i / SUMS * LANES][i % SUMS]);
    }
}
#endif
