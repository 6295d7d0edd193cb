// The gate of a mixture of experts, for one token a workgroup: probabilities of the experts from their logits, the `used` experts with
// the highest probability (plus BIAS), in order, and their weights. GATE: 0 none, 1 softmax, 2 sigmoid, 3 square root of softplus.
// A thread has the experts local, local + WORKGROUP, ..., ITEMS of them.
#include "lib/grid.wgsl"
#include "lib/order.wgsl"
#include "lib/float.wgsl"
#include "codecs/f32.wgsl" as logits
#include "codecs/f32.wgsl" as weights
#if BIAS
#include "codecs/f32.wgsl" as bias
#endif
#define largest_LARGEST 1
#include "lib/reduce.wgsl" as largest
#include "lib/reduce.wgsl" as total
#define best_VALUE u32
#define best_LARGEST 1
#include "lib/reduce.wgsl" as best

var<workgroup> chosen: array<f32, WORKGROUP>;  // probabilities

fn probability(x: f32) -> f32 {
#if GATE == 2
    return 1.0 / (1.0 + exp(-x));
#elif GATE == 3
    return sqrt(select(log(1.0 + exp(x)), x, x > 20.0));
#else
    return x;
#endif
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let token = group_index(wid, nwg);
    if (token >= params.groups) {
        return;
    }
#repeat i ITEMS
    let expert_$i = local + $iu * WORKGROUP;
    var p_$i      = neg_inf();
    if (expert_$i < params.experts) {
        p_$i = probability(logits_value(token * params.experts + expert_$i, 0u));
    }
#end
#if GATE == 1
    var highest = p_0;
#repeat i ITEMS
    highest = max(highest, p_$i);
#end
    highest = largest(local, highest);
    var sum = 0.0;
#repeat i ITEMS
    p_$i = exp(params.logits_scale * (p_$i - highest));
    sum += p_$i;
#end
    sum = total(local, sum);
#repeat i ITEMS
    p_$i /= sum;
#end
#endif
    // What the experts are chosen by, 0 for none.
#repeat i ITEMS
    var key_$i = 0u;
    if (expert_$i < params.experts) {
#if BIAS
        key_$i = max(order_key(p_$i + bias_value(expert_$i, 0u)), 1u);
#else
        key_$i = max(order_key(p_$i), 1u);
#endif
    }
#end
    for (var n = 0u; n < params.used; n++) {
        var mine = key_0;
#repeat i ITEMS
        mine = max(mine, key_$i);
#end
        let key = best(local, mine);
        // Of equal ones the first.
        var behind = 0u;
#repeat i ITEMS
        if (key_$i == key) {
            behind = max(behind, 0xffffffffu - expert_$i);
        }
#end
        let expert = 0xffffffffu - best(local, behind);
#repeat i ITEMS
        if (expert_$i == expert) {
            key_$i    = 0u;
            chosen[n] = p_$i;
            experts_set_word((params.experts_offset >> 2u) + token * params.experts + n, expert);
        }
#end
    }
    workgroupBarrier();

    let used   = local < params.used;
    var weight = select(0.0, chosen[local], used);
#if SOFTMAX_WEIGHTS
    let most = largest(local, select(neg_inf(), weight, used));
    weight = select(0.0, exp(weight - most), used);
    weight /= total(local, weight);
#endif
#if NORM
    weight /= clamp(total(local, weight), params.least_sum, params.most_sum);
#endif
    if (used) {
        weights_store(token * params.used + local, weight * params.weight_scale + params.weight_bias);
    }
}
