// Convolution by definition: an item is one place of dst in CHANNELS channels, each the sum over the taps and channels of a
// filter. DEPTHWISE: filter i sees channel i alone, and CHANNELS is 1. Windows of src after the first add what they give.
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
    // Neighbours in the memory of dst are neighbouring items.
    let channel_groups = (params.dst_ne.w + CHANNELS - 1u) / CHANNELS;
    let places         = params.count / channel_groups;
    let place          = select(item % places, item / channel_groups, params.channels_inner != 0u);
    let first_channel  = select(item / places, item % channel_groups, params.channels_inner != 0u) * CHANNELS;
    let pos            = position(place, vec4<u32>(params.dst_ne.xyz, 0xffffffffu));
    let o              = pos.xyz;
    let n              = src_batch(pos.w);
    let start          = field_start(o);
    var sums: array<f32, CHANNELS>;
    if (n < params.src_batches) {
#if DEPTHWISE
        let own   = first_channel + params.dst_first.w - params.src_first.w;
        let begin = min(own, params.src_ne.w);
        let end   = min(begin + 1u, params.src_ne.w);
#else
        let begin = 0u;
        let end   = params.src_ne.w;
#endif
        for (var channel = begin; channel < end; channel++) {
            for (var z = 0u; z < params.taps.z; z++) {
                for (var y = 0u; y < params.taps.y; y++) {
                    for (var x = 0u; x < params.taps.x; x++) {
                        let tap = vec3<u32>(x, y, z);
                        let i   = start + tap * params.dilation.xyz;
                        if (!src_inside(i)) {
                            continue;
                        }
                        let v = src_value(src_at(i, channel, n), 0u);
#if DEPTHWISE
                        let weights = at(vec4<u32>(tap, 0u), params.filter_nb);
#else
                        let weights = at(vec4<u32>(tap, channel + params.src_first.w), params.filter_nb);
#endif
                        for (var c = 0u; c < CHANNELS; c++) {
                            let which = min(first_channel + c, params.dst_ne.w - 1u) + params.dst_first.w;
                            sums[c] += v * filter_value(weights + which * params.filter_out_nb, 0u);
                        }
                    }
                }
            }
        }
    }
    for (var c = 0u; c < min(CHANNELS, params.dst_ne.w - first_channel); c++) {
        let to = dst_at(o, first_channel + c, pos.w);
        if (params.add != 0u) {
            sums[c] += dst_value(to, 0u);
        }
        dst_store(to, sums[c]);
    }
}
