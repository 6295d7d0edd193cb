// Cuts the lists of matmul/route.wgsl into tiles of `columns` columns and lists these behind them: their number, then of each the
// expert and its first column in the expert's list. One workgroup.
#include "lib/scan.wgsl" as running

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(local_invocation_index) local: u32) {
    let counts = params.routes_offset >> 2u;
    let tiles  = counts + params.experts * (1u + params.capacity);
    var before = 0u;
    for (var first = 0u; first < params.experts; first += WORKGROUP) {
        let expert = first + local;
        var mine   = 0u;
        if (expert < params.experts) {
            mine = (routes_word(counts + expert) + params.columns - 1u) / params.columns;
        }
        let sums = running(local, f32(mine));
        for (var i = 0u; i < mine; i++) {
            let to = tiles + 1u + 2u * (before + u32(sums.before) + i);
            routes_set_word(to, expert);
            routes_set_word(to + 1u, i * params.columns);
        }
        before += u32(sums.all);
    }
    if (local == 0u) {
        routes_set_word(tiles, before);
    }
}
