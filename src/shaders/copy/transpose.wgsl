// dst = src, same type, where the dimension along which src's values are neighbours (`down`) is not the one along which
// dst's are (`across`). Tiles go through workgroup memory, so that loads and stores both touch neighbours. Units are values
// of UNIT = 2 or 4 bytes.
#include "lib/grid.wgsl"

const TILE   = 32u;
const STRIDE = TILE + 1u;

var<workgroup> tile: array<u32, TILE * STRIDE>; // [across][down]

fn src_bits(unit: u32) -> u32 {
#if UNIT == 4
    return src_word((params.src_offset >> 2u) + unit);
#else
    return src_u16(params.src_offset + 2u * unit);
#endif
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    // sizes: across, down and the other two dimensions; the strides in the same order
    let pos    = position(group, vec4<u32>((params.sizes.xy + TILE - 1u) / TILE, params.sizes.zw));
    let corner = pos.xy * TILE;
    let outer  = vec4<u32>(0u, 0u, pos.zw);
    let lane   = local % TILE;
    for (var a = local / TILE; a < TILE; a += WORKGROUP / TILE) {
        let p = corner + vec2<u32>(a, lane);
        if (all(p < params.sizes.xy)) {
            tile[a * STRIDE + lane] = src_bits(at(vec4<u32>(p, outer.zw), params.src_strides));
        }
    }
    workgroupBarrier();
#if UNIT == 4
    for (var d = local / TILE; d < TILE; d += WORKGROUP / TILE) {
        let p = corner + vec2<u32>(lane, d);
        if (all(p < params.sizes.xy)) {
            dst_set_word((params.dst_offset >> 2u) + at(vec4<u32>(p, outer.zw), params.dst_strides), tile[lane * STRIDE + d]);
        }
    }
#else
    for (var i = local; i < TILE * TILE / 2u; i += WORKGROUP) {
        let a = 2u * (i % (TILE / 2u));
        let d = i / (TILE / 2u);
        let p = corner + vec2<u32>(a, d);
        if (all(p < params.sizes.xy)) {
            let pair = tile[a * STRIDE + d] | (tile[(a + 1u) * STRIDE + d] << 16u);
            dst_set_word((params.dst_offset + 2u * at(vec4<u32>(p, outer.zw), params.dst_strides)) >> 2u, pair);
        }
    }
#endif
}
