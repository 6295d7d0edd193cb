// SSM_SCAN: a selective state space. For row r of a head, with sums over the state's values i and s = softplus(dt):
// M_i = exp(s A_i) M_i + B_i s x_r; y_r = sum C_i M_i. A has one value a head (Mamba-2) or one for each i (Mamba-1).
#include "recurrent/row.wgsl"
#include "recurrent/vector.wgsl" as a
#include "recurrent/vector.wgsl" as b
#include "recurrent/vector.wgsl" as c
#include "codecs/f32.wgsl" as x
#include "codecs/f32.wgsl" as dt
#include "codecs/f32.wgsl" as state
#include "codecs/f32.wgsl" as y
#include "codecs/f32.wgsl" as states
#include "recurrent/matrix.wgsl" as state
#include "recurrent/matrix.wgsl" as states
#if HAS_FAULT
#include "lib/fault.wgsl"
#endif

fn softplus(x: f32) -> f32 {
    return select(log(1.0 + exp(min(x, 20.0))), x, x > 20.0);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    var p = place_of(group, local);

    // Which state to start from: of the bound ones, first_state .. first_state + bound_states - 1 of all.
    var start = p.seq;
#if HAS_IDS
    let id = ids_word((params.ids_offset >> 2u) + p.seq);
#if HAS_FAULT
    if (id >= params.all_states) {
        raise_fault();
    }
#endif
    p.real = p.real && id >= params.first_state && id < params.first_state + params.bound_states;
    start   = select(0u, id - params.first_state, p.real);
#endif
    var m = state_load_row(p.head * params.state_nb.y + start * params.state_nb.w, p.row, p.lane);

    let group_of_head = (params.first_head + p.head) / params.group_heads;
    let a_at = p.head * params.a_nb.y;
    for (var t = 0u; t < params.tokens; t++) {
        let s    = softplus(dt_value(p.head * params.dt_nb.y + t * params.dt_nb.z + p.seq * params.dt_nb.w, 0u));
        let x    = s * x_value(p.head * params.x_nb.y + t * params.x_nb.z + p.seq * params.x_nb.w + p.row, 0u);
        let b_at = group_of_head * params.b_nb.y + t * params.b_nb.z + p.seq * params.b_nb.w;
        let c_at = group_of_head * params.c_nb.y + t * params.c_nb.z + p.seq * params.c_nb.w;
#if !VECTOR_DECAY
        let decay = exp(s * a_value(a_at, 0u));
#endif
        var sums = vec4<f32>();
        for (var n = 0u; n < SHARE; n++) {
            let at = p.lane + n * TEAM;
#if VECTOR_DECAY
            m[n] = exp(s * a_four(a_at, at)) * m[n] + x * b_four(b_at, at);
#else
            m[n] = decay * m[n] + x * b_four(b_at, at);
#endif
            sums.x += dot(c_four(c_at, at), m[n]);
        }
        let y = team_sum(sums).x;
        if (p.real && p.lane == 0u) {
            y_store(p.head * params.y_nb.y + t * params.y_nb.z + p.seq * params.y_nb.w + p.row, y);
        }
    }
    if (p.real) {
        states_store_row(p.head * params.states_nb.y + p.seq * params.states_nb.w, p.row, p.lane, m);
    }
}
