// Products with few columns, on floats: a thread takes four neighbouring values of its rows and columns at a time.
#include "lib/grid.wgsl"
#include "matmul/operands.wgsl"
#include "matmul/vec_sums.wgsl"

fn add_quad(sums: ptr<function, array<f32, SUMS>>, work: vec_work, local: u32, kq: u32) {
#repeat r ROWS
    let a$r = load_a(row_start(work, local, $ru), kq);
#end
#repeat c COLUMNS
    {
        // A tile past the last column repeats it; its sums are not stored.
        let b = load_b(work.b + min($cu, work.columns - 1u) * params.src1_nb.y, kq);
#repeat r ROWS
        (*sums)[$r * COLUMNS + $c] = fma(a$r.x, b.x, fma(a$r.y, b.y, fma(a$r.z, b.z, fma(a$r.w, b.w, (*sums)[$r * COLUMNS + $c]))));
#end
    }
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

    // Several steps at once, so that more loads are on their way.
    var sums: array<f32, SUMS>;
    var kq = local % LANES;
#if UNROLL > 1
    for (; kq + (UNROLL - 1) * LANES < params.k_quads; kq += UNROLL * LANES) {
#repeat i UNROLL
        add_quad(&sums, work, local, kq + $i * LANES);
#end
    }
#endif
    for (; kq < params.k_quads; kq += LANES) {
        add_quad(&sums, work, local, kq);
    }
    store_sums(&sums, work, local, lane, lanes);
}
