// LIGHTNING_INDEXER: how relevant a KV position is to a token: sum over heads h of w_h max(q_h . k, 0), plus the mask.
// A workgroup serves one token and WORKGROUP positions, one a thread; HEADS heads of Q at a time lie in workgroup memory.
#include "lib/grid.wgsl"
#include "codecs/f32.wgsl" as q
#include "codecs/{k_TYPE}.wgsl" as k
#include "attention/row.wgsl" as k
#include "codecs/f32.wgsl" as w
#include "codecs/f32.wgsl" as dst

const HEADS4   = HEADS / 4u;
const K_OCTETS = (k_SIZE + 7u) / 8u;

var<workgroup> queries: array<vec4<f32>, 8u * K_OCTETS * HEADS4>;  // [value][head]
var<workgroup> head_weights: array<vec4<f32>, HEADS4>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    k_prepare(local, WORKGROUP);
    let tile   = group % params.tiles;
    let token  = group / params.tiles % params.tokens;
    let stream = group / params.tiles / params.tokens;
    let j      = tile * WORKGROUP + local;
    let row    = min(j, params.kv - 1u) * params.k_nb.z + stream * params.k_nb.w;
    let q      = token * params.q_nb.z + stream * params.q_nb.w;
    let w      = token * params.w_nb.y + stream * params.w_nb.w;

    var score = 0.0;
    for (var first = 0u; first < params.heads; first += HEADS) {
        workgroupBarrier();
        for (var i = local; i < 8u * K_OCTETS * HEADS4; i += WORKGROUP) {
            let d = i % (8u * K_OCTETS);
            let h = 4u * (i / (8u * K_OCTETS));
            var four = vec4<f32>();
            for (var n = 0u; n < 4u; n++) {
                if (d < k_SIZE && first + h + n < params.heads) {
                    four[n] = q_value(q + (first + h + n) * params.q_nb.y + d, 0u);
                }
            }
            queries[d * HEADS4 + h / 4u] = four;
        }
        if (local < HEADS4) {
            var four = vec4<f32>();
            for (var n = 0u; n < 4u; n++) {
                if (first + 4u * local + n < params.heads) {
                    four[n] = w_value(w + (first + 4u * local + n) * params.w_nb.x, 0u);
                }
            }
            head_weights[local] = four;
        }
        workgroupBarrier();

        var s = array<vec4<f32>, HEADS4>();
        for (var i = 0u; i < params.k_octets; i++) {
            let k = k_row_octet(row, i);
            for (var half = 0u; half < 2u; half++) {
                for (var h = 0u; h < HEADS4; h++) {
                    let at = (8u * i + 4u * half) * HEADS4 + h;
                    s[h] += k[half].x * queries[at] + k[half].y * queries[at + HEADS4] + k[half].z * queries[at + 2u * HEADS4] +
                            k[half].w * queries[at + 3u * HEADS4];
                }
            }
        }
        for (var h = 0u; h < HEADS4; h++) {
            score += dot(max(s[h], vec4<f32>()), head_weights[h]);
        }
    }
    if (j < params.kv) {
        let mask = mask_f16(params.mask_offset + 2u * (j + token * params.mask_nb.y + (stream % params.mask_ne.w) * params.mask_nb.w));
        dst_store(j + token * params.dst_nb.y + stream * params.dst_nb.w, score + mask);
    }
}
