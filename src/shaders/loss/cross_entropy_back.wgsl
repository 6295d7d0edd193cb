// dst = (softmax(logits) - labels) * grad * scale; one workgroup a row.
#include "lib/grid.wgsl"
#include "codecs/{grad_TYPE}.wgsl" as grad
#include "codecs/{logits_TYPE}.wgsl" as logits
#include "codecs/{labels_TYPE}.wgsl" as labels
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "loss/log_sum_exp.wgsl"
#include "lib/unit_load.wgsl" as labels
#include "lib/unit_store.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let pos        = position(group, params.rows);
    let logits_row = at(pos, params.logits_nb);
    let labels_row = at(pos, params.labels_nb);
    let dst_row    = at(pos, params.dst_nb);
    let sums       = sums_of_row(local, logits_row);
    let part       = 1.0 / sums.sum;
    let scale      = params.scale * grad_value(0u, 0u);
    for (var i = local; i < params.units; i += WORKGROUP) {
        let probability = exp(logits_unit(logits_row, i) - sums.top) * part;
        dst_store_unit(dst_row, i, (probability - labels_unit(labels_row, i)) * scale);
    }
}
