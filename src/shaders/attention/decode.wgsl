// Attention for few query rows, where reading K and V is all that counts. TEAM threads of a subgroup share a row of K, each taking
// every TEAMth octet, with its part of Q in registers; their sums are joined by shuffles. For V, LANES threads share the columns and
// GROUPS such groups the positions. Loads of UNROLL rows are issued together. As in tile.wgsl the workgroup walks over its split
// WORKGROUP positions at a time.
#include "lib/grid.wgsl"
#include "attention/work.wgsl"
#include "attention/result.wgsl"

const ROWS4    = ROWS / 4u;
const V_OCTETS = (V_QUADS + 1u) / 2u;
const TEAMS    = WORKGROUP / TEAM;
const SHARE    = (K_OCTETS + TEAM - 1u) / TEAM;  // octets of a thread
const GROUPS   = WORKGROUP / LANES;
const PARTS    = WORKGROUP / SUBGROUP_MIN;

alias Rows   = array<vec4<f32>, ROWS4>;
alias Octets = array<mat2x4<f32>, UNROLL * SHARE>;

var<workgroup> seen: array<u32, WORKGROUP>;            // [position]
var<workgroup> products: array<f32, WORKGROUP * ROWS>;  // [position][row]
var<workgroup> weights: array<vec4<f32>, WORKGROUP * ROWS4>;
var<workgroup> parts: array<vec4<f32>, PARTS * ROWS4>;
var<workgroup> columns: array<vec4<f32>, 2u * WORKGROUP>;

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

fn dot_octet(a: mat2x4<f32>, b: mat2x4<f32>) -> f32 {
    return dot(a[0], b[0]) + dot(a[1], b[1]);
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
fn finish(w: Work, r: u32, o: mat2x4<f32>, m: f32, l: f32, local: u32) {
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
        store_result(w, row, local, sum, m, l);
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
            for (var u = 0u; u < UNROLL; u++) {
                some |= seen[first + u * TEAMS];
            }
            var k = Octets();
            if (some != 0u) {
                for (var u = 0u; u < UNROLL; u++) {
                    let row = k_start + min(first + u * TEAMS, last) * params.k_nb.y;
                    for (var i = 0u; i < SHARE; i++) {
                        if (lane + i * TEAM < K_OCTETS) {
                            k[u * SHARE + i] = k_row_octet(row, lane + i * TEAM);
                        }
                    }
                }
            }
            for (var u = 0u; u < UNROLL; u++) {
                for (var r = 0u; r < ROWS4; r++) {
                    var s = vec4<f32>();
                    for (var i = 0u; i < SHARE; i++) {
                        let at = 4u * r * SHARE + i;
                        let ku = k[u * SHARE + i];
                        s += vec4<f32>(dot_octet(q[at], ku), dot_octet(q[at + SHARE], ku), dot_octet(q[at + 2u * SHARE], ku),
                                       dot_octet(q[at + 3u * SHARE], ku));
                    }
                    let product = team_sum(s, lane);
                    if (lane < 4u) {
                        products[(first + u * TEAMS) * ROWS + 4u * r + (lane & 1u) * 2u + (lane >> 1u)] = product;
                    }
                }
            }
        }
        workgroupBarrier();

        var scores = Rows();
        for (var r = 0u; r < ROWS4; r++) {
            let at = local * ROWS + 4u * r;
            scores[r] = score_of(vec4<f32>(products[at], products[at + 1u], products[at + 2u], products[at + 3u]), bias[r]);
            let most = subgroupMax(scores[r]);
            if (subgroup_lane == 0u) {
                parts[local / subgroup * ROWS4 + r] = most;
            }
        }
        workgroupBarrier();

        var any_seen = false;
        for (var r = 0u; r < ROWS4; r++) {
            var now = highest[r];
            for (var i = 0u; i < WORKGROUP / subgroup; i++) {
                now = max(now, parts[i * ROWS4 + r]);
            }
            any_seen = any_seen || any(now > vec4<f32>(MASKED));
            let keep   = exp(highest[r] - now);
            let weight = weight_of(scores[r], now);
            highest[r] = now;
            sum[r] = keep * sum[r] + weight;
            weights[local * ROWS4 + r] = weight;
            for (var i = 0u; i < 4u; i++) {
                o[4u * r + i] *= keep[i];
            }
        }
        workgroupBarrier();

        if (any_seen && c < V_OCTETS) {
            let v_start = w.v + base * params.v_nb.y;
            for (var first = group; first <= last; first += UNROLL * GROUPS) {
                var v = array<mat2x4<f32>, UNROLL>();
                for (var u = 0u; u < UNROLL; u++) {
                    v[u] = v_row_octet(v_start + min(first + u * GROUPS, last) * params.v_nb.y, c);
                }
                for (var u = 0u; u < UNROLL; u++) {
                    for (var r = 0u; r < ROWS4; r++) {
                        let p = weights[(first + u * GROUPS) * ROWS4 + r];
                        for (var i = 0u; i < 4u; i++) {
                            o[4u * r + i] += p[i] * v[u];
                        }
                    }
                }
            }
        }
    }

    var total = Rows();
    for (var r = 0u; r < ROWS4; r++) {
        let all = subgroupAdd(sum[r]);
        if (subgroup_lane == 0u) {
            parts[local / subgroup * ROWS4 + r] = all;
        }
    }
    workgroupBarrier();
    for (var r = 0u; r < ROWS4; r++) {
        for (var i = 0u; i < WORKGROUP / subgroup; i++) {
            total[r] += parts[i * ROWS4 + r];
        }
    }
    for (var r4 = 0u; r4 < ROWS4; r4++) {
        for (var r = 0u; r < params.four; r++) {
            var row = o[4u * r4];
            switch r {
                case 1u: { row = o[4u * r4 + 1u]; }
                case 2u: { row = o[4u * r4 + 2u]; }
                case 3u: { row = o[4u * r4 + 3u]; }
                default: {}
            }
            finish(w, 4u * r4 + r, row, highest[r4][r], total[r4][r], local);
        }
    }
}
