// Attention for few query rows, where reading K and V is all that counts, and waiting for it: a workgroup walks over its split
// POSITIONS at a time, and first issues the loads of Q, the mask, the first rows of V and of K, before it uses any.
// TEAM threads of a subgroup share a row of K, each taking every TEAMth octet, SHARE in all, with its part of Q in registers; their
// sums are joined by shuffles. For V, LANES threads share the columns and GROUPS such groups the positions.
// A thread has K_UNROLL rows of K and V_UNROLL of V in flight. RESULT_ROWS rows of the result are put together at once.
// QUANTISES: dst as the quantised columns of a product as well; then there is one split.
#include "lib/grid.wgsl"
#include "attention/work.wgsl"
#include "attention/result.wgsl"
#if QUANTISES
#include "matmul/quantise_quads.wgsl"
#endif

const V_OCTETS  = (V_QUADS + 1u) / 2u;
const TEAMS     = WORKGROUP / TEAM;
const GROUPS    = WORKGROUP / LANES;
const JOINED    = max(1u, u32(SUBGROUP_MIN) / LANES);  // groups of a subgroup join their sums of V by shuffles
const V_PARTS   = GROUPS / JOINED;

alias Rows = array<vec4<f32>, ROWS4>;

var<workgroup> products: array<f32, POSITIONS * ROWS>;  // [position][row]
var<workgroup> weights: array<vec4<f32>, POSITIONS * ROWS4>;
var<workgroup> parts: array<vec4<f32>, WORKGROUP / SUBGROUP_MIN * ROWS4>;
var<workgroup> row_q: array<u32, ROWS>;     // where Q and the mask start
var<workgroup> row_mask: array<u32, ROWS>;
var<workgroup> row_slope: array<f32, ROWS>;
var<workgroup> row_max: array<f32, ROWS>;
var<workgroup> columns: array<vec4<f32>, RESULT_ROWS * V_PARTS * 2u * LANES>;  // [row][part][quad]

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

// What the mask holds at position j for rows r .. r + 3; anything if there is no mask.
fn four_bits(r: u32, j: u32) -> vec4<u32> {
    var bits = vec4<u32>();
    if (params.has_mask != 0u) {
        let at = min(j, params.kv - 1u);
#repeat i 4
        bits[$i] = mask_bits(row_mask[r + $iu] + at);
#end
    }
    return bits;
}

// What it adds to their scores.
fn biases(r: u32, bits: vec4<u32>, inside: bool) -> vec4<f32> {
    var bias = vec4<f32>(MASKED);
    if (inside) {
#repeat i 4
        bias[$i] = select(0.0, mask_value(bits[$i], row_slope[r + $iu]), params.has_mask != 0u);
#end
    }
    return bias;
}

// Adds up what all subgroups left in `parts`.
fn sum_of_parts(row: u32, subgroup: u32) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < WORKGROUP / subgroup; i++) {
        sum += parts[i * ROWS4 + row / 4u][row % 4u];
    }
    return sum;
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

    if (local < ROWS) {
        let row = clamped_row(w, local);
        row_q[local]     = q_start(w, row);
        row_mask[local]  = mask_start(w, row);
        row_slope[local] = slope_of(w, row);
    }
    workgroupBarrier();

    var q = array<mat2x4<f32>, ROWS * SHARE>();
    var o = array<mat2x4<f32>, ROWS>();
#repeat r ROWS
#repeat i SHARE
    if (lane + $iu * TEAM < K_OCTETS) {
        q[$ru * SHARE + $iu] = params.scale * q_row_octet(row_q[$r], lane + $iu * TEAM);
    }
#end
#end
    var highest = Rows();
    var sum     = Rows();  // of this thread's weights
#repeat r ROWS4
    highest[$r] = vec4<f32>(MASKED);
#end

    for (var base = w.begin; base < w.end; base += POSITIONS) {
        let last    = min(POSITIONS, w.end - base) - 1u;
        let k_start = w.k + base * params.k_nb.y;
        let v_start = w.v + base * params.v_nb.y;
#repeat r ROWS4
        let bits_$r = four_bits(4u * $ru, base + local);
#end
        var v = array<v_Octet, V_UNROLL>();
#repeat u V_UNROLL
        v[$u] = v_row_load(v_start + min(group + $uu * GROUPS, last) * params.v_nb.y, min(c, V_OCTETS - 1u));
#end

        for (var block = 0u; block < POSITIONS; block += K_UNROLL * TEAMS) {
            let first = block + team;
#repeat u K_UNROLL
            let row_$u = k_start + min(first + $uu * TEAMS, last) * params.k_nb.y;
#repeat i SHARE
            let loaded_$u_$i = k_row_load(row_$u, min(lane + $iu * TEAM, K_OCTETS - 1u)); // past the last one q is 0
#end
#end
#repeat u K_UNROLL
#repeat i SHARE
            let k_$u_$i = k_octet(loaded_$u_$i);
#end
#repeat r ROWS4
            var s_$u_$r = vec4<f32>();
#repeat i SHARE
            s_$u_$r += products_of(q[4u * $ru * SHARE + $iu], q[(4u * $ru + 1u) * SHARE + $iu], q[(4u * $ru + 2u) * SHARE + $iu],
                                   q[(4u * $ru + 3u) * SHARE + $iu], k_$u_$i);
#end
            let sum_$u_$r = team_sum(s_$u_$r, lane);
            if (lane < 4u) {
                products[(first + $uu * TEAMS) * ROWS + 4u * $ru + (lane & 1u) * 2u + (lane >> 1u)] = sum_$u_$r;
            }
#end
#end
        }
        workgroupBarrier();

        // Threads from POSITIONS on have no position.
        let mine   = min(local, POSITIONS - 1u);
        let inside = local <= last;
        var scores = Rows();
#repeat r ROWS4
        let at_$r   = mine * ROWS + 4u * $ru;
        let bias_$r = biases(4u * $ru, bits_$r, inside);
        scores[$r] = score_of(vec4<f32>(products[at_$r], products[at_$r + 1u], products[at_$r + 2u], products[at_$r + 3u]), bias_$r);
        let most_$r = subgroupMax(scores[$r]);
        if (subgroup_lane == 0u) {
            parts[local / subgroup * ROWS4 + $ru] = most_$r;
        }
#end
        workgroupBarrier();

        var visible = false;
#repeat r ROWS4
        var most_of_all_$r = vec4<f32>(MASKED);
        for (var i = 0u; i < WORKGROUP / subgroup; i++) {
            most_of_all_$r = max(most_of_all_$r, parts[i * ROWS4 + $ru]);
        }
        visible = visible || any(most_of_all_$r > vec4<f32>(MASKED));
        let now_$r    = max(highest[$r], most_of_all_$r);
        let keep_$r   = exp(highest[$r] - now_$r);
        let weight_$r = weight_of(scores[$r], now_$r);
        highest[$r] = now_$r;
        sum[$r] = keep_$r * sum[$r] + weight_$r;
        if (local < POSITIONS) {
            weights[local * ROWS4 + $ru] = weight_$r;
        }
        o[4u * $ru]      *= keep_$r.x;
        o[4u * $ru + 1u] *= keep_$r.y;
        o[4u * $ru + 2u] *= keep_$r.z;
        o[4u * $ru + 3u] *= keep_$r.w;
#end
        workgroupBarrier();

        for (var first = group; visible && first <= last; first += V_UNROLL * GROUPS) {
            if (first != group) {
#repeat u V_UNROLL
                v[$u] = v_row_load(v_start + min(first + $uu * GROUPS, last) * params.v_nb.y, min(c, V_OCTETS - 1u));
#end
            }
#repeat u V_UNROLL
            let v_$u = v_octet(v[$u]);
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

#repeat r ROWS4
    let total_$r = subgroupAdd(sum[$r]);
#end
    if (subgroup_lane == 0u) {
#repeat r ROWS4
        parts[local / subgroup * ROWS4 + $ru] = total_$r;
#end
    }
    if (local == 0u) {
#repeat r ROWS4
#repeat i 4
        row_max[4u * $ru + $iu] = highest[$r][$i];
#end
#end
    }
#repeat r ROWS
    for (var step = u32(LANES); step < JOINED * LANES; step *= 2u) {
        o[$r][0] += subgroupShuffleXor(o[$r][0], step);
        o[$r][1] += subgroupShuffleXor(o[$r][1], step);
    }
#end

#repeat b ROWS / RESULT_ROWS
#if $b > 0
    workgroupBarrier();
#endif
    if (group % JOINED == 0u) {
#repeat r RESULT_ROWS
        let to_$b_$r = ($ru * V_PARTS + group / JOINED) * (2u * LANES) + 2u * c;
        columns[to_$b_$r]      = o[$b * RESULT_ROWS + $r][0];
        columns[to_$b_$r + 1u] = o[$b * RESULT_ROWS + $r][1];
#end
    }
    workgroupBarrier();
    for (var first = 0u; first < RESULT_ROWS * V_QUADS; first += WORKGROUP) {
        let r    = (first + local) / V_QUADS;
        let quad = (first + local) % V_QUADS;
        let row  = $bu * RESULT_ROWS + r;
        let used = r < RESULT_ROWS && w.first_row + row < params.rows;
        var all  = vec4<f32>();
        if (used) {
            for (var part = 0u; part < V_PARTS; part++) {
                all += columns[(r * V_PARTS + part) * (2u * LANES) + quad];
            }
            all = store_result(w, w.first_row + row, quad, all, row_max[row], sum_of_parts(row, subgroup));
        }
#if QUANTISES
        quantise_quads(select(0xffffffffu, result_row(w, w.first_row + row) * V_QUADS + quad, used), array<vec4<f32>, 1>(all));
#endif
    }
#end
}
