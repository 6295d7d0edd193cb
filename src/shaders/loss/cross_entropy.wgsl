// dst[row] = sum(labels * log(softmax(logits))) of each row; one workgroup a row.
#include "lib/grid.wgsl"
#include "codecs/{logits_TYPE}.wgsl" as logits
#include "codecs/{labels_TYPE}.wgsl" as labels
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "loss/log_sum_exp.wgsl"
#include "lib/unit_load.wgsl" as labels

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let pos        = position(group, params.rows);
    let logits_row = at(pos, params.logits_nb);
    let labels_row = at(pos, params.labels_nb);
    let sums       = sums_of_row(local, logits_row);
    let log_sum    = log(sums.sum);

    var entropy = 0.0;
    for (var i = local; i < params.units; i += WORKGROUP) {
        entropy += sum_of(labels_unit(labels_row, i) * (logits_unit(logits_row, i) - sums.top - log_sum));
    }
    entropy = total(local, entropy);
    if (local == 0u) {
        dst_store(params.dst_first + group, entropy);
    }
}
