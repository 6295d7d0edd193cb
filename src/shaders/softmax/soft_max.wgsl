// dst = softmax(scale * src + slope * mask) over each row; one workgroup a row. ALiBi's slope depends on the head, and
// a head's sink counts as one more value of its rows. Threads keep to their own values, so src may be dst.
#include "lib/grid.wgsl"
#include "lib/reduce.wgsl" as total
#define largest_LARGEST 1
#include "lib/reduce.wgsl" as largest
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "lib/unit_load.wgsl" as src
#include "lib/unit_load.wgsl" as dst
#include "lib/unit_store.wgsl" as dst
#if MASK
#include "codecs/{mask_TYPE}.wgsl" as mask
#include "lib/unit_load.wgsl" as mask
#endif
#if SINKS
#include "codecs/{sinks_TYPE}.wgsl" as sinks
#endif

const LOWEST = -3.4028234e38;

// 2^(-bias * (h + 1) / n) for the first n heads, n a power of two; the others take the odd steps between.
fn slope_of(head: u32) -> f32 {
    if (head < params.whole_steps) {
        return exp2(params.step_log2 * f32(head + 1u));
    }
    return exp2(0.5 * params.step_log2 * f32(2u * (head - params.whole_steps) + 1u));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let pos     = position(group, params.rows);
    let head    = params.first_head + pos.z;
    let src_row = at(pos, params.src_nb);
    let dst_row = at(pos, params.dst_nb);
#if MASK
    let slope    = slope_of(head);
    let mask_row = at(pos % params.mask_ne, params.mask_nb);
#endif

    var top = LOWEST;
#if SINKS
    let sink = sinks_value(head, 0u);
    top = max(top, sink);
#endif
    for (var i = local; i < params.units; i += WORKGROUP) {
        var x = params.scale * src_unit(src_row, i);
#if MASK
        x += slope * mask_unit(mask_row, i);
#endif
        top = max(top, largest_of(x));
    }
    top = largest(local, top);

    var sum = 0.0;
    for (var i = local; i < params.units; i += WORKGROUP) {
        var x = params.scale * src_unit(src_row, i);
#if MASK
        x += slope * mask_unit(mask_row, i);
#endif
        let masked = bitcast<UNIT_BITS>(x) == UNIT_BITS(0xff800000u); // -infinity, whatever exp makes of it
        let e      = select(exp(x - top), UNIT(0.0), masked);
        dst_store_unit(dst_row, i, e);
        sum += sum_of(e);
    }
    sum = total(local, sum);
#if SINKS
    sum += exp(sink - top);
#endif

    let part = 1.0 / sum;
    for (var i = local; i < params.units; i += WORKGROUP) {
        dst_store_unit(dst_row, i, dst_unit(dst_row, i) * part);
    }
}
