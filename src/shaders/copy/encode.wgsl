// dst = src quantised, in the order of their values: one block of dst an invocation or, where its encoder is for a workgroup
// (TOGETHER), a workgroup. src_step is the stride of src's values where a block of dst stays within a row of it, else 0.
#define dst_ENCODE 1
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "copy/order.wgsl" as src
#include "copy/order.wgsl" as dst
#if TOGETHER
const own_values = dst_BLOCK_VALUES / WORKGROUP;
#else
const own_values = dst_BLOCK_VALUES;
#endif

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    src_prepare(local, WORKGROUP);
    dst_prepare(local, WORKGROUP);
    let first = (group * WORKGROUP + local) * own_values;
#if !TOGETHER
    if (first >= params.count) {
        return;
    }
#endif
    var v: array<f32, own_values>;
    if (params.src_step != 0u) {
        let source = src_block(first);
        for (var i = 0u; i < own_values; i++) {
            v[i] = src_value(source + i * params.src_step, 0u);
        }
    } else {
        for (var i = 0u; i < own_values; i++) {
            v[i] = src_value(src_block(first + i), src_in_block(first + i));
        }
    }
#if TOGETHER
    let d = dst_search(local, &v);
    if (local == 0u) {
        dst_encode(dst_block(first), d);
    }
#else
    dst_encode(dst_block(first), &v);
#endif
}
