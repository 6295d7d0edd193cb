// As units.wgsl for contiguous dst and units of UNIT = 1 or 2 bytes: each invocation puts one word of dst together, so that
// no two of them store into the same word.
#include "lib/grid.wgsl"
#include "copy/source.wgsl"
const units_per_word = 4u / UNIT;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i     = group_index(wid, nwg) * WORKGROUP + local;
    let first = (params.dst_offset & 3u) / UNIT;  // units of the first word that lie before dst
    if (i * units_per_word >= params.count + first) {
        return;
    }
    var bits = 0u;
    var mask = 0u;
    for (var n = 0u; n < units_per_word; n++) {
        let unit = i * units_per_word + n - first;  // before dst it wraps around and is not below the count either
        if (unit >= params.count) {
            continue;
        }
        let source = src_unit(unit);
        if (source != other_window) {
            bits |= src_unit_bits(source) << (8u * UNIT * n);
            mask |= (0xffffffffu >> (32u - 8u * UNIT)) << (8u * UNIT * n);
        }
    }
    if (mask == 0u) {
        return;
    }
    let word = (params.dst_offset >> 2u) + i;
    if (mask != 0xffffffffu) {
        bits |= dst_word(word) & ~mask;
    }
    dst_set_word(word, bits);
}
