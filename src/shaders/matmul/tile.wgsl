// Products with many columns: a workgroup makes TILE_M rows by TILE_N columns, a thread 8 by 8 of them, from tiles
// of src0 and src1 in workgroup memory. With ID the columns of a tile are (slot, token) pairs routed to one expert,
// listed by matmul/route.wgsl.
#include "lib/grid.wgsl"
#include "matmul/operands.wgsl"
#include "codecs/f32.wgsl" as dst

const TILE_KQ = TILE_K / 4u;
const STRIDE_A = TILE_M + 4u;
const STRIDE_B = TILE_N + 4u;

// [k][row] and [k][column]
var<workgroup> a_tile: array<f32, TILE_K * STRIDE_A>;
var<workgroup> b_tile: array<f32, TILE_K * STRIDE_B>;
#if ID
var<workgroup> n_routed: u32;
#endif

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let row_tile    = group % params.row_tiles;
    let rest        = group / params.row_tiles;
    let column_tile = rest % params.column_tiles;
    let batch       = rest / params.column_tiles;
    let first_row    = row_tile * TILE_M;
    let first_column = column_tile * TILE_N;
#if ID
    // Uniform: every thread reads the same word, which the routing dispatch wrote.
    if (local == 0u) {
        n_routed = routes_word((params.routes_offset >> 2u) + batch);
    }
    let routed = workgroupUniformLoad(&n_routed);
    if (first_column >= routed) {
        return;
    }
    let list    = params.experts + batch * params.capacity;
    let a_start = batch * params.src0_nb.z;
    let n       = routed;
#else
    let i2      = batch % params.batches2;
    let i3      = batch / params.batches2;
    let a_start = (i2 / params.repeat2) * params.src0_nb.z + (i3 / params.repeat3) * params.src0_nb.w;
    let b_start = i2 * params.src1_nb.z + i3 * params.src1_nb.w;
    let d_start = i2 * params.dst_nb.z + i3 * params.dst_nb.w;
    let n       = params.n;
#endif
    src0_prepare(local, WORKGROUP);

    let thread_row    = (local % (TILE_M / 8u)) * 8u;
    let thread_column = (local / (TILE_M / 8u)) * 8u;

    var sums: array<vec4<f32>, 16>;  // [column][half of the rows]
    for (var first_kq = 0u; first_kq < params.k_quads; first_kq += TILE_KQ) {
        for (var i = local; i < TILE_M * TILE_KQ; i += WORKGROUP) {
            let row = i / TILE_KQ;
            let kq  = i % TILE_KQ;
            var v   = vec4<f32>();
            if (first_row + row < params.m && first_kq + kq < params.k_quads) {
                v = load_a(a_start + (first_row + row) * params.src0_nb.y, first_kq + kq);
            }
            let to = 4u * kq * STRIDE_A + row;
            a_tile[to]                 = v.x;
            a_tile[to + STRIDE_A]      = v.y;
            a_tile[to + 2u * STRIDE_A] = v.z;
            a_tile[to + 3u * STRIDE_A] = v.w;
        }
        for (var i = local; i < TILE_N * TILE_KQ; i += WORKGROUP) {
            let column = i / TILE_KQ;
            let kq     = i % TILE_KQ;
            var v      = vec4<f32>();
            if (first_column + column < n && first_kq + kq < params.k_quads) {
#if ID
                let pair  = routes_word((params.routes_offset >> 2u) + list + first_column + column);
                let start = ((pair % params.slots) % params.src1_slots) * params.src1_nb.y + (pair / params.slots) * params.src1_nb.z;
                v = load_b(start, first_kq + kq);
#else
                v = load_b(b_start + (first_column + column) * params.src1_nb.y, first_kq + kq);
#endif
            }
            let to = 4u * kq * STRIDE_B + column;
            b_tile[to]                 = v.x;
            b_tile[to + STRIDE_B]      = v.y;
            b_tile[to + 2u * STRIDE_B] = v.z;
            b_tile[to + 3u * STRIDE_B] = v.w;
        }
        workgroupBarrier();
        for (var k = 0u; k < TILE_K; k++) {
            let ai = k * STRIDE_A + thread_row;
            let bi = k * STRIDE_B + thread_column;
            let a0 = vec4<f32>(a_tile[ai], a_tile[ai + 1u], a_tile[ai + 2u], a_tile[ai + 3u]);
            let a1 = vec4<f32>(a_tile[ai + 4u], a_tile[ai + 5u], a_tile[ai + 6u], a_tile[ai + 7u]);
            for (var c = 0u; c < 8u; c++) {
                let b = b_tile[bi + c];
                sums[2u * c]      += a0 * b;
                sums[2u * c + 1u] += a1 * b;
            }
        }
        workgroupBarrier();
    }

    for (var c = 0u; c < 8u; c++) {
        let column = first_column + thread_column + c;
        if (column >= n) {
            break;
        }
#if ID
        let pair = routes_word((params.routes_offset >> 2u) + list + column);
        let to   = (pair % params.slots) * params.dst_nb.y + (pair / params.slots) * params.dst_nb.z;
#else
        let to = d_start + column * params.dst_nb.y;
#endif
        for (var r = 0u; r < 8u; r++) {
            let row = first_row + thread_row + r;
            if (row < params.m) {
                dst_store(to + row, sums[2u * c + r / 4u][r % 4u]);
            }
        }
    }
}
