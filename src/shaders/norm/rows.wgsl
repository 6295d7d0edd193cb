// Each row of src normalised; one workgroup a row.
//     RMS      y = x / sqrt(mean(x^2) + eps)
//     L2       y = x / max(sqrt(sum(x^2)), eps)
//     else     y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps); what the mean lost when it was rounded is found and
//              taken off as well: of values close together and far from zero it is all that there is
// A row, which may be a slab of channels, is read again in every pass, from the cache. Threads keep to their own values, so
// src may be dst.
#include "lib/grid.wgsl"
#if !RMS && !L2
#define total_VALUE vec2<f32>
#endif
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
    var squares = 0.0;
    for (var i = local; i < units; i += WORKGROUP) {
        let v = src_unit(source, i);
        squares += sum_of(v * v);
    }
#if L2
    let scale = 1.0 / max(sqrt(total(local, squares)), params.eps);
#else
    let scale = 1.0 / sqrt(total(local, squares) * n_inv + params.eps);
#endif
    for (var i = local; i < units; i += WORKGROUP) {
        dst_store_unit(to, i, src_unit(source, i) * scale);
    }
#else
    var sum = 0.0;
    for (var i = local; i < units; i += WORKGROUP) {
        sum += sum_of(src_unit(source, i));
    }
    let mean = total(local, vec2<f32>(sum, 0.0)).x * n_inv;

    var sums = vec2<f32>(0.0); // of the differences and of their squares
    for (var i = local; i < units; i += WORKGROUP) {
        let v = src_unit(source, i) - mean;
        sums += vec2<f32>(sum_of(v), sum_of(v * v));
    }
    sums = total(local, sums) * n_inv;
    let lost  = sums.x;
    let scale = 1.0 / sqrt(max(sums.y - lost * lost, 0.0) + params.eps);
    for (var i = local; i < units; i += WORKGROUP) {
        dst_store_unit(to, i, (src_unit(source, i) - mean - lost) * scale);
    }
#endif
}
