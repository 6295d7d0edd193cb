// Merges neighbouring sorted runs of indices, of `run` each, and stores the first `keep` of every pair of runs. A thread
// finds by bisection where its eight indices come from (merge path). Equal values keep their order.
#include "lib/grid.wgsl"
#include "sort/key.wgsl"
#include "codecs/{runs_TYPE}.wgsl" as runs
#include "codecs/{dst_TYPE}.wgsl" as dst

const ITEMS = 8u; // of a thread

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let thread = group_index(wid, nwg) * WORKGROUP + local;
    if (thread >= params.threads) {
        return;
    }
    let per_pair = (params.keep + ITEMS - 1u) / ITEMS; // threads
    let row      = thread / (per_pair * params.pairs);
    let pair     = thread / per_pair % params.pairs;
    let before   = ITEMS * (thread % per_pair); // indices of the merged run before this thread's
    let row_src  = at(position(row, params.rows), params.src_nb);

    let first   = 2u * params.run * pair;
    let a_size  = min(params.run, params.length - first);
    let b_size  = min(params.run, params.length - first - a_size);
    let a_first = row * params.length + first;
    let b_first = a_first + a_size;
    let end     = min(params.keep, a_size + b_size);
    if (before >= end) {
        return;
    }
    var low  = max(before, b_size) - b_size;
    var high = min(before, a_size);
    while (low < high) {
        let middle = (low + high) / 2u;
        let a_key  = key_of(row_src, u32(runs_int(a_first + middle)));
        let b_key  = key_of(row_src, u32(runs_int(b_first + before - 1u - middle)));
        if (a_key <= b_key) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    var a = low;
    var b = before - low;
    for (var i = before; i < min(end, before + ITEMS); i++) {
        var take_a = b >= b_size;
        if (a < a_size && b < b_size) {
            take_a = key_of(row_src, u32(runs_int(a_first + a))) <= key_of(row_src, u32(runs_int(b_first + b)));
        }
        let index = runs_int(select(b_first + b, a_first + a, take_a));
        a += select(0u, 1u, take_a);
        b += select(1u, 0u, take_a);
        dst_store_int(row * params.dst_length + pair * params.keep + i, index);
    }
}
