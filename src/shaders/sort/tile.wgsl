// Sorts segments of rows in workgroup memory and stores the first `keep` indices of each. A segment is a power of two; a tile
// holds one or more. Threads sort eight values each, then runs of equal length are merged in pairs: each thread finds by
// bisection where its eight values of the merged run come from (merge path). Past `keep` a run does not matter. Equal values
// keep their order.
#include "lib/grid.wgsl"
#include "sort/key.wgsl"
#include "codecs/{dst_TYPE}.wgsl" as dst
#if CANDIDATES
#include "codecs/{candidates_TYPE}.wgsl" as candidates
#endif

const ITEMS = 8u; // of a thread
const TILE  = WORKGROUP * ITEMS;

var<workgroup> keys:    array<u32, TILE>;
var<workgroup> indices: array<u32, TILE>;

struct place {
    row:   u32,
    chunk: u32,
    i:     u32,  // within the chunk
    n:     u32,  // size of the chunk, 0 for none
}

fn place_of(group: u32, slot: u32) -> place {
    let segment = group * (TILE / params.segment) + slot / params.segment;
    var p: place;
    p.row   = segment / params.chunks;
    p.chunk = segment % params.chunks;
    p.i     = slot % params.segment;
    p.n     = select(0u, min(params.segment, params.length - p.chunk * params.segment), p.row < params.row_count);
    return p;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    for (var slot = local; slot < TILE; slot += WORKGROUP) {
        let p = place_of(group, slot);
        keys[slot]    = 0xffffffffu;
        indices[slot] = 0u;
        if (p.i < p.n) {
#if CANDIDATES
            let index = u32(candidates_int(p.row * params.length + p.chunk * params.segment + p.i));
#else
            let index = p.chunk * params.segment + p.i;
#endif
            keys[slot]    = key_of(at(position(p.row, params.rows), params.src_nb), index);
            indices[slot] = index;
        }
    }
    workgroupBarrier();

    let mine = ITEMS * local;
    var k: array<u32, ITEMS>;
    var v: array<u32, ITEMS>;
    for (var j = 0u; j < ITEMS; j++) {
        k[j] = keys[mine + j];
        v[j] = indices[mine + j];
    }
    for (var round = 0u; round < ITEMS; round++) {
        for (var j = round & 1u; j + 1u < ITEMS; j += 2u) {
            if (k[j] > k[j + 1u]) {
                let key   = k[j];
                let index = v[j];
                k[j]      = k[j + 1u];
                v[j]      = v[j + 1u];
                k[j + 1u] = key;
                v[j + 1u] = index;
            }
        }
    }
    for (var j = 0u; j < ITEMS; j++) {
        keys[mine + j]    = k[j];
        indices[mine + j] = v[j];
    }
    workgroupBarrier();

    for (var run = ITEMS; run < params.segment; run *= 2u) {
        let used    = min(run, params.keep); // of each of the two runs
        let a_first = mine / (2u * run) * (2u * run);
        let b_first = a_first + run;
        let before  = mine - a_first; // values of the merged run before this thread's
        let needed  = before < min(2u * used, params.keep);
        if (needed) {
            var low  = max(before, used) - used;
            var high = min(before, used);
            while (low < high) {
                let middle = (low + high) / 2u;
                if (keys[a_first + middle] <= keys[b_first + before - 1u - middle]) {
                    low = middle + 1u;
                } else {
                    high = middle;
                }
            }
            var a = low;
            var b = before - low;
            for (var j = 0u; j < ITEMS; j++) {
                let take_a = b >= used || (a < used && keys[a_first + a] <= keys[b_first + b]);
                let slot   = select(b_first + b, a_first + a, take_a);
                k[j]       = keys[slot];
                v[j]       = indices[slot];
                a += select(0u, 1u, take_a);
                b += select(1u, 0u, take_a);
            }
        }
        workgroupBarrier();
        if (needed) {
            for (var j = 0u; j < ITEMS; j++) {
                keys[mine + j]    = k[j];
                indices[mine + j] = v[j];
            }
        }
        workgroupBarrier();
    }

    for (var slot = local; slot < TILE; slot += WORKGROUP) {
        let p = place_of(group, slot);
        if (p.i < min(p.n, params.keep)) {
            dst_store_int(p.row * params.dst_length + p.chunk * params.keep + p.i, i32(indices[slot]));
        }
    }
}
