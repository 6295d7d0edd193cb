// dst = src / sqrt(mean(src^2) + eps) * weight, the weight repeated over the rows; one workgroup a row.
// ADDEND: src + addend in src's place, kept in sum. Threads keep to their own values.
// HELD: a row is short enough that each thread holds so many of its units. QUANTISES: dst as the quantised columns of a product as well.
#include "lib/grid.wgsl"
#include "lib/reduce.wgsl" as total
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{weight_TYPE}.wgsl" as weight
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "lib/unit_load.wgsl" as src
#include "lib/unit_load.wgsl" as weight
#include "lib/unit_store.wgsl" as dst
#if QUANTISES
#include "matmul/quantise_quads.wgsl"
#endif
#if ADDEND
#include "codecs/{addend_TYPE}.wgsl" as addend
#include "codecs/{sum_TYPE}.wgsl" as sum
#include "lib/unit_load.wgsl" as addend
#include "lib/unit_load.wgsl" as sum
#include "lib/unit_store.wgsl" as sum
#endif

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let pos    = position(group, vec4<u32>(1u, params.dst_ne.yzw));
    let source = at(pos, params.src_nb);
    let factor = at(pos % params.weight_ne, params.weight_nb);
    let to     = at(pos, params.dst_nb);
#if QUADS
    let units = params.length / 4u;
#else
    let units = params.length;
#endif
#if ADDEND
    let kept  = at(pos, params.sum_nb);
    let added = at(pos, params.addend_nb);
#endif

    var squares = 0.0;
#if HELD
#repeat u HELD
    let i$u = local + $uu * WORKGROUP;
    var v$u = UNIT();
    var w$u = UNIT(); // loaded before it is needed
    if (i$u < units) {
        v$u = src_unit(source, i$u);
#if ADDEND
        v$u += addend_unit(added, i$u);
        sum_store_unit(kept, i$u, v$u);
#endif
        w$u = weight_unit(factor, i$u);
    }
    squares += sum_of(v$u * v$u);
#end
    let scale = 1.0 / sqrt(total(local, squares) / f32(params.length) + params.eps);
#repeat u HELD
    let y$u = v$u * scale * w$u;
    if (i$u < units) {
        dst_store_unit(to, i$u, y$u);
    }
#if QUANTISES
    quantise_quads(select(0xffffffffu, group * units + i$u, i$u < units), array<vec4<f32>, 1>(y$u));
#endif
#end
#else
    for (var i = local; i < units; i += WORKGROUP) {
#if ADDEND
        sum_store_unit(kept, i, src_unit(source, i) + addend_unit(added, i));
        let v = sum_unit(kept, i);  // as rounded by its type
#else
        let v = src_unit(source, i);
#endif
        squares += sum_of(v * v);
    }
    let scale = 1.0 / sqrt(total(local, squares) / f32(params.length) + params.eps);

    for (var i = local; i < units; i += WORKGROUP) {
#if ADDEND
        let v = sum_unit(kept, i);
#else
        let v = src_unit(source, i);
#endif
#if QUADS
        let w = weight_unit(factor, i);
#else
        let w = weight_value(factor + (i % params.weight_ne.x) * params.weight_nb.x, 0u);
#endif
        dst_store_unit(to, i, v * scale * w);
    }
#endif
}
