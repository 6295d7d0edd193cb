// dst = scale * sum of each piece of each row; one workgroup a piece. A row of several pieces takes a second step over
// their sums. EXACT: as if added up in twice the digits; PIECES: and stored so, as a sum and what it lost.
#include "lib/grid.wgsl"
#include "lib/reduce.wgsl" as total
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "lib/unit_load.wgsl" as src

#if EXACT
#include "reduce/exact.wgsl"
#endif

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let row   = at(position(group / params.pieces, params.rows), params.src_step);
    let first = group % params.pieces * params.piece;
    let end   = min(first + params.piece, params.units);
#if EXACT
    var exact = vec2<f32>();
    for (var i = first + local; i < end; i += WORKGROUP) {
        exact = plus_unit(exact, src_unit(row, i));
    }
    exact = exact_total(local, exact);
#else
    var sum   = 0.0;
    for (var i = first + local; i < end; i += WORKGROUP) {
        sum += sum_of(src_unit(row, i));
    }
    sum = total(local, sum);
#endif
    if (local == 0u) {
        let to = params.dst_first + at(position(group, params.dst_ne), params.dst_nb);
#if PIECES
        dst_store(to, exact.x);
        dst_store(to + 1u, exact.y);
#elif EXACT
        dst_store(to, rounded(exact));
#else
        dst_store(to, params.scale * sum);
#endif
    }
}
