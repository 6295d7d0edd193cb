// Each row of src normalised; one workgroup a row.
//     RMS      y = x / sqrt(mean(x^2) + eps)
//     L2       y = x / max(sqrt(sum(x^2)), eps)
//     else     y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps)
// A row, which may be a slab of channels, is read again in every pass, from the cache. Threads keep to their own values, so
// src may be dst.
#include "lib/grid.wgsl"
#include "lib/reduce.wgsl" as total
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "lib/unit_load.wgsl" as src
#include "lib/unit_store.wgsl" as dst

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let pos    = position(group, params.rows);
    let source = at(pos, params.src_step);
    let to     = at(pos, params.dst_step);
    let n      = min(params.length, params.extent - pos.x * params.length);
    let n_inv  = 1.0 / f32(n);
#if QUADS
    let units = n / 4u;
#else
    let units = n;
#endif

#if RMS || L2
    let mean = 0.0;
#else
    var sum = 0.0;
    for (var i = local; i < units; i += WORKGROUP) {
        sum += sum_of(src_unit(source, i));
    }
    let mean = total(local, sum) * n_inv;
#endif

    var squares = 0.0;
    for (var i = local; i < units; i += WORKGROUP) {
        let v = src_unit(source, i) - mean;
        squares += sum_of(v * v);
    }
#if L2
    let scale = 1.0 / max(sqrt(total(local, squares)), params.eps);
#else
    let scale = 1.0 / sqrt(total(local, squares) * n_inv + params.eps);
#endif

    for (var i = local; i < units; i += WORKGROUP) {
        dst_store_unit(to, i, (src_unit(source, i) - mean) * scale);
    }
}
