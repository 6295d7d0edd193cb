// The results of a token's experts, added up with their weights. A thread makes four values, or one.
#include "lib/grid.wgsl"
#include "lib/unit.wgsl"
#include "codecs/f32.wgsl" as results
#include "codecs/f32.wgsl" as weights
#include "codecs/f32.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i     = group_index(wid, nwg) * WORKGROUP + local;
    let units = params.values / UNIT_VALUES;
    let token = i / units;
    let value = i % units * UNIT_VALUES;
    if (token >= params.tokens) {
        return;
    }
    var sum = UNIT();
    for (var n = 0u; n < params.used; n++) {
        let weight = weights_value(token * params.used + n, 0u);
        let at     = token * params.results_nb.z + n * params.results_nb.y + value;
#if QUADS
        sum += weight * results_quad(at, 0u);
#else
        sum += weight * results_value(at, 0u);
#endif
    }
#if QUADS
    dst_store_quad(token * params.values + value, sum);
#else
    dst_store(token * params.values + value, sum);
#endif
}
