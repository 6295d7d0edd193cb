// Lists, for each expert, the (slot, token) pairs that chose it: routes = [counts: experts][lists: experts x capacity].
// One workgroup an expert; the order within a list does not matter.
#include "lib/grid.wgsl"
#include "lib/fault.wgsl"

#define AT_ONCE 4  // loads in flight

var<workgroup> taken: atomic<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let expert = group_index(wid, nwg);
    if (expert >= params.groups) {
        return;
    }
    let routes = params.routes_offset >> 2u;
    for (var first = local; first < params.pairs; first += AT_ONCE * WORKGROUP) {
#repeat i AT_ONCE
        let pair_$i   = min(first + $iu * WORKGROUP, params.pairs - 1u);
        let chosen_$i = ids_word((params.ids_offset >> 2u) + (pair_$i % params.slots) * params.ids_nb.x + (pair_$i / params.slots) * params.ids_nb.y);
#end
#repeat i AT_ONCE
        if (chosen_$i >= params.all_experts) {
            raise_fault();
        } else if (chosen_$i == params.first_expert + expert && first + $iu * WORKGROUP < params.pairs) {
            routes_set_word(routes + params.groups + expert * params.capacity + atomicAdd(&taken, 1u), pair_$i);
        }
#end
    }
    workgroupBarrier();
    if (local == 0u) {
        routes_set_word(routes + expert, atomicLoad(&taken));
    }
}
