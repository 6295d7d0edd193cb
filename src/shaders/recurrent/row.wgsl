// Rows of the state of a recurrence. A head has a matrix; each of its rows belongs to one output and has SIZE values, which TEAM
// neighbouring threads of a subgroup share: each keeps every TEAMth quad in registers while it walks over the tokens.
#include "lib/grid.wgsl"

const QUADS = (SIZE + 3u) / 4u;
const SHARE = (QUADS + TEAM - 1u) / TEAM;

alias Row = array<vec4<f32>, SHARE>;

struct Place {
    real: bool,  // threads past the last row repeat it, but store nothing
    lane: u32,   // within the team
    row: u32,    // of the head's matrix
    head: u32,
    seq: u32,
}

// A workgroup serves rows of one head, so that the head is the same for all its threads in a form that compilers see; with
// ACROSS_HEADS, for heads of few rows, whatever rows come next.
fn place_of(group: u32, local: u32) -> Place {
    const rows_a_group = WORKGROUP / TEAM;
#if ACROSS_HEADS
    let rows  = params.rows * params.heads * params.seqs;
    let index = group * rows_a_group + local / TEAM;
    let row   = min(index, rows - 1u);
    let head  = row / params.rows;
    return Place(index < rows, local % TEAM, row % params.rows, head % params.heads, head / params.heads);
#else
    let blocks = (params.rows + rows_a_group - 1u) / rows_a_group;
    let row    = (group % blocks) * rows_a_group + local / TEAM;
    let head   = group / blocks;
    return Place(row < params.rows, local % TEAM, min(row, params.rows - 1u), head % params.heads, head / params.heads);
#endif
}

fn team_sum(x: vec4<f32>) -> vec4<f32> {
    var sum = x;
    for (var step = 1u; step < TEAM; step *= 2u) {
#if TEAM > 1
        sum += subgroupShuffleXor(sum, step);
#endif
    }
    return sum;
}
