// dst = number of equal values of a and b in each piece; one workgroup a piece. Several pieces take a second step (COUNTS)
// that adds up their numbers.
#include "lib/grid.wgsl"
#define total_VALUE u32
#include "lib/reduce.wgsl" as total
#include "codecs/{a_TYPE}.wgsl" as a
#include "codecs/{dst_TYPE}.wgsl" as dst
#if !COUNTS
#include "codecs/{b_TYPE}.wgsl" as b
#endif

fn equal(i: u32) -> u32 {
#if COUNTS
    return u32(a_int(i));
#else
    let pos = position(i, params.a_ne);
    return select(0u, 1u, a_int(at(pos, params.a_nb)) == b_int(at(pos, params.b_nb)));
#endif
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let first = group * params.piece;
    let end   = min(first + params.piece, params.count);
    var sum   = 0u;
    for (var i = first + local; i < end; i += WORKGROUP) {
        sum += equal(i);
    }
    sum = total(local, sum);
    if (local == 0u) {
        dst_store_int(params.dst_first + group, i32(sum));
    }
}
