// Joins the splits of one row: sums of V are weighted by how far the split's highest score lies below the highest of all.
// LANES threads share the columns; GROUPS such groups share the splits.
// QUANTISES: dst as the quantised columns of a product as well.
#include "lib/grid.wgsl"
#include "codecs/f32.wgsl" as partial
#include "codecs/f32.wgsl" as sinks
#include "codecs/f32.wgsl" as dst
#include "attention/result.wgsl"
#if QUANTISES
#include "matmul/quantise_quads.wgsl"
#endif

const V_QUADS = (v_SIZE + 3u) / 4u;
const STRIDE  = V_QUADS + 1u;
const GROUPS  = WORKGROUP / LANES;

var<workgroup> shared_max: array<f32, WORKGROUP>;
var<workgroup> shared_sum: array<f32, WORKGROUP>;
var<workgroup> columns: array<vec4<f32>, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let row = group_index(wid, nwg);
    if (row >= params.groups) {
        return;
    }
    let first = row * params.all_splits;

    // The highest score and the sum of the weights of all splits.
    var highest = -3.0e38;
    var sum     = 0.0;
    for (var s = local; s < params.all_splits; s += WORKGROUP) {
        let part = partial_quad(4u * ((first + s) * STRIDE + V_QUADS), 0u);
        let now  = max(highest, part.x);
        sum      = sum * exp(highest - now) + part.y * exp(part.x - now);
        highest  = now;
    }
    shared_max[local] = highest;
    shared_sum[local] = sum;
    workgroupBarrier();
    let used = min(WORKGROUP, params.all_splits);
    for (var i = 0u; i < used; i++) {
        highest = max(highest, shared_max[i]);
    }
    sum = 0.0;
    for (var i = 0u; i < used; i++) {
        sum += shared_sum[i] * exp(shared_max[i] - highest);
    }

    let c     = local % LANES;
    let group = local / LANES;
    for (var column = 0u; column < V_QUADS; column += LANES) {
        let quad = column + c;
        var o    = vec4<f32>();
        if (quad < V_QUADS && group < GROUPS) {
            for (var s = group; s < params.all_splits; s += GROUPS) {
                let part = partial_quad(4u * ((first + s) * STRIDE + V_QUADS), 0u);
                o += exp(part.x - highest) * partial_quad(4u * ((first + s) * STRIDE + quad), 0u);
            }
        }
        workgroupBarrier();
        columns[local] = o;
        workgroupBarrier();
        let mine = group == 0u && quad < V_QUADS;
        if (mine) {
            for (var g = 1u; g < GROUPS; g++) {
                o += columns[g * LANES + c];
            }
            let head     = row % params.heads;
            let position = row / params.heads % params.positions;
            let batch    = row / params.heads / params.positions;
            o = normalised(head, o, highest, sum);
            store_row_quad(position, head, batch, quad, o);
        }
#if QUANTISES
        quantise_quads(select(0xffffffffu, row * V_QUADS + quad, mine), array<vec4<f32>, 1>(o));
#endif
    }
}
