// Products of quantised weights with few columns, on integers: matmul/quantise.wgsl has made signed bytes of the columns, and
// a thread multiplies 64 of them at a time with the integer view of its rows.
#define src0_PACKED 1
#define up_PACKED 1
#include "lib/grid.wgsl"
#include "codecs/{src0_TYPE}.wgsl" as src0
#if MATRICES == 2
#include "codecs/{up_TYPE}.wgsl" as up
#endif
#include "matmul/columns.wgsl" as src1
#include "matmul/vec_sums.wgsl"

fn dot_sixteen(a: vec4<u32>, b: vec4<u32>) -> i32 {
    return dot4I8Packed(a.x, b.x) + dot4I8Packed(a.y, b.y) + dot4I8Packed(a.z, b.z) + dot4I8Packed(a.w, b.w);
}

// `rows`: where they lie, each matrix's after another; `columns`: the tile's.
fn add_unit(sums: ptr<function, array<f32, SUMS>>, rows: array<u32, MATRICES * ROWS>, columns: u32, unit: u32) {
#repeat t MATRICES
#repeat r ROWS
#if $t == 0
    var a$t_$r = src0_packed(rows[$r], unit);
#else
    var a$t_$r = up_packed(rows[ROWS + $r], unit);
#endif
#if HALF_UNIT
    // A row ends in the middle of its last unit; what follows may be a NaN.
    if (2u * unit + 1u == params.k_blocks) {
        a$t_$r.scale.y  = 0.0;
        a$t_$r.offset.y = 0.0;
    }
#endif
#end
#end
    // All columns of a tile are there, if only in part with values: sums of those past the last are not stored.
    // (The mask says that no sum overflows, as in codecs/parts/windows.wgsl.)
    let at = (columns + unit / src1_PAGE_UNITS * (COLUMNS * src1_PAGE) + unit % src1_PAGE_UNITS) & 0x0fffffffu;
#repeat c COLUMNS
    {
        let x0 = src1_quad_word(at + $cu * src1_PAGE);
        let x1 = src1_quad_word(at + $cu * src1_PAGE + src1_PAGE_UNITS);
        let x2 = src1_quad_word(at + $cu * src1_PAGE + 2u * src1_PAGE_UNITS);
        let x3 = src1_quad_word(at + $cu * src1_PAGE + 3u * src1_PAGE_UNITS);
        let s  = bitcast<vec4<f32>>(src1_quad_word(at + $cu * src1_PAGE + 4u * src1_PAGE_UNITS));
#if SPREAD
        let x_scale = s;
#if src0_OFFSETS
        let x_sum = bitcast<vec4<f32>>(src1_quad_word(at + $cu * src1_PAGE + 5u * src1_PAGE_UNITS));
#endif
#elif src0_SCALES == 4
        let x_scale = s.xxzz;
#else
        let x_scale = s.xz;
        let x_sum   = s.yw;
#endif
#repeat t MATRICES
#repeat r ROWS
        {
            let i0 = dot_sixteen(a$t_$r.q0, x0);
            let i1 = dot_sixteen(a$t_$r.q1, x1);
            let i2 = dot_sixteen(a$t_$r.q2, x2);
            let i3 = dot_sixteen(a$t_$r.q3, x3);
            var sum = (*sums)[($r * COLUMNS + $c) * MATRICES + $t];
#if src0_SCALES == 4
            let scale = a$t_$r.scale * x_scale;
            sum = fma(scale.x, f32(i0), fma(scale.y, f32(i1), fma(scale.z, f32(i2), fma(scale.w, f32(i3), sum))));
#if src0_OFFSETS
            sum = fma(a$t_$r.offset.x, x_sum.x, fma(a$t_$r.offset.y, x_sum.y, fma(a$t_$r.offset.z, x_sum.z, fma(a$t_$r.offset.w, x_sum.w, sum))));
#endif
#else
            let scale = a$t_$r.scale.xy * x_scale;
            sum = fma(scale.x, f32(i0 + i1), fma(scale.y, f32(i2 + i3), sum));
#if src0_OFFSETS
            sum = fma(a$t_$r.offset.x, x_sum.x, fma(a$t_$r.offset.y, x_sum.y, sum));
#endif
#endif
            (*sums)[($r * COLUMNS + $c) * MATRICES + $t] = sum;
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
    src0_packed_prepare(local, WORKGROUP);

    var rows: array<u32, MATRICES * ROWS>;
#repeat r ROWS
    rows[$r] = src0_row_at(row_start(work, local, $ru));
#if MATRICES == 2
    rows[ROWS + $r] = up_row_at(row_start(work, local, $ru));
#endif
#end
    let columns = (params.src1_offset >> 4u) + work.block * params.src1_pages * (COLUMNS * src1_PAGE);

    var sums: array<f32, SUMS>;
    var unit = local % LANES;
#if UNROLL > 1
    for (; unit + (UNROLL - 1) * LANES < params.units; unit += UNROLL * LANES) {
#repeat i UNROLL
        add_unit(&sums, rows, columns, unit + $i * LANES);
#end
    }
#endif
    for (; unit < params.units; unit += LANES) {
        add_unit(&sums, rows, columns, unit);
    }
    store_sums(&sums, work, local, lane, lanes);
}
