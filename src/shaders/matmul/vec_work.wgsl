// What a mat-vec workgroup makes: LANES threads share a row group of ROWS rows, WORKGROUP / LANES groups of consecutive rows
// lie side by side, and all take the same COLUMNS columns. With ID a column is one (slot, token) pair and its matrix is the
// expert that ids names.
#include "codecs/f32.wgsl" as dst
#if ID
#include "lib/fault.wgsl"
#endif

const ROW_TILE = WORKGROUP / LANES * ROWS;

struct vec_work {
    first_row: u32,
    columns: u32,  // 0: nothing to do
    block: u32,    // number of these columns among all blocks of COLUMNS columns of src1
    a: u32,        // first block of src0's matrix
    b: u32,        // first value of src1's column
    d: u32,        // first value of dst's column
}

#if ID
var<workgroup> the_expert: u32;

fn find_work(group: u32, local: u32) -> vec_work {
    let rest  = group / params.row_tiles;
    var slot  = rest;
    var token = 0u;
    if (rest >= params.slots) {
        slot  = rest % params.slots;
        token = rest / params.slots;
    }
    if (local == 0u) {
        the_expert = src2_word((params.src2_offset >> 2u) + slot * params.src2_nb.x + token * params.src2_nb.y);
    }
    let chosen = workgroupUniformLoad(&the_expert);
    let expert = chosen - params.first_expert;  // in the bound window
    if (expert >= params.experts && local == 0u && chosen >= params.all_experts) {
        raise_fault();
    }
    let src1_slot = slot % params.src1_slots;
    var work: vec_work;
    work.first_row = (group % params.row_tiles) * ROW_TILE;
    work.columns   = select(0u, 1u, expert < params.experts);
    work.block     = token * params.src1_slots + src1_slot;
    work.a         = expert * params.src0_nb.z;
    work.b         = src1_slot * params.src1_nb.y + token * params.src1_nb.z;
    work.d         = slot * params.dst_nb.y + token * params.dst_nb.z;
    return work;
}
#else
fn find_work(group: u32, local: u32) -> vec_work {
    var work: vec_work;
    // The first columns of the first batch, often all there is, need no divisions, which would keep the first load waiting.
    if (group < params.row_tiles) {
        work.first_row = group * ROW_TILE;
        work.columns   = min(COLUMNS, params.n);
        return work;
    }
    let rest  = group / params.row_tiles;
    let first = (rest % params.column_tiles) * COLUMNS;
    let batch = rest / params.column_tiles;
    let i2    = batch % params.batches2;
    let i3    = batch / params.batches2;
    work.first_row = (group % params.row_tiles) * ROW_TILE;
    work.columns   = min(COLUMNS, params.n - first);
    work.block     = rest;
    work.a         = (i2 / params.repeat2) * params.src0_nb.z + (i3 / params.repeat3) * params.src0_nb.w;
    work.b         = first * params.src1_nb.y + i2 * params.src1_nb.z + i3 * params.src1_nb.w;
    work.d         = first * params.dst_nb.y + i2 * params.dst_nb.z + i3 * params.dst_nb.w;
    return work;
}
#endif

// First block of row `r` of a thread's row group; rows past the last repeat it, their sums are not stored.
fn row_start(work: vec_work, local: u32, r: u32) -> u32 {
    return work.a + min(work.first_row + local / LANES * ROWS + r, params.m - 1u) * params.src0_nb.y;
}
