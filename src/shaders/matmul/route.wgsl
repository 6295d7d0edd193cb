// Lists, for each expert, the (slot, token) pairs that chose it: routes = [counts: experts][lists: experts x capacity].
// One workgroup an expert; the order within a list does not matter.
#include "lib/grid.wgsl"
#include "lib/fault.wgsl"

var<workgroup> taken: atomic<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let expert = group_index(wid, nwg);
    if (expert >= params.groups) {
        return;
    }
    let routes = params.routes_offset >> 2u;
    for (var pair = local; pair < params.pairs; pair += WORKGROUP) {
        let chosen = ids_word((params.ids_offset >> 2u) + (pair % params.slots) * params.ids_nb.x + (pair / params.slots) * params.ids_nb.y);
        if (chosen == params.first_expert + expert) {
            routes_set_word(routes + params.groups + expert * params.capacity + atomicAdd(&taken, 1u), pair);
        } else if (chosen >= params.all_experts) {
            raise_fault();
        }
    }
    workgroupBarrier();
    if (local == 0u) {
        routes_set_word(routes + expert, atomicLoad(&taken));
    }
}
