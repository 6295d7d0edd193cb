// IM2COL, IM2COL_3D: row (x, y, z) of dst is the receptive field of that place: its columns are (tap x, tap y, tap z, channel)
// of src, 0 in the padding. An item is four columns (QUADS) or one. Windows of src after the first overwrite what is theirs.
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "conv/volume.wgsl"
#if QUADS
const item_values = 4u;
#else
const item_values = 1u;
#endif

// The next column.
fn next_tap(tap: vec4<u32>) -> vec4<u32> {
    var t = tap;
    t.x++;
    if (t.x == params.taps.x) {
        t.x = 0u;
        t.y++;
        if (t.y == params.taps.y) {
            t.y = 0u;
            t.z++;
            if (t.z == params.taps.z) {
                t.z = 0u;
                t.w++;
            }
        }
    }
    return t;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = group_index(wid, nwg) * WORKGROUP + local;
    if (item >= params.count) {
        return;
    }
    // dst is [column, x, y, z or batch].
    let pos   = position(item * item_values, params.dst_ne);
    let place = pos + params.dst_first;
    let n     = place.w * (1u - params.deep) - params.src_first_batch;
    let o     = vec3<u32>(place.yz, place.w * params.deep);
    let start = o * params.stride.xyz - params.pad.xyz - params.src_first.xyz;
    var tap   = position(place.x, params.taps);
    var v: array<f32, item_values>;
    for (var c = 0u; c < item_values; c++) {
        let i       = start + tap.xyz * params.dilation.xyz;
        let channel = tap.w - params.src_first.w;
        if (n < params.src_batches && channel < params.src_ne.w && src_inside(i)) {
            v[c] = src_value(src_at(i, channel, n), 0u);
        } else if (params.add != 0u) {
            return;
        }
        tap = next_tap(tap);
    }
#if QUADS
    dst_store_quad(at(pos, params.dst_nb), vec4<f32>(v[0], v[1], v[2], v[3]));
#else
    dst_store(at(pos, params.dst_nb), v[0]);
#endif
}
