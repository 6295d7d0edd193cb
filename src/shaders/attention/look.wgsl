// Looks through the mask for attention/matrix.wgsl: for ROWS rows and 16 tiles of POSITIONS positions one word, see visible.wgsl.
// Threads take eight positions of every SHARESth row each, with the loads of ROWS_AT_ONCE rows in flight.
#include "lib/grid.wgsl"
#include "attention/mask.wgsl"

const OCTETS      = 16u * POSITIONS / 8u;
const TILE_OCTETS = POSITIONS / 8u;
const SHARES      = WORKGROUP / OCTETS;
#define ROWS_AT_ONCE 8

var<workgroup> bits: atomic<u32>;

// Mask values j .. j + 7 of a row that starts at value `start`, two to a word; masked ones past the end.
fn eight_bits(start: u32, j: u32) -> vec4<u32> {
#if MASK_OCTETS
    return mask_quad_word((params.mask_offset >> 4u) + ((start + j) >> 3u));
#else
    var words = vec4<u32>(0xfc00fc00u);
    for (var i = 0u; i < 8u; i++) {
        if (j + i < params.kv) {
            let shift = 16u * (i % 2u);
            words[i / 2u] = (words[i / 2u] & ~(0xffffu << shift)) | (mask_bits(start + j + i) << shift);
        }
    }
    return words;
#endif
}

// Where the i-th mask row of the tile starts. Heads that share their mask need one look: then it has a row for each position.
fn start_of(first_row: u32, i: u32, group: u32, batch: u32) -> u32 {
    if (params.mask_ne.z == 1u) {
        return mask_row((position_of(first_row) + i) * params.group_heads, group, batch);
    }
    return mask_row(first_row + i, group, batch);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = group_index(wid, nwg);
    if (index >= params.groups) {
        return;
    }
    let word      = index % params.visible_words;
    let rest      = index / params.visible_words;
    let first_row = rest % params.row_tiles * ROWS;
    let group     = rest / params.row_tiles % params.masks;
    let batch     = rest / params.row_tiles / params.masks;
    let octet     = local % OCTETS;
    let j         = (word * OCTETS + octet) * 8u;

    var visible = vec4<u32>();  // bits that differ from those of -infinity
    var changed = vec4<u32>();  // from those of zero
    if (j < params.kv) {
        let last_row = min(first_row + ROWS, params.rows) - 1u;
        let last     = select(last_row - first_row, position_of(last_row) - position_of(first_row), params.mask_ne.z == 1u);
        for (var i = local / OCTETS; i <= last; i += ROWS_AT_ONCE * SHARES) {
#repeat n ROWS_AT_ONCE
            let eight_$n = eight_bits(start_of(first_row, min(i + $nu * SHARES, last), group, batch), j);
#end
#repeat n ROWS_AT_ONCE
            visible |= eight_$n ^ vec4<u32>(0xfc00fc00u);
            changed |= eight_$n & vec4<u32>(0x7fff7fffu);
#end
        }
    }
    let tile = octet / TILE_OCTETS;
    let mine = (u32(any(visible != vec4<u32>())) << tile) | (u32(any(changed != vec4<u32>())) << (16u + tile));
    if (mine != 0u) {
        atomicOr(&bits, mine);
    }
    workgroupBarrier();
    if (local == 0u) {
        visible_set_word((params.visible_offset >> 2u) + index, atomicLoad(&bits));
    }
}
