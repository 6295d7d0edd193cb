// dst = src quantised, in the order of their values: one block of dst an invocation. src_step is the stride of
// src's values where a block of dst stays within a row of it, else 0.
#define dst_ENCODE 1
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "copy/order.wgsl" as src
#include "copy/order.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    src_prepare(local, WORKGROUP);
    dst_prepare(local, WORKGROUP);
    let first = (group * WORKGROUP + local) * dst_BLOCK_VALUES;
    if (first >= params.count) {
        return;
    }
    var v: array<f32, dst_BLOCK_VALUES>;
    if (params.src_step != 0u) {
        let source = src_block(first);
        for (var i = 0u; i < dst_BLOCK_VALUES; i++) {
            v[i] = src_value(source + i * params.src_step, 0u);
        }
    } else {
        for (var i = 0u; i < dst_BLOCK_VALUES; i++) {
            v[i] = src_value(src_block(first + i), src_in_block(first + i));
        }
    }
    dst_encode(dst_block(first), &v);
}
