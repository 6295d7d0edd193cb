// Attention for any number of query rows. ROWS rows of Q lie in workgroup memory; the workgroup walks over the KV positions of
// its split, WORKGROUP at a time (a tile): a thread makes the scores of all rows for one position, the highest scores are found
// together, and for the weighted sum of V a thread takes four columns and every GROUPSth position. Rows go in vec4s of four.
#include "lib/grid.wgsl"
#include "attention/work.wgsl"
#include "attention/result.wgsl"

// LANES threads share the columns of V, some may be idle; GROUPS such groups share the positions, UNROLL at a time.
const GROUPS = WORKGROUP / LANES;
const PARTS  = 8u;

alias Rows = array<vec4<f32>, ROWS4>;

var<workgroup> queries: array<vec4<f32>, 8u * K_OCTETS * ROWS4>;  // [value][row]
var<workgroup> weights: array<vec4<f32>, WORKGROUP * ROWS4>;     // [position][row]
var<workgroup> parts: array<vec4<f32>, PARTS * ROWS4>;
var<workgroup> row_mask: array<vec4<u32>, ROWS4>;
var<workgroup> row_slope: array<vec4<f32>, ROWS4>;
var<workgroup> row_max: array<vec4<f32>, ROWS4>;
var<workgroup> row_sum: array<vec4<f32>, ROWS4>;

fn load_queries(w: Work, local: u32) {
    for (var i = local; i < 8u * K_OCTETS * ROWS4; i += WORKGROUP) {
        let d  = i % (8u * K_OCTETS);
        let r4 = i / (8u * K_OCTETS);
        var four = vec4<f32>();
        if (d < k_SIZE) {
            for (var r = 0u; r < 4u; r++) {
                four[r] = q_value(q_start(w, clamped_row(w, 4u * r4 + r)) + d, 0u);
            }
        }
        queries[d * ROWS4 + r4] = params.scale * four;
    }
    if (local < ROWS4) {
        for (var r = 0u; r < 4u; r++) {
            let row = clamped_row(w, 4u * local + r);
            row_mask[local][r]  = mask_start(w, row);
            row_slope[local][r] = slope_of(w, row);
        }
    }
}

// What the mask adds to the scores of rows 4 r4 .. 4 r4 + 3 at position j. Heads share the mask, so most rows repeat the last one.
fn biases(r4: u32, j: u32) -> vec4<f32> {
    let start = row_mask[r4];
    let slope = row_slope[r4];
    var bits  = mask_bits(start.x + j);
    var bias  = vec4<f32>(mask_value(bits, slope.x));
    for (var r = 1u; r < 4u; r++) {
        if (start[r] != start[r - 1u]) {
            bits = mask_bits(start[r] + j);
        }
        bias[r] = mask_value(bits, slope[r]);
    }
    return bias;
}

fn add_products(s: ptr<function, Rows>, d: u32, k: vec4<f32>) {
    let at = 4u * d * ROWS4;
#repeat r ROWS4
    (*s)[$r] += k.x * queries[at + $ru] + k.y * queries[at + ROWS4 + $ru] + k.z * queries[at + 2u * ROWS4 + $ru] +
                k.w * queries[at + 3u * ROWS4 + $ru];
#end
}

// The scores of all rows at position j.
fn scores(w: Work, j: u32) -> Rows {
    var bias = Rows();
    var seen = j < w.end;
    if (seen && params.has_mask != 0u) {
        var highest = vec4<f32>(MASKED);
        for (var r = 0u; r < ROWS4; r++) {
            bias[r] = biases(r, j);
            highest = max(highest, bias[r]);
        }
        seen = max(max(highest.x, highest.y), max(highest.z, highest.w)) > MASKED;
    }
    var s = Rows();
    if (!seen) {
        for (var r = 0u; r < ROWS4; r++) {
            s[r] = vec4<f32>(MASKED);
        }
        return s;
    }
    let row = w.k + j * params.k_nb.y;
    for (var i = 0u; i < params.k_octets; i++) {
        let k = k_row_octet(row, i);
        add_products(&s, 2u * i, k[0]);
        add_products(&s, 2u * i + 1u, k[1]);
    }
    for (var r = 0u; r < ROWS4; r++) {
        s[r] = score_of(s[r], bias[r]);
    }
    return s;
}

fn share(s: Rows, local: u32) {
    workgroupBarrier();
    for (var r = 0u; r < ROWS4; r++) {
        weights[local * ROWS4 + r] = s[r];
    }
    workgroupBarrier();
}

// Leaves PARTS values of each row in `parts`, the highest of all threads' among them. Subgroups would not help much here: all rows
// at once are one vector operation a thread.
fn share_max(s: Rows, local: u32) {
    share(s, local);
    if (local < PARTS * ROWS4) {
        var highest = weights[local];
        for (var i = local + PARTS * ROWS4; i < WORKGROUP * ROWS4; i += PARTS * ROWS4) {
            highest = max(highest, weights[i]);
        }
        parts[local] = highest;
    }
    workgroupBarrier();
}

// The same for sums.
fn share_sum(s: Rows, local: u32) {
    share(s, local);
    if (local < PARTS * ROWS4) {
        var sum = weights[local];
        for (var i = local + PARTS * ROWS4; i < WORKGROUP * ROWS4; i += PARTS * ROWS4) {
            sum += weights[i];
        }
        parts[local] = sum;
    }
    workgroupBarrier();
}

// Adds to the sums of all rows the weighted quads `c` of every GROUPSth row of V from `group` on. Weights past `last` are 0.
fn add_values(o0: ptr<function, Rows>, o1: ptr<function, Rows>, o2: ptr<function, Rows>, o3: ptr<function, Rows>,
              start: u32, c: u32, group: u32, last: u32) {
    for (var first = group; first <= last; first += UNROLL * GROUPS) {
        for (var u = 0u; u < UNROLL; u++) {
            let j = first + u * GROUPS;
            let v = v_row_quad(start + min(j, last) * params.v_nb.y, c);
#repeat r ROWS4
            let p_$r = weights[j * ROWS4 + $ru];
            (*o0)[$r] += p_$r.x * v;
            (*o1)[$r] += p_$r.y * v;
            (*o2)[$r] += p_$r.z * v;
            (*o3)[$r] += p_$r.w * v;
#end
        }
    }
}

// Adds up the groups' sums of the rows 4 r4 + r and stores them. `o` holds them for all r4.
fn finish(w: Work, r: u32, o: Rows, local: u32) {
    workgroupBarrier();
    for (var r4 = 0u; r4 < ROWS4; r4++) {
        weights[local * ROWS4 + r4] = o[r4];
    }
    workgroupBarrier();
    for (var i = local; i < ROWS4 * LANES; i += WORKGROUP) {
        let c   = i % LANES;
        let r4  = i / LANES;
        let row = w.first_row + 4u * r4 + r;
        if (c < V_QUADS && row < params.rows) {
            var sum = vec4<f32>();
            for (var g = 0u; g < GROUPS; g++) {
                sum += weights[(g * LANES + c) * ROWS4 + r4];
            }
            store_result(w, row, c, sum, row_max[r4][r], row_sum[r4][r]);
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = group_index(wid, nwg);
    if (index >= params.groups) {
        return;
    }
    let w = work_of(index);
    k_prepare(local, WORKGROUP);
    v_prepare(local, WORKGROUP);
    load_queries(w, local);
    workgroupBarrier();

    let c     = local % LANES;
    let group = local / LANES;

    var highest = Rows();
    for (var r = 0u; r < ROWS4; r++) {
        highest[r] = vec4<f32>(MASKED);
    }
    var sum = Rows();  // of this thread's weights
    var o0 = Rows();   // weighted sums of V in rows 4 r4
    var o1 = Rows();   // 4 r4 + 1
    var o2 = Rows();
    var o3 = Rows();

    for (var base = w.begin; base < w.end; base += WORKGROUP) {
        let s = scores(w, base + local);
        share_max(s, local);
        var seen = false;
#repeat r ROWS4
        var now_$r = highest[$r];
        for (var i = 0u; i < PARTS; i++) {
            now_$r = max(now_$r, parts[i * ROWS4 + $ru]);
        }
        seen = seen || any(now_$r > vec4<f32>(MASKED));
        if (any(now_$r > highest[$r])) {
            let keep = exp(highest[$r] - now_$r);
            highest[$r] = now_$r;
            sum[$r] *= keep;
            o0[$r]  *= keep.x;
            o1[$r]  *= keep.y;
            o2[$r]  *= keep.z;
            o3[$r]  *= keep.w;
        }
        let weight_$r = weight_of(s[$r], now_$r);
        weights[local * ROWS4 + $ru] = weight_$r;
        sum[$r] += weight_$r;
#end
        workgroupBarrier();
        if (seen && c < V_QUADS) {
            let last  = min(WORKGROUP, w.end - base) - 1u;
            let start = w.v + base * params.v_nb.y;
#if GROUPS_IN_TURN
            // The same for every thread of a subgroup, in a form that compilers see.
            for (var g = 0u; g < GROUPS; g++) {
                if (g == group) {
                    add_values(&o0, &o1, &o2, &o3, start, c, g, last);
                }
            }
#else
            add_values(&o0, &o1, &o2, &o3, start, c, group, last);
#endif
        }
    }

    share_sum(sum, local);
    if (local == 0u) {
        for (var r = 0u; r < ROWS4; r++) {
            var total = vec4<f32>();
            for (var i = 0u; i < PARTS; i++) {
                total += parts[i * ROWS4 + r];
            }
            row_max[r] = highest[r];
            row_sum[r] = total;
        }
    }
    workgroupBarrier();
    for (var r = 0u; r < params.four; r++) {
        var o = o0;
        switch r {
            case 1u: { o = o1; }
            case 2u: { o = o2; }
            case 3u: { o = o3; }
            default: {}
        }
        finish(w, r, o, local);
    }
}
