// Convolution as a product of matrices, filters [channel of dst, k] by fields [k, place of dst] with k = (tap, channel of src),
// which is never in memory as such: a workgroup makes TILE channels by TILE places, an invocation 8 by 8 of them, from tiles
// in workgroup memory. Windows of src after the first add what they give.
#include "lib/grid.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{filter_TYPE}.wgsl" as filter
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "conv/result.wgsl"

const TILE   = 64u; // WORKGROUP is TILE, too: an invocation fetches the fields of one place
const TILE_K = 16u;
const STRIDE = TILE + 4u;

var<workgroup> filter_tile: array<f32, TILE_K * STRIDE>;
var<workgroup> field_tile: array<f32, TILE_K * STRIDE>;
var<workgroup> k_field: array<vec4<u32>, TILE_K>; // of each k: steps from the start of the field, and in memory to the channel
var<workgroup> k_filter: array<u32, TILE_K>;      // of each k: the weight within a filter

const beyond = 0x40000000u; // outside of all fields

// Tables for k = first_k + local.
fn describe(k: u32, entry: u32) {
    var tap = position(k, params.taps);
    if (params.channels_inner != 0u) {
        tap = position(k, params.taps.wxyz).yzwx;
    }
    k_field[entry]  = vec4<u32>(tap.xyz * params.dilation.xyz, tap.w * params.src_nb.w);
    k_filter[entry] = at(tap + vec4<u32>(0u, 0u, 0u, params.src_first.w), params.filter_nb);
    if (k >= params.k) {
        k_field[entry].x = beyond;
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let first_channel = (group % params.channel_tiles) * TILE;
    let first_place   = (group / params.channel_tiles) * TILE;

    let fetched = position(first_place + local, vec4<u32>(params.dst_ne.xyz, 0xffffffffu));
    let n       = src_batch(fetched.w);
    let live    = first_place + local < params.places && n < params.src_batches;
    let start   = field_start(fetched.xyz);
    let volume  = n * params.src_batch_nb;

    let thread_channel = (local / 8u) * 8u;
    let thread_place   = (local % 8u) * 8u;
    var sums: array<vec4<f32>, 16>; // [channel][half of the places]
    for (var first_k = 0u; first_k < params.k; first_k += TILE_K) {
        if (local < TILE_K) {
            describe(first_k + local, local);
        }
        workgroupBarrier();
        for (var k = 0u; k < TILE_K; k++) {
            let step = k_field[k];
            let i    = start + step.xyz;
            var v    = 0.0;
            if (live && src_inside(i)) {
                v = src_value(at(vec4<u32>(i, 0u), params.src_nb) + step.w + volume, 0u);
            }
            field_tile[k * STRIDE + local] = v;
        }
        for (var j = local; j < TILE * TILE_K; j += WORKGROUP) {
            let k       = j % TILE_K;
            let channel = first_channel + j / TILE_K;
            var v       = 0.0;
            if (channel < params.dst_ne.w && first_k + k < params.k) {
                v = filter_value(k_filter[k] + (channel + params.dst_first.w) * params.filter_out_nb, 0u);
            }
            filter_tile[k * STRIDE + j / TILE_K] = v;
        }
        workgroupBarrier();
        for (var k = 0u; k < TILE_K; k++) {
            let fi = k * STRIDE + thread_place;
            let wi = k * STRIDE + thread_channel;
            let f0 = vec4<f32>(field_tile[fi], field_tile[fi + 1u], field_tile[fi + 2u], field_tile[fi + 3u]);
            let f1 = vec4<f32>(field_tile[fi + 4u], field_tile[fi + 5u], field_tile[fi + 6u], field_tile[fi + 7u]);
            for (var c = 0u; c < 8u; c++) {
                let w = filter_tile[wi + c];
                sums[2u * c]      += f0 * w;
                sums[2u * c + 1u] += f1 * w;
            }
        }
    }

    for (var p = 0u; p < 8u; p++) {
        let place = first_place + thread_place + p;
        if (place >= params.places) {
            break;
        }
        let pos = position(place, vec4<u32>(params.dst_ne.xyz, 0xffffffffu));
        for (var c = 0u; c < 8u; c++) {
            let channel = first_channel + thread_channel + c;
            if (channel >= params.dst_ne.w) {
                break;
            }
            let to = dst_at(pos.xyz, channel, pos.w);
            var v  = sums[2u * c + p / 4u][p % 4u];
            if (params.add != 0u) {
                v += dst_value(to, 0u);
            }
            dst_store(to, v);
        }
    }
}
