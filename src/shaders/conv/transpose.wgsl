// CONV_TRANSPOSE: src[i] goes to dst[i * stride + tap]; so dst[o] is the sum over all i with a tap o - i * stride. An item is
// one place of dst in CHANNELS channels. Windows of src after the first add what they give.
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{filter_TYPE}.wgsl" as filter
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "conv/result.wgsl"

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = group_index(wid, nwg) * WORKGROUP + local;
    if (item >= params.count) {
        return;
    }
    let places        = params.count / ((params.dst_ne.w + CHANNELS - 1u) / CHANNELS);
    let first_channel = (item / places) * CHANNELS;
    let pos           = position(item % places, vec4<u32>(params.dst_ne.xyz, 0xffffffffu));
    let o             = pos.xyz + params.dst_first.xyz;
    let n             = src_batch(pos.w);
    // From the first i whose last tap is o to the last i whose first tap is o, within the window.
    let taps  = params.taps.xyz;
    let begin = max((max(o + 1u, taps) - taps + params.stride.xyz - 1u) / params.stride.xyz, params.src_first.xyz);
    let end   = min(o / params.stride.xyz + 1u, params.src_first.xyz + params.src_ne.xyz);
    var sums: array<f32, CHANNELS>;
    if (n < params.src_batches) {
        for (var channel = 0u; channel < params.src_ne.w; channel++) {
            for (var y = begin.y; y < end.y; y++) {
                for (var x = begin.x; x < end.x; x++) {
                    let i       = vec3<u32>(x, y, 0u);
                    let v       = src_value(src_at(i - params.src_first.xyz, channel, n), 0u);
                    let weights = at(vec4<u32>(o - i * params.stride.xyz, channel + params.src_first.w), params.filter_nb);
                    for (var c = 0u; c < CHANNELS; c++) {
                        let which = min(first_channel + c, params.dst_ne.w - 1u) + params.dst_first.w;
                        sums[c] += v * filter_value(weights + which * params.filter_out_nb, 0u);
                    }
                }
            }
        }
    }
    for (var c = 0u; c < min(CHANNELS, params.dst_ne.w - first_channel); c++) {
        let to = dst_at(pos.xyz, first_channel + c, pos.w);
        if (params.add != 0u) {
            sums[c] += dst_value(to, 0u);
        }
        dst_store(to, sums[c]);
    }
}
