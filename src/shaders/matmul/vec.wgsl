// Products with few columns, on floats: a thread takes eight neighbouring values of its rows and columns at a time.
#include "lib/grid.wgsl"
#include "matmul/operands.wgsl"
#include "matmul/vec_sums.wgsl"

fn add_octet(sums: ptr<function, array<f32, SUMS>>, work: vec_work, local: u32, octet: u32) {
#repeat r ROWS
    let a$r = load_a_octet(row_start(work, local, $ru), octet);
#end
#repeat c COLUMNS
    // A tile past the last column repeats it; its sums are not stored.
    let b$c = load_b_octet(work.b + min($cu, work.columns - 1u) * params.src1_nb.y, octet);
#repeat r ROWS
    (*sums)[$r * COLUMNS + $c] += dot(a$r[0], b$c[0]) + dot(a$r[1], b$c[1]);
#end
#end
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32
#if SUBGROUPS
        , @builtin(subgroup_size) lanes: u32, @builtin(subgroup_invocation_id) lane: u32
#endif
) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
#if !SUBGROUPS
    let lanes = 1u;
    let lane  = 0u;
#endif
    let work = find_work(group, local);
    if (work.columns == 0u) {
        return;
    }
    src0_prepare(local, WORKGROUP);

    // Two steps at a time, so that twice the loads are on their way.
    let octets = (params.k_quads + 1u) / 2u;
    var sums: array<f32, SUMS>;
    var octet = local % LANES;
    for (; octet + LANES < octets; octet += 2u * LANES) {
        add_octet(&sums, work, local, octet);
        add_octet(&sums, work, local, octet + LANES);
    }
    if (octet < octets) {
        add_octet(&sums, work, local, octet);
    }
    store_sums(&sums, work, local, lane, lanes);
}
