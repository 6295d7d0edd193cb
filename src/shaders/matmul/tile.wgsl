// Products with many columns: a workgroup makes TILE_M rows by TILE_N columns from tiles of src0 and src1 in workgroup memory, a thread
// four rows of the tile's upper half and four of the lower, by as many columns: so a subgroup reads neighbouring words. The next tiles
// are fetched into registers while the present ones are used. With ID the columns of a tile are (slot, token) pairs routed to one
// expert, listed by matmul/route.wgsl.
#include "lib/grid.wgsl"
#include "matmul/operands.wgsl"
#include "codecs/f32.wgsl" as dst

const TILE_KQ  = TILE_K / 4u;
const ROWS4    = TILE_M / 4u;
const COLUMNS4 = TILE_N / 4u;
const STRIDE_A = ROWS4 + 1u; // one more spreads the k over the banks
const STRIDE_B = COLUMNS4 + 1u;

// [k][four rows] and [k][four columns]
var<workgroup> a_tile: array<vec4<f32>, TILE_K * STRIDE_A>;
var<workgroup> b_tile: array<vec4<f32>, TILE_K * STRIDE_B>;
#if ID
var<workgroup> n_routed: u32;
#endif

// A unit's rows, transposed.
fn put_a(unit: u32, v0: vec4<f32>, v1: vec4<f32>, v2: vec4<f32>, v3: vec4<f32>) {
    let to = 4u * (unit % TILE_KQ) * STRIDE_A + unit / TILE_KQ;
#repeat j 4
    a_tile[to + $ju * STRIDE_A] = vec4<f32>(v0[$j], v1[$j], v2[$j], v3[$j]);
#end
}

fn put_b(unit: u32, v0: vec4<f32>, v1: vec4<f32>, v2: vec4<f32>, v3: vec4<f32>) {
    let to = 4u * (unit % TILE_KQ) * STRIDE_B + unit / TILE_KQ;
#repeat j 4
    b_tile[to + $ju * STRIDE_B] = vec4<f32>(v0[$j], v1[$j], v2[$j], v3[$j]);
#end
}

fn store_rows(to: u32, first: u32, v: vec4<f32>) {
#repeat r 4
    if (first + $ru < params.m) {
        dst_store(to + first + $ru, v[$r]);
    }
#end
}

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

    // This thread's quads of rows and columns in the halves of the tile.
    let row_quad    = local % (ROWS4 / 2u);
    let column_quad = local / (ROWS4 / 2u);

    // What it fetches: for each of its units a quad of k of four rows, or columns. Those past the last repeat it; they are not stored.
#repeat i UNITS_A
#repeat r 4
    let from_a$i_$r = a_start + min(first_row + 4u * ((local + $iu * WORKGROUP) / TILE_KQ) + $ru, params.m - 1u) * params.src0_nb.y;
#end
#end
#repeat i UNITS_B
#repeat c 4
    let column$i_$c = min(first_column + 4u * ((local + $iu * WORKGROUP) / TILE_KQ) + $cu, n - 1u);
#if ID
    let pair$i_$c   = routes_word((params.routes_offset >> 2u) + list + column$i_$c);
    let from_b$i_$c = ((pair$i_$c % params.slots) % params.src1_slots) * params.src1_nb.y + (pair$i_$c / params.slots) * params.src1_nb.z;
#else
    let from_b$i_$c = b_start + column$i_$c * params.src1_nb.y;
#endif
#end
#end

#repeat h 2
#repeat c 4
    var low$h_$c  = vec4<f32>(); // of column c of half h, rows of the lower half
    var high$h_$c = vec4<f32>();
#end
#end
    for (var first_kq = 0u; ; first_kq += TILE_KQ) {
        let kq = first_kq + local % TILE_KQ;  // of all its units
#repeat i UNITS_A
#repeat r 4
        var a$i_$r = vec4<f32>();
#end
        if (kq < params.k_quads) {
#repeat r 4
            a$i_$r = src0_row_quad(from_a$i_$r, kq);
#end
        }
#end
#repeat i UNITS_B
#repeat c 4
        var b$i_$c = vec4<f32>();
#end
        if (kq < params.k_quads) {
#repeat c 4
            b$i_$c = load_b(from_b$i_$c, kq);
#end
        }
#end
        if (first_kq != 0u) {
            for (var k = 0u; k < TILE_K; k++) {
                let a_low  = a_tile[k * STRIDE_A + row_quad];
                let a_high = a_tile[k * STRIDE_A + row_quad + ROWS4 / 2u];
                let b0     = b_tile[k * STRIDE_B + column_quad];
                let b1     = b_tile[k * STRIDE_B + column_quad + COLUMNS4 / 2u];
#repeat h 2
#repeat c 4
                low$h_$c += a_low * b$h[$c];
                high$h_$c += a_high * b$h[$c];
#end
#end
            }
        }
        workgroupBarrier();
        if (first_kq >= params.k_quads) {
            break;
        }
#repeat i UNITS_A
        put_a(local + $iu * WORKGROUP, a$i_0, a$i_1, a$i_2, a$i_3);
#end
#repeat i UNITS_B
        put_b(local + $iu * WORKGROUP, b$i_0, b$i_1, b$i_2, b$i_3);
#end
        workgroupBarrier();
    }

    let row = first_row + 4u * row_quad;
#repeat h 2
#repeat c 4
    {
        let column = first_column + 4u * column_quad + TILE_N / 2u * $hu + $cu;
        if (column < n) {
#if ID
            let pair = routes_word((params.routes_offset >> 2u) + list + column);
            let to   = (pair % params.slots) * params.dst_nb.y + (pair / params.slots) * params.dst_nb.z;
#else
            let to = d_start + column * params.dst_nb.y;
#endif
            store_rows(to, row, low$h_$c);
            store_rows(to, row + TILE_M / 2u, high$h_$c);
        }
    }
#end
#end
}
