// Linear attention with a decaying state M of each head. For output o, with sums over i:
//   RWKV_WKV6          y = sum q_i (M_i + first_i k_i v_o)    then M_i = decay_i M_i + k_i v_o
//   GATED_LINEAR_ATTN  M_i = decay_i M_i + k_i v_o            then y = scale sum q_i M_i
//   RWKV_WKV7          M_i = decay_i M_i + k_i v_o + b_i sum(a_j M_j)  then y = sum q_i M_i
#include "recurrent/row.wgsl"
#include "recurrent/vector.wgsl" as q
#include "recurrent/vector.wgsl" as k
#include "recurrent/vector.wgsl" as decay
#if WKV6
#include "recurrent/vector.wgsl" as first
#endif
#if WKV7
#include "recurrent/vector.wgsl" as a
#include "recurrent/vector.wgsl" as b
#endif
#include "codecs/f32.wgsl" as v
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

    for (var t = 0u; t < params.tokens; t++) {
        let start = p.head * params.v_nb.y + t * params.v_nb.z + p.seq * params.v_nb.w;  // q, k, decay, a and b are shaped like v
        let v    = v_value(start + p.row, 0u);
        var sums = vec4<f32>();
#if WKV7
        for (var n = 0u; n < SHARE; n++) {
            let at   = p.lane + n * TEAM;
            let q    = q_four(start, at);
            let k    = k_four(start, at);
            let kept = decay_four(start, at) * m[n] + v * k;
            sums += vec4<f32>(dot(a_four(start, at), m[n]), dot(q, kept), dot(q, b_four(start, at)), 0.0);
            m[n] = kept;
        }
        sums = team_sum(sums);
        for (var n = 0u; n < SHARE; n++) {
            m[n] += sums.x * b_four(start, p.lane + n * TEAM);
        }
        let y = sums.y + sums.x * sums.z;
#else
        for (var n = 0u; n < SHARE; n++) {
            let at   = p.lane + n * TEAM;
            let kv   = v * k_four(start, at);
            let kept = decay_four(start, at) * m[n] + kv;
#if WKV6
            sums.x += dot(q_four(start, at), m[n] + first_four(p.head * params.first_nb.y, at) * kv);
#else
            sums.x += dot(q_four(start, at), kept);
#endif
            m[n] = kept;
        }
        let y = params.scale * team_sum(sums).x;
#endif
        if (p.real && p.lane == 0u) {
            y_store(p.head * params.y_nb.y + t * params.y_nb.z + p.seq * params.y_nb.w + p.row, y);
        }
    }
    if (p.real) {
        states_store_row(p.head * params.states_nb.y + p.seq * params.states_nb.w, p.row, p.lane, m);
    }
}
