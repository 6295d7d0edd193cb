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

fn place_of(group: u32, local: u32) -> Place {
    let thread = group * WORKGROUP + local;
    let rows   = params.rows * params.heads * params.seqs;
    let index  = min(thread / TEAM, rows - 1u);
    let head   = index / params.rows;
    return Place(thread / TEAM < rows, thread % TEAM, index % params.rows, head % params.heads, head / params.heads);
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
