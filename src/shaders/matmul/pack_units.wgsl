// Copies quantised weights into f16 scratch memory for the subgroup-matrix kernel: rows of `stride` halves, zeros beyond k and
// beyond the last row. A thread makes the 64 values of a unit by the integer view of their codec.
#define src0_PACKED 1
#include "lib/grid.wgsl"
#include "codecs/{src0_TYPE}.wgsl" as src0

// Sixteen values.
fn store_part(at: u32, q: vec4<u32>, scale: f32, offset: f32) {
    var halves: array<u32, 8>;
#repeat i 4
    {
        let v = scale * vec4<f32>(unpack4xI8(q[$i])) + offset;
        halves[2u * $iu]      = pack2x16float(v.xy);
        halves[2u * $iu + 1u] = pack2x16float(v.zw);
    }
#end
    packed_set_quad_word(at, vec4<u32>(halves[0], halves[1], halves[2], halves[3]));
    packed_set_quad_word(at + 1u, vec4<u32>(halves[4], halves[5], halves[6], halves[7]));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    src0_packed_prepare(local, WORKGROUP);
    let i      = group * WORKGROUP + local;
    let unit   = i % params.padded_units;
    let row    = (i / params.padded_units) % params.padded_rows;
    let matrix = i / params.padded_units / params.padded_rows;
    if (matrix >= params.matrices) {
        return;
    }
    var a = packed_values();
    if (row < params.rows && unit < params.units) {
        let start = row * params.src0_nb.y + (matrix % params.matrices2) * params.src0_nb.z + (matrix / params.matrices2) * params.src0_nb.w;
        a = src0_packed(start, unit);
#if HALF_UNIT
        // A row ends in the middle of its last unit; what follows is another row's.
        if (2u * unit + 1u == params.k_blocks) {
            a.scale.y  = 0.0;
            a.offset.y = 0.0;
        }
#endif
    }
    // In quad words of eight halves.
    let to = (params.packed_offset >> 4u) + (i - unit) * 8u;
#if SPREAD
    let at   = to + 16u * (unit / 2u) + 2u * (unit % 2u);
    let next = 4u;
#else
    let at   = to + 8u * unit;
    let next = 2u;
#endif
#if src0_SCALES == 4
    let scale = a.scale;
#else
    let scale = a.scale.xxyy;
#endif
#if !src0_OFFSETS
    let offset = vec4<f32>();
#elif src0_SCALES == 4
    let offset = a.offset;
#else
    let offset = a.offset.xxyy;
#endif
    store_part(at, a.q0, scale.x, offset.x);
    store_part(at + next, a.q1, scale.y, offset.y);
    store_part(at + 2u * next, a.q2, scale.z, offset.z);
    store_part(at + 3u * next, a.q3, scale.w, offset.w);
}
