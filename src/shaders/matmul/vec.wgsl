// Products with few columns, on floats: a thread takes four neighbouring values of its rows and columns at a time.
#include "lib/grid.wgsl"
#include "matmul/operands.wgsl"
#if MATRICES == 2
#include "codecs/{up_TYPE}.wgsl" as up
#include "matmul/row_quad.wgsl" as up
#endif
#include "matmul/vec_sums.wgsl"

fn add_quad(sums: ptr<function, array<f32, SUMS>>, work: vec_work, local: u32, kq: u32) {
#repeat r ROWS
    let a0_$r = src0_row_quad(row_start(work, local, $ru), kq);
#if MATRICES == 2
    let a1_$r = up_row_quad(row_start(work, local, $ru), kq);
#endif
#end
#repeat c COLUMNS
    {
        // A tile past the last column repeats it; its sums are not stored.
        let b = load_b(work.b + min($cu, work.columns - 1u) * params.src1_nb.y, kq);
#repeat t MATRICES
#repeat r ROWS
        {
            let sum = (*sums)[($r * COLUMNS + $c) * MATRICES + $t];
            (*sums)[($r * COLUMNS + $c) * MATRICES + $t] = fma(a$t_$r.x, b.x, fma(a$t_$r.y, b.y, fma(a$t_$r.z, b.z, fma(a$t_$r.w, b.w, sum))));
        }
#end
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
