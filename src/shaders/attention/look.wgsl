// Looks through the mask for attention/matrix.wgsl: for ROWS rows and 16 tiles of POSITIONS positions one word, see visible.wgsl.
// A thread takes four positions of all rows, whose loads are issued ROWS_AT_ONCE together.
#include "lib/grid.wgsl"
#include "attention/mask.wgsl"

const TILE_QUADS = POSITIONS / 4u;
#define ROWS_AT_ONCE 4

var<workgroup> bits: atomic<u32>;

fn four_bits(at: u32, j: u32) -> vec4<u32> {
    if (params.mask_quads != 0u) {
        let word = (params.mask_offset >> 2u) + (at >> 1u);
        let low  = mask_word(word);
        let high = mask_word(word + 1u);
        return vec4<u32>(low & 0xffffu, low >> 16u, high & 0xffffu, high >> 16u);
    }
    var four = vec4<u32>(0xfc00u);
    for (var i = 0u; i < 4u; i++) {
        if (j + i < params.kv) {
            four[i] = mask_bits(at + i);
        }
    }
    return four;
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
    let j         = (word * 16u * TILE_QUADS + local) * 4u;

    var visible = vec4<bool>();
    var changed = vec4<u32>();
    if (j < params.kv) {
        // Heads that share their mask need one look.
        let step = select(1u, params.group_heads, params.mask_ne.z == 1u);
        let last = min(first_row + ROWS, params.rows) - 1u;
        for (var row = first_row; row < last + step; row += ROWS_AT_ONCE * step) {
#repeat i ROWS_AT_ONCE
            let four_$i = four_bits(mask_row(min(row + $iu * step, last), group, batch) + j, j);
#end
#repeat i ROWS_AT_ONCE
            visible = visible | (four_$i != vec4<u32>(0xfc00u));
            changed |= four_$i & vec4<u32>(0x7fffu);
#end
        }
    }
    let tile = local / TILE_QUADS;
    let mine = (u32(any(visible)) << tile) | (u32(any(changed != vec4<u32>())) << (16u + tile));
    if (mine != 0u) {
        atomicOr(&bits, mine);
    }
    workgroupBarrier();
    if (local == 0u) {
        visible_set_word((params.visible_offset >> 2u) + index, atomicLoad(&bits));
    }
}
