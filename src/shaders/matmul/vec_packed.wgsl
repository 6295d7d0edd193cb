// Products of quantised weights with few columns, on integers: matmul/quantise.wgsl has made signed bytes of the columns, and
// a thread multiplies 64 of them at a time with the integer view of its rows.
#define src0_PACKED 1
#include "lib/grid.wgsl"
#include "codecs/{src0_TYPE}.wgsl" as src0
#include "matmul/vec_sums.wgsl"

// Quads of scales a unit, see matmul/quantise.wgsl.
#if SPREAD
const SCALE_QUADS = 2u;
#else
const SCALE_QUADS = 1u;
#endif

fn dot_sixteen(a: vec4<u32>, b: vec4<u32>) -> i32 {
    return dot4I8Packed(a.x, b.x) + dot4I8Packed(a.y, b.y) + dot4I8Packed(a.z, b.z) + dot4I8Packed(a.w, b.w);
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

    let units = params.units;
#repeat r ROWS
    let row$r = row_start(work, local, $ru);
#end
#repeat c COLUMNS
    // A tile past the last column repeats it; its sums are not stored.
    let column$c = work.column + min($cu, work.columns - 1u);
    let quants$c = (params.quants_offset >> 4u) + 4u * column$c * units;
    let scales$c = (params.scales_offset >> 4u) + SCALE_QUADS * column$c * units;
#end

    var sums: array<f32, SUMS>;
    for (var unit = local % LANES; unit < units; unit += LANES) {
#repeat r ROWS
        var a$r = src0_packed(row$r, unit);
#if HALF_UNIT
        // A row ends in the middle of its last unit; what follows may be a NaN.
        if (2u * unit + 1u == params.k_blocks) {
            a$r.scale.y  = 0.0;
            a$r.offset.y = 0.0;
        }
#endif
#end
#repeat c COLUMNS
        {
            let x0 = quants_quad_word(quants$c + unit);
            let x1 = quants_quad_word(quants$c + units + unit);
            let x2 = quants_quad_word(quants$c + 2u * units + unit);
            let x3 = quants_quad_word(quants$c + 3u * units + unit);
            let s  = bitcast<vec4<f32>>(scales_quad_word(scales$c + unit));
#if SPREAD
            let x_scale = s;
#if src0_OFFSETS
            let x_sum = bitcast<vec4<f32>>(scales_quad_word(scales$c + units + unit));
#endif
#elif src0_SCALES == 4
            let x_scale = s.xxzz;
#else
            let x_scale = s.xz;
            let x_sum   = s.yw;
#endif
#repeat r ROWS
            {
                let i0 = dot_sixteen(a$r.q0, x0);
                let i1 = dot_sixteen(a$r.q1, x1);
                let i2 = dot_sixteen(a$r.q2, x2);
                let i3 = dot_sixteen(a$r.q3, x3);
#if src0_SCALES == 4
                var sum = dot(a$r.scale * x_scale, vec4<f32>(vec4<i32>(i0, i1, i2, i3)));
#if src0_OFFSETS
                sum += dot(a$r.offset, x_sum);
#endif
#else
                var sum = dot(a$r.scale.xy * x_scale, vec2<f32>(vec2<i32>(i0 + i1, i2 + i3)));
#if src0_OFFSETS
                sum += dot(a$r.offset.xy, x_sum);
#endif
#endif
                sums[$r * COLUMNS + $c] += sum;
            }
#end
        }
#end
    }
    store_sums(&sums, work, local, lane, lanes);
}
