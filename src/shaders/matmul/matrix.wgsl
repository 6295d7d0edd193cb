// Products by subgroup matrices (MAT_M x MAT_N x MAT_K, f16 to f32). A workgroup makes TILE_M x TILE_N values; each of its
// subgroups makes FRAGMENTS_M x FRAGMENTS_N matrices of them. a and b are f16 rows along k, whole tiles, made by
// matmul/pack.wgsl or lying so in memory; the next tiles are fetched into registers while the present ones are used.
// The shape follows a measured search: docs/performance.md.
#include "lib/grid.wgsl"
#include "codecs/f32.wgsl" as dst

const PAIRS    = TILE_K / 4u;  // vec2 words of a tile's row: measured 10% faster than vec4 words
const STRIDE   = TILE_K + 8u;  // halves; the padding spreads rows over the banks
const B_TILE   = TILE_M * STRIDE;
const ROWS_AT_ONCE = WORKGROUP / PAIRS;

var<workgroup> tiles: array<f16, (TILE_M + TILE_N) * STRIDE>;
var<workgroup> results: array<f32, SUBGROUP_COUNT * MAT_M * MAT_N>;

fn put(at: u32, words: vec2<u32>) {
    let v0 = bitcast<vec2<f16>>(words.x);
    let v1 = bitcast<vec2<f16>>(words.y);
    tiles[at]      = v0.x;
    tiles[at + 1u] = v0.y;
    tiles[at + 2u] = v1.x;
    tiles[at + 3u] = v1.y;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32,
        @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) lanes: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let row_tile     = group % params.row_tiles;
    let rest         = group / params.row_tiles;
    let column_tile  = rest % params.column_tiles;
    let batch        = rest / params.column_tiles;
    let i2           = batch % params.batches2;
    let i3           = batch / params.batches2;
    let first_row    = row_tile * TILE_M;
    let first_column = column_tile * TILE_N;

    // In vec2 words.
    let a_from = (params.a_offset >> 3u) + (i2 / params.repeat2) * params.a_nb.z + (i3 / params.repeat3) * params.a_nb.w
               + (first_row + local / PAIRS) * params.a_nb.y + local % PAIRS;
    let b_from = (params.b_offset >> 3u) + (batch * params.b_rows + first_column + local / PAIRS) * params.b_stride + local % PAIRS;
    let put_at = (local / PAIRS) * STRIDE + (local % PAIRS) * 4u;

    let sub_row    = (subgroup % SUBGROUPS_M) * FRAGMENTS_M * MAT_M;
    let sub_column = (subgroup / SUBGROUPS_M) * FRAGMENTS_N * MAT_N;

#repeat i FRAGMENTS_M
#repeat j FRAGMENTS_N
    var sum_$i_$j: subgroup_matrix_result<f32, MAT_N, MAT_M>;
#end
#end
#repeat i LOADS_A
    var a_next_$i = a_pair_word(a_from + $iu * ROWS_AT_ONCE * params.a_nb.y);
#end
#repeat i LOADS_B
    var b_next_$i = b_pair_word(b_from + $iu * ROWS_AT_ONCE * params.b_stride);
#end
    for (var step = 0u; step < params.k_tiles; step++) {
#repeat i LOADS_A
        put(put_at + $iu * ROWS_AT_ONCE * STRIDE, a_next_$i);
#end
#repeat i LOADS_B
        put(B_TILE + put_at + $iu * ROWS_AT_ONCE * STRIDE, b_next_$i);
#end
        workgroupBarrier();
        // The last step fetches its own tile again: no branch, nothing out of bounds.
        let ahead = min(step + 1u, params.k_tiles - 1u) * PAIRS;
#repeat i LOADS_A
        a_next_$i = a_pair_word(a_from + ahead + $iu * ROWS_AT_ONCE * params.a_nb.y);
#end
#repeat i LOADS_B
        b_next_$i = b_pair_word(b_from + ahead + $iu * ROWS_AT_ONCE * params.b_stride);
#end
        for (var k = 0u; k < TILE_K; k += MAT_K) {
#repeat i FRAGMENTS_M
            let a_$i = subgroupMatrixLoad<subgroup_matrix_left<f16, MAT_K, MAT_M>>(&tiles, (sub_row + $iu * MAT_M) * STRIDE + k, false, STRIDE);
#end
#repeat j FRAGMENTS_N
            let b_$j = subgroupMatrixLoad<subgroup_matrix_right<f16, MAT_N, MAT_K>>(&tiles, B_TILE + (sub_column + $ju * MAT_N) * STRIDE + k, true, STRIDE);
#repeat i FRAGMENTS_M
            sum_$i_$j = subgroupMatrixMultiplyAccumulate(a_$i, b_$j, sum_$i_$j);
#end
#end
        }
        workgroupBarrier();
    }

    let d_start = i2 * params.dst_nb.z + i3 * params.dst_nb.w;
    let staged  = subgroup * MAT_M * MAT_N;
#repeat i FRAGMENTS_M
#repeat j FRAGMENTS_N
    subgroupMatrixStore(&results, staged, sum_$i_$j, true, MAT_M);
    workgroupBarrier();
    for (var e = lane; e < MAT_M * MAT_N; e += lanes) {
        let row    = first_row + sub_row + $iu * MAT_M + e % MAT_M;
        let column = first_column + sub_column + $ju * MAT_N + e / MAT_M;
        if (row < params.m && column < params.n) {
            let factor = bitcast<f32>(factors_word((params.factors_offset >> 2u) + batch * params.b_rows + column));
            dst_store(d_start + column * params.dst_nb.y + params.first_row + row, results[staged + e] * factor);
        }
    }
    workgroupBarrier();
#end
#end
}
