// Turns pairs of values of each row by an angle that grows with the token's position and falls with the pair's number.
// Pair p has the values first + spacing * p and `distance` after it. The first `pairs` threads of a row turn a pair each, the
// others copy two of the values outside. STORES: the heads of a token are stored in a row of `cache` as well.
#include "lib/grid.wgsl"
#include "lib/trig.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#include "codecs/{tokens_TYPE}.wgsl" as tokens
#if FACTORS
#include "codecs/{factors_TYPE}.wgsl" as factors
#endif
#if STORES
#include "rows/index.wgsl"
#include "codecs/{cache_TYPE}.wgsl" as cache
#endif

const ONE_AXIS = 0u;    // a token has one position
const SECTIONS = 1u;    // it has four; runs of pairs take one each
const INTERLEAVED = 2u; // the pairs take them in turn

fn axis_of(sector: u32) -> u32 {
    let s = params.sections;
    if (params.axes == ONE_AXIS) {
        return 0u;
    }
    if (params.axes == INTERLEAVED) {
        let axis = sector % 3u;
        return select(3u, axis, sector < 3u * s[axis]);
    }
    if (sector < s.x) {
        return 0u;
    }
    if (sector < s.x + s.y) {
        return 1u;
    }
    return select(3u, 2u, sector < s.x + s.y + s.z);
}

// First sector of an axis.
fn start_of(axis: u32) -> u32 {
    let s = params.sections;
    return dot(s, select(vec4<u32>(0u), vec4<u32>(1u), vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(axis)));
}

fn angle_of(pair: u32, token: u32) -> f32 {
    let sector   = pair % params.sectors;
    let axis     = axis_of(sector);
    let step     = select(pair, sector - start_of(axis), params.restart != 0u);
    let position = tokens_int(axis * params.axis_stride + token);
#if FACTORS
    let factor = factors_value(pair, 0u);
#else
    let factor = 1.0;
#endif
    let full   = f32(position) * exp2(f32(step) * params.base_log2) / factor;
    let scaled = params.freq_scale * full;
    // YaRN: between corr_low and corr_low + corr_width the angle goes from the full to the scaled one.
    let ramp = 1.0 - clamp((f32(pair) - params.corr_low) / params.corr_width, 0.0, 1.0);
    let mix  = ramp * params.ext_factor;
    return scaled * (1.0 - mix) + full * mix;
}

// Where a row of values goes.
struct place {
    dst: u32,
    cache: u32, // no_row: nowhere
}

fn place_of(row: vec4<u32>) -> place {
#if STORES
    let stored = table_row(row.z * params.index_nb.x);
    return place(at(row, params.dst_nb), select(stored * params.cache_nb.y + row.y * params.head_values, no_row, stored == no_row));
#else
    return place(at(row, params.dst_nb), 0u);
#endif
}

fn put(to: place, i: u32, value: f32) {
    dst_store(to.dst + i * params.dst_nb.x, value);
#if STORES
    if (to.cache != no_row) {
        cache_store(to.cache + i, value);
    }
#endif
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
    let pos     = position(i, params.work);
    let row     = vec4<u32>(0u, pos.yzw);
    let src_row = at(row, params.src_nb);
    let to      = place_of(row);
    if (pos.x < params.pairs) {
        let a     = params.first + params.spacing * pos.x;
        let b     = a + params.distance;
        let x     = src_value(src_row + a * params.src_nb.x, 0u);
        let y     = src_value(src_row + b * params.src_nb.x, 0u);
        let angle = reduced(angle_of(pos.x, pos.z));
        let c     = cos(angle) * params.magnitude;
        let s     = sin(angle) * params.magnitude * params.direction;
        put(to, a, x * c - y * s);
        put(to, b, x * s + y * c);
        return;
    }
    for (var e = 2u * (pos.x - params.pairs); e < min(2u * (pos.x - params.pairs) + 2u, params.others); e++) {
        let v = select(e, e + 2u * params.pairs, e >= params.first);
        put(to, v, src_value(src_row + v * params.src_nb.x, 0u));
    }
}
