// Joins the splits of one row: sums of V are weighted by how far the split's highest score lies below the highest of all.
// LANES threads have a quad each; GROUPS such groups share the splits, and first issue the loads of UNROLL splits each.
// QUANTISES: dst as the quantised columns of a product as well.
#include "lib/grid.wgsl"
#include "codecs/f32.wgsl" as partial
#include "codecs/f32.wgsl" as sinks
#include "codecs/f32.wgsl" as dst
#include "attention/result.wgsl"
#define most_LARGEST 1
#include "lib/reduce.wgsl" as most
#include "lib/reduce.wgsl" as total
#if QUANTISES
#include "matmul/quantise_quads.wgsl"
#endif

const V_QUADS = (v_SIZE + 3u) / 4u;
const STRIDE  = V_QUADS + 1u;
const GROUPS  = WORKGROUP / LANES;
const LOWEST  = -3.0e38;

var<workgroup> columns: array<vec4<f32>, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let row = group_index(wid, nwg);
    if (row >= params.groups) {
        return;
    }
    let first = row * params.all_splits;
    let quad  = local % LANES;
    let group = local / LANES;
#repeat u UNROLL
    let split_$u = first + min(group + $uu * GROUPS, params.all_splits - 1u);
    let part_$u  = partial_quad(4u * (split_$u * STRIDE + quad), 0u);
    let most_$u  = partial_quad(4u * (split_$u * STRIDE + V_QUADS), 0u).x;
#end

    // The highest score and the sum of the weights of all splits.
    var highest = LOWEST;
    var sum     = 0.0;
    for (var s = local; s < params.all_splits; s += WORKGROUP) {
        let part = partial_quad(4u * ((first + s) * STRIDE + V_QUADS), 0u);
        let now  = max(highest, part.x);
        sum      = sum * exp(highest - now) + part.y * exp(part.x - now);
        highest  = now;
    }
    let highest_of_all = most(local, highest);
    let sum_of_all     = total(local, sum * exp(highest - highest_of_all));

    var o = vec4<f32>();
#repeat u UNROLL
    o += select(0.0, exp(most_$u - highest_of_all), group + $uu * GROUPS < params.all_splits) * part_$u;
#end
    for (var s = group + UNROLL * GROUPS; s < params.all_splits; s += GROUPS) {
        let most_here = partial_quad(4u * ((first + s) * STRIDE + V_QUADS), 0u).x;
        o += exp(most_here - highest_of_all) * partial_quad(4u * ((first + s) * STRIDE + quad), 0u);
    }
    columns[local] = o;
    workgroupBarrier();
    if (group == 0u) {
        for (var g = 1u; g < GROUPS; g++) {
            o += columns[g * LANES + quad];
        }
        let head     = row % params.heads;
        let position = row / params.heads % params.positions;
        let batch    = row / params.heads / params.positions;
        o = normalised(head, o, highest_of_all, sum_of_all);
        store_row_quad(position, head, batch, quad, o);
    }
#if QUANTISES
    quantise_quads(select(0xffffffffu, row * V_QUADS + quad, group == 0u), array<vec4<f32>, 1>(o));
#endif
}
