// Products by subgroup matrices (MAT_M x MAT_N x MAT_K, f16 to f32). A workgroup makes TILE_M x TILE_N values, over all of k or
// a share of it; each of its subgroups makes FRAGMENTS_M x FRAGMENTS_N matrices of them. a and b are f16 rows along k, whole tiles,
// made by the pack kernels or lying so in memory; the next tiles are fetched into registers while the present ones are used.
// Shapes, strides and the order of things follow measurements: docs/performance.md. With ID a tile's columns are (slot, token) pairs
// of one expert, as listed by matmul/route.wgsl and matmul/route_tiles.wgsl.
#include "lib/grid.wgsl"
#include "codecs/f32.wgsl" as dst

const PAIRS        = TILE_K / 4u;  // vec2 words of a tile's row
const STRIDE       = TILE_K + 8u;  // halves; the padding spreads rows over the banks
const B_TILE       = TILE_M * STRIDE;
const ROWS_AT_ONCE = WORKGROUP / PAIRS;
const PANEL        = 8u;

var<workgroup> tiles: array<f16, (TILE_M + TILE_N) * STRIDE>;
var<workgroup> results: array<f32, SUBGROUP_COUNT * MAT_M * MAT_N>;
var<workgroup> scaled: array<u32, (SUBGROUP_COUNT + 3u) / 4u * 4u>;
#if ID
struct Tile {
    expert: u32,
    first_column: u32,  // in the expert's list
    columns: u32,       // of the expert
}
var<workgroup> shared_tile: vec4<u32>;       // a Tile
var<workgroup> sources: array<u32, TILE_N>;  // of the tile's columns: their number in b
var<workgroup> targets: array<u32, TILE_N>;  // where they start in dst

// Tile `t` of all experts' columns; one without columns past the last.
fn tile_of(t: u32) -> Tile {
    let counts = params.routes_offset >> 2u;
    let tiles  = counts + params.experts * (1u + params.capacity);
    if (t >= routes_word(tiles)) {
        return Tile();
    }
    let expert = routes_word(tiles + 1u + 2u * t);
    return Tile(expert, routes_word(tiles + 2u + 2u * t), routes_word(counts + expert));
}

// Columns past the last repeat it; they are not stored.
fn find_columns(tile: Tile, local: u32) {
    let list = (params.routes_offset >> 2u) + params.experts + tile.expert * params.capacity;
    for (var c = local; c < TILE_N; c += WORKGROUP) {
        let pair  = routes_word(list + min(tile.first_column + c, tile.columns - 1u));
        let slot  = pair % params.slots;
        let token = pair / params.slots;
        sources[c] = token * params.src1_slots + slot % params.src1_slots;
        targets[c] = token * params.dst_nb.z + slot * params.dst_nb.y;
    }
    workgroupBarrier();
}
#endif

fn put(at: u32, words: vec2<u32>) {
    let v0 = bitcast<vec2<f16>>(words.x);
    let v1 = bitcast<vec2<f16>>(words.y);
    tiles[at]      = v0.x;
    tiles[at + 1u] = v0.y;
    tiles[at + 2u] = v1.x;
    tiles[at + 3u] = v1.y;
}

fn factor_of(column: u32) -> f32 {
    return bitcast<f32>(factors_word((params.factors_offset >> 2u) + column));
}

fn row_factor_of(row: u32) -> f32 {
#if ROW_FACTORS
    return bitcast<f32>(row_factors_word((params.row_factors_offset >> 2u) + row));
#else
    return 1.0;
#endif
}

// Whether a column or row of the tile has a factor other than 1.
fn any_scaled(first_column: u32, first_row: u32, subgroup: u32, lane: u32, lanes: u32) -> bool {
    var found = false;
    for (var c = lane; c < TILE_N; c += lanes) {
        found = found || factor_of(first_column + c) != 1.0;
    }
#if ROW_FACTORS
    for (var r = lane; r < TILE_M; r += lanes) {
        found = found || row_factor_of(first_row + r) != 1.0;
    }
#endif
    let found_by_any = subgroupAny(found);
    if (lane == 0u) {
        scaled[subgroup] = u32(found_by_any);
    }
    let of_subgroups = workgroupUniformLoad(&scaled);
    var all_found = 0u;
#repeat i SUBGROUP_COUNT
    all_found |= of_subgroups[$i];
#end
    return all_found != 0u;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32,
        @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) lanes: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
#if ID
    if (local == 0u) {
        let found = tile_of(group / params.row_tiles);
        shared_tile = vec4<u32>(found.expert, found.first_column, found.columns, 0u);
    }
    let routed = workgroupUniformLoad(&shared_tile);
    let tile   = Tile(routed.x, routed.y, routed.z);
    if (tile.columns == 0u || tile.expert < params.first_expert || tile.expert > params.last_expert) {
        return;
    }
    find_columns(tile, local);
    let first_row    = group % params.row_tiles * TILE_M;
    let first_column = tile.first_column;
    let first_k      = 0u;
    let last_k       = params.k_tiles - 1u;
    let expert       = tile.expert - params.first_expert;
    let first_factor = expert * params.a_rows;

    // In vec2 words.
    let a_from = (params.a_offset >> 3u) + expert * params.a_nb2 + (first_row + local / PAIRS) * A_STRIDE + local % PAIRS;
#repeat i LOADS_B
    let b_from_$i = (params.b_offset >> 3u) + sources[local / PAIRS + $iu * ROWS_AT_ONCE] * B_STRIDE + local % PAIRS;
#end
#else
    // Workgroups that run at the same time share tiles: they go down panels of PANEL tiles of columns.
    let share        = group / params.tiles;
    let tile         = group % params.tiles;
    let panel        = tile / (PANEL * params.row_tiles) * PANEL;
    let width        = min(PANEL, params.column_tiles - panel);
    let within       = tile - panel * params.row_tiles;
    let first_row    = within / width * TILE_M;
    let first_column = (panel + within % width) * TILE_N;
    let split        = share % params.splits;
    let batch        = share / params.splits;
    let i2           = batch % params.batches2;
    let i3           = batch / params.batches2;
    let first_k      = split * params.k_share;
    let last_k       = min(first_k + params.k_share, params.k_tiles) - 1u;

    let first_factor = (i2 / params.repeat2 + (i3 / params.repeat3) * params.a_matrices2) * params.a_rows + params.a_row;

    // In vec2 words.
    let a_from = (params.a_offset >> 3u) + (i2 / params.repeat2) * params.a_nb2 + (i3 / params.repeat3) * params.a_nb3
               + (params.a_row + first_row + local / PAIRS) * A_STRIDE + local % PAIRS;
    let b_from = (params.b_offset >> 3u) + (batch * params.b_rows + first_column + local / PAIRS) * B_STRIDE + local % PAIRS;
#endif
    let put_at = (local / PAIRS) * STRIDE + (local % PAIRS) * 4u;

    let sub_row    = (subgroup % SUBGROUPS_M) * FRAGMENTS_M * MAT_M;
    let sub_column = (subgroup / SUBGROUPS_M) * FRAGMENTS_N * MAT_N;

#repeat i FRAGMENTS_M
#repeat j FRAGMENTS_N
    var sum_$i_$j: subgroup_matrix_result<f32, MAT_N, MAT_M>;
#end
#end
#repeat i LOADS_A
    var a_next_$i = a_pair_word(a_from + first_k * PAIRS + $iu * ROWS_AT_ONCE * A_STRIDE);
#end
#repeat i LOADS_B
#if ID
    var b_next_$i = b_pair_word(b_from_$i + first_k * PAIRS);
#else
    var b_next_$i = b_pair_word(b_from + first_k * PAIRS + $iu * ROWS_AT_ONCE * B_STRIDE);
#endif
#end
#if dst_FLOATS
    let as_it_is = first_row + TILE_M <= params.m && first_column + TILE_N <= params.n &&
                   !any_scaled(batch * params.b_rows + first_column, first_factor + first_row, subgroup, lane, lanes);
#endif
    for (var step = first_k; step <= last_k; step++) {
#repeat i LOADS_A
        put(put_at + $iu * ROWS_AT_ONCE * STRIDE, a_next_$i);
#end
#repeat i LOADS_B
        put(B_TILE + put_at + $iu * ROWS_AT_ONCE * STRIDE, b_next_$i);
#end
        workgroupBarrier();
        // The last step fetches its own tile again: no branch, nothing out of bounds.
        let ahead = min(step + 1u, last_k) * PAIRS;
#repeat i LOADS_A
        a_next_$i = a_pair_word(a_from + ahead + $iu * ROWS_AT_ONCE * A_STRIDE);
#end
#repeat i LOADS_B
#if ID
        b_next_$i = b_pair_word(b_from_$i + ahead);
#else
        b_next_$i = b_pair_word(b_from + ahead + $iu * ROWS_AT_ONCE * B_STRIDE);
#endif
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

#if !ID
    let d_start = split * params.split_nb + i2 * params.dst_nb.z + i3 * params.dst_nb.w;
#endif
#if dst_FLOATS
    if (as_it_is) {
        let to = (params.dst_offset >> 2u) + d_start + (first_column + sub_column) * params.dst_nb.y + params.first_row + first_row + sub_row;
#repeat i FRAGMENTS_M
#repeat j FRAGMENTS_N
        subgroupMatrixStore(&dst_buffer, to + $ju * MAT_N * params.dst_nb.y + $iu * MAT_M, sum_$i_$j, true, params.dst_nb.y);
#end
#end
        return;
    }
#endif
    let staged  = subgroup * MAT_M * MAT_N;
#repeat i FRAGMENTS_M
#repeat j FRAGMENTS_N
    subgroupMatrixStore(&results, staged, sum_$i_$j, true, MAT_M);
    workgroupBarrier();
    for (var e = lane; e < MAT_M * MAT_N; e += lanes) {
        let row    = first_row + sub_row + $iu * MAT_M + e % MAT_M;
        let within = sub_column + $ju * MAT_N + e / MAT_M;
        let column = first_column + within;
#if ID
        let n      = tile.columns;
        let from_b = sources[within];
        let to     = targets[within];
#else
        let n      = params.n;
        let from_b = batch * params.b_rows + column;
        let to     = d_start + column * params.dst_nb.y;
#endif
        if (row < params.m && column < n) {
            let factor = factor_of(from_b) * row_factor_of(first_factor + row);
            dst_store(to + params.first_row + row, results[staged + e] * factor);
        }
    }
    workgroupBarrier();
#end
#end
}
