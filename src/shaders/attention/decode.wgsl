// Attention for few query rows, where reading K and V is all that counts. TEAM threads of a subgroup share a row of K, each taking
// every TEAMth octet, SHARE in all, with its part of Q in registers; their sums are joined by shuffles. For V, LANES threads share the columns and
// GROUPS such groups the positions. Loads of UNROLL rows are issued together. As in tile.wgsl the workgroup walks over its split
// WORKGROUP positions at a time.
#include "lib/grid.wgsl"
#include "attention/work.wgsl"
#include "attention/result.wgsl"

const V_OCTETS = (V_QUADS + 1u) / 2u;
const TEAMS    = WORKGROUP / TEAM;
const GROUPS   = WORKGROUP / LANES;
const PARTS    = WORKGROUP / SUBGROUP_MIN;

alias Rows   = array<vec4<f32>, ROWS4>;
alias Octets = array<mat2x4<f32>, UNROLL * SHARE>;

var<workgroup> seen: array<u32, WORKGROUP>;            // [position]
var<workgroup> products: array<f32, WORKGROUP * ROWS>;  // [position][row]
var<workgroup> weights: array<vec4<f32>, WORKGROUP * ROWS4>;
var<workgroup> parts: array<vec4<f32>, PARTS * ROWS4>;
var<workgroup> columns: array<vec4<f32>, 2u * WORKGROUP>;
var<workgroup> row_max: array<f32, ROWS>;
var<workgroup> row_sum: array<f32, ROWS>;

struct Masks {
    start: array<u32, ROWS>,
    slope: array<f32, ROWS>,
}

fn masks(w: Work) -> Masks {
    var m = Masks();
    for (var r = 0u; r < ROWS; r++) {
        let row = clamped_row(w, r);
        m.start[r] = mask_start(w, row);
        m.slope[r] = slope_of(w, row);
    }
    return m;
}

// What the mask adds to the rows at position j.
fn biases(m: Masks, j: u32, end: u32) -> Rows {
    var bias = Rows();
    for (var r = 0u; r < ROWS; r++) {
        var b = MASKED;
        if (j < end) {
            b = 0.0;
            if (params.has_mask != 0u) {
                b = mask_value(mask_bits(m.start[r] + j), m.slope[r]);
            }
        }
        bias[r / 4u][r % 4u] = b;
    }
    return bias;
}

// Of four rows of Q with one of K.
fn products_of(q0: mat2x4<f32>, q1: mat2x4<f32>, q2: mat2x4<f32>, q3: mat2x4<f32>, k: mat2x4<f32>) -> vec4<f32> {
    return vec4<f32>(dot(q0[0], k[0]) + dot(q0[1], k[1]), dot(q1[0], k[0]) + dot(q1[1], k[1]), dot(q2[0], k[0]) + dot(q2[1], k[1]),
                     dot(q3[0], k[0]) + dot(q3[1], k[1]));
}

// The sum over a team of one of the four values: lanes 0 to 3 get those of rows 0, 2, 1 and 3.
fn team_sum(s: vec4<f32>, lane: u32) -> f32 {
    let odd  = (lane & 1u) != 0u;
    let pair = select(s.xy, s.zw, odd) + subgroupShuffleXor(select(s.zw, s.xy, odd), 1u);
    let high = (lane & 2u) != 0u;
    var sum  = select(pair.x, pair.y, high) + subgroupShuffleXor(select(pair.y, pair.x, high), 2u);
    for (var step = 4u; step < TEAM; step *= 2u) {
        sum += subgroupShuffleXor(sum, step);
    }
    return sum;
}

// Adds up the groups' sums of row `r` and stores them.
fn finish(w: Work, r: u32, o: mat2x4<f32>, local: u32) {
    workgroupBarrier();
    columns[2u * local]      = o[0];
    columns[2u * local + 1u] = o[1];
    workgroupBarrier();
    let row = w.first_row + r;
    if (local < V_QUADS && row < params.rows) {
        var sum = columns[local];
        for (var g = 1u; g < GROUPS; g++) {
            sum += columns[2u * LANES * g + local];
        }
        store_result(w, row, local, sum, row_max[r], row_sum[r]);
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32,
        @builtin(subgroup_size) subgroup: u32, @builtin(subgroup_invocation_id) subgroup_lane: u32) {
    let index = group_index(wid, nwg);
    if (index >= params.groups) {
        return;
    }
    let w = work_of(index);
    k_prepare(local, WORKGROUP);
    v_prepare(local, WORKGROUP);

    let lane  = local % TEAM;
    let team  = local / TEAM;
    let c     = local % LANES;
    let group = local / LANES;

    var q = array<mat2x4<f32>, ROWS * SHARE>();
    for (var r = 0u; r < ROWS; r++) {
        let start = q_start(w, clamped_row(w, r));
        for (var i = 0u; i < SHARE; i++) {
            if (lane + i * TEAM < K_OCTETS) {
                q[r * SHARE + i] = params.scale * q_row_octet(start, lane + i * TEAM);
            }
        }
    }

    let m = masks(w);
    var highest = Rows();
    for (var r = 0u; r < ROWS4; r++) {
        highest[r] = vec4<f32>(MASKED);
    }
    var sum = Rows();  // of this thread's weights
    var o = array<mat2x4<f32>, ROWS>();

    for (var base = w.begin; base < w.end; base += WORKGROUP) {
        let last = min(WORKGROUP, w.end - base) - 1u;
        let bias = biases(m, base + local, w.end);
        var highest_bias = bias[0];
        for (var r = 1u; r < ROWS4; r++) {
            highest_bias = max(highest_bias, bias[r]);
        }
        seen[local] = u32(any(highest_bias > vec4<f32>(MASKED)));
        workgroupBarrier();

        let k_start = w.k + base * params.k_nb.y;
        for (var block = 0u; block < WORKGROUP; block += UNROLL * TEAMS) {
            let first = block + team;
            var some = 0u;
#repeat u UNROLL
            some |= seen[first + $uu * TEAMS];
#end
            var k = Octets();
            if (some != 0u) {
#repeat u UNROLL
                let row_$u = k_start + min(first + $uu * TEAMS, last) * params.k_nb.y;
#repeat i SHARE
                if (lane + $iu * TEAM < K_OCTETS) {
                    k[$uu * SHARE + $iu] = k_row_octet(row_$u, lane + $iu * TEAM);
                }
#end
#end
            }
#repeat u UNROLL
#repeat r ROWS4
            var s_$u_$r = vec4<f32>();
#repeat i SHARE
            s_$u_$r += products_of(q[4u * $ru * SHARE + $iu], q[(4u * $ru + 1u) * SHARE + $iu], q[(4u * $ru + 2u) * SHARE + $iu],
                                   q[(4u * $ru + 3u) * SHARE + $iu], k[$uu * SHARE + $iu]);
#end
            let sum_$u_$r = team_sum(s_$u_$r, lane);
            if (lane < 4u) {
                products[(first + $uu * TEAMS) * ROWS + 4u * $ru + (lane & 1u) * 2u + (lane >> 1u)] = sum_$u_$r;
            }
#end
#end
        }
        workgroupBarrier();

        var scores = Rows();
#repeat r ROWS4
        let at_$r = local * ROWS + 4u * $ru;
        scores[$r] = score_of(vec4<f32>(products[at_$r], products[at_$r + 1u], products[at_$r + 2u], products[at_$r + 3u]), bias[$r]);
        let most_$r = subgroupMax(scores[$r]);
        if (subgroup_lane == 0u) {
            parts[local / subgroup * ROWS4 + $ru] = most_$r;
        }
#end
        workgroupBarrier();

        var any_seen = false;
#repeat r ROWS4
        var now_$r = highest[$r];
        for (var i = 0u; i < WORKGROUP / subgroup; i++) {
            now_$r = max(now_$r, parts[i * ROWS4 + $ru]);
        }
        any_seen = any_seen || any(now_$r > vec4<f32>(MASKED));
        let keep_$r   = exp(highest[$r] - now_$r);
        let weight_$r = weight_of(scores[$r], now_$r);
        highest[$r] = now_$r;
        sum[$r] = keep_$r * sum[$r] + weight_$r;
        weights[local * ROWS4 + $ru] = weight_$r;
        o[4u * $ru]      *= keep_$r.x;
        o[4u * $ru + 1u] *= keep_$r.y;
        o[4u * $ru + 2u] *= keep_$r.z;
        o[4u * $ru + 3u] *= keep_$r.w;
#end
        workgroupBarrier();

        if (any_seen && c < V_OCTETS) {
            let v_start = w.v + base * params.v_nb.y;
            for (var first = group; first <= last; first += UNROLL * GROUPS) {
#repeat u UNROLL
                let v_$u = v_row_octet(v_start + min(first + $uu * GROUPS, last) * params.v_nb.y, c);
#end
#repeat u UNROLL
#repeat r ROWS4
                let p_$u_$r = weights[(first + $uu * GROUPS) * ROWS4 + $ru];
                o[4u * $ru]      += p_$u_$r.x * v_$u;
                o[4u * $ru + 1u] += p_$u_$r.y * v_$u;
                o[4u * $ru + 2u] += p_$u_$r.z * v_$u;
                o[4u * $ru + 3u] += p_$u_$r.w * v_$u;
#end
#end
            }
        }
    }

#repeat r ROWS4
    let total_$r = subgroupAdd(sum[$r]);
    if (subgroup_lane == 0u) {
        parts[local / subgroup * ROWS4 + $ru] = total_$r;
    }
#end
    workgroupBarrier();
    if (local == 0u) {
#repeat r ROWS4
        var all_$r = vec4<f32>();
        for (var i = 0u; i < WORKGROUP / subgroup; i++) {
            all_$r += parts[i * ROWS4 + $ru];
        }
#repeat i 4
        row_max[4u * $ru + $iu] = highest[$r][$i];
        row_sum[4u * $ru + $iu] = all_$r[$i];
#end
#end
    }
    for (var r = 0u; r < params.tile_rows; r++) {
        var row = o[0];
        switch r {
#repeat r ROWS
            case $ru: { row = o[$r]; }
#end
            default: {}
        }
        finish(w, r, row, local);
    }
}
