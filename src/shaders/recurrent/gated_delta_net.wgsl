// GATED_DELTA_NET: each token decays the state M by exp(g), moves what it holds under key k towards v by the share beta, and reads
// it with q. For output o, with sums over i: M_i = exp(g_i) M_i; d = beta (v_o - sum k_i M_i); M_i += d k_i; y = scale sum q_i M_i.
#include "recurrent/row.wgsl"
#include "recurrent/vector.wgsl" as q
#include "recurrent/vector.wgsl" as k
#include "recurrent/vector.wgsl" as g
#include "codecs/f32.wgsl" as v
#include "codecs/f32.wgsl" as beta
#include "codecs/f32.wgsl" as state
#include "codecs/f32.wgsl" as y
#include "codecs/f32.wgsl" as states
#include "recurrent/matrix.wgsl" as state
#include "recurrent/matrix.wgsl" as states

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let p = place_of(group, local);
    var m = state_load_row(p.head * params.state_nb.y + p.seq * params.state_nb.w, p.row, p.lane);

    // Heads of v share those of q and k in turn.
    let head   = params.first_head + p.head;
    let q_from = (head % params.q_ne.y) * params.q_nb.y + (p.seq / params.q_repeat) * params.q_nb.w;
    let k_from = (head % params.k_ne.y) * params.k_nb.y + (p.seq / params.k_repeat) * params.k_nb.w;
    for (var t = 0u; t < params.tokens; t++) {
        let q_at = q_from + t * params.q_nb.z;
        let k_at = k_from + t * params.k_nb.z;
        let g_at = p.head * params.g_nb.y + t * params.g_nb.z + p.seq * params.g_nb.w;
        let v    = v_value(p.head * params.v_nb.y + t * params.v_nb.z + p.seq * params.v_nb.w + p.row, 0u);
        let beta = beta_value(p.head * params.beta_nb.y + t * params.beta_nb.z + p.seq * params.beta_nb.w, 0u);
#if !VECTOR_GATE
        let decay = exp(g_value(g_at, 0u));
#endif
        var sums = vec4<f32>();
        for (var n = 0u; n < SHARE; n++) {
            let at = p.lane + n * TEAM;
            let q  = q_four(q_at, at);
            let k  = k_four(k_at, at);
#if VECTOR_GATE
            m[n] *= exp(g_four(g_at, at));
#else
            m[n] *= decay;
#endif
            sums += vec4<f32>(dot(k, m[n]), dot(q, m[n]), dot(q, k), 0.0);
        }
        sums = team_sum(sums);
        let d = beta * (v - sums.x);
        for (var n = 0u; n < SHARE; n++) {
            m[n] += d * k_four(k_at, p.lane + n * TEAM);
        }
        if (p.real && p.lane == 0u) {
            y_store(p.head * params.y_nb.y + t * params.y_nb.z + p.seq * params.y_nb.w + p.row, params.scale * (sums.y + d * sums.z));
        }
    }
    if (p.real) {
        states_store_row(p.head * params.states_nb.y + p.seq * params.states_nb.w, p.row, p.lane, m);
    }
}
