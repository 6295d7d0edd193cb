// Products with few columns: a workgroup makes ROWS rows by COLUMNS columns, its threads share k and add up at the end.
// With ID a column is one (slot, token) pair and its matrix is the expert that ids names.
#include "lib/grid.wgsl"
#include "matmul/operands.wgsl"
#include "codecs/f32.wgsl" as dst
#if ID
#include "lib/fault.wgsl"
#endif

const SUMS = ROWS * COLUMNS;

#if SUBGROUPS
var<workgroup> partial: array<array<f32, SUMS>, WORKGROUP / SUBGROUP_MIN>;
#else
var<workgroup> partial: array<array<f32, SUMS>, WORKGROUP>;
#endif
#if ID
var<workgroup> the_expert: u32;
#endif

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32
#if SUBGROUPS
        , @builtin(subgroup_size) lanes: u32, @builtin(subgroup_invocation_id) lane: u32
#endif
) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    src0_prepare(local, WORKGROUP);

    let row_tile = group % params.row_tiles;
    let rest     = group / params.row_tiles;
    let first_row = row_tile * ROWS;
#if ID
    let slot   = rest % params.slots;
    let token  = rest / params.slots;
    if (local == 0u) {
        the_expert = src2_word((params.src2_offset >> 2u) + slot * params.src2_nb.x + token * params.src2_nb.y);
    }
    let chosen = workgroupUniformLoad(&the_expert);
    let expert = chosen - params.first_expert;  // in the bound window
    if (expert >= params.experts) {
        if (local == 0u && chosen >= params.all_experts) {
            raise_fault();
        }
        return;
    }
    let a_start = expert * params.src0_nb.z;
    let b_start = (slot % params.src1_slots) * params.src1_nb.y + token * params.src1_nb.z;
    let d_start = slot * params.dst_nb.y + token * params.dst_nb.z;
    let columns = 1u;
#else
    let column_tile = rest % params.column_tiles;
    let batch       = rest / params.column_tiles;
    let i2          = batch % params.batches2;
    let i3          = batch / params.batches2;
    let first_column = column_tile * COLUMNS;
    let columns      = min(COLUMNS, params.n - first_column);
    let a_start = start_a(i2, i3);
    let b_start = first_column * params.src1_nb.y + i2 * params.src1_nb.z + i3 * params.src1_nb.w;
    let d_start = first_column * params.dst_nb.y + i2 * params.dst_nb.z + i3 * params.dst_nb.w;
#endif
    let rows = min(ROWS, params.m - first_row);

    var sums: array<f32, SUMS>;
    for (var kq = local; kq < params.k_quads; kq += WORKGROUP) {
        var b: array<vec4<f32>, COLUMNS>;
        for (var c = 0u; c < COLUMNS; c++) {
            // A tile past the last column repeats it; its sums are not stored.
            b[c] = load_b(b_start + min(c, columns - 1u) * params.src1_nb.y, kq);
        }
        for (var r = 0u; r < ROWS; r++) {
            let a = load_a(a_start + (first_row + min(r, rows - 1u)) * params.src0_nb.y, kq);
            for (var c = 0u; c < COLUMNS; c++) {
                sums[r * COLUMNS + c] += dot(a, b[c]);
            }
        }
    }

#if SUBGROUPS
    for (var i = 0u; i < SUMS; i++) {
        sums[i] = subgroupAdd(sums[i]);
    }
    if (lane == 0u) {
        partial[local / lanes] = sums;
    }
    workgroupBarrier();
    let parts = WORKGROUP / lanes;
#else
    partial[local] = sums;
    workgroupBarrier();
    for (var half = WORKGROUP / 2u; half > 4u; half /= 2u) {
        if (local < half) {
            for (var i = 0u; i < SUMS; i++) {
                partial[local][i] += partial[local + half][i];
            }
        }
        workgroupBarrier();
    }
    let parts = 8u;
#endif
    for (var i = local; i < SUMS; i += WORKGROUP) {
        let r = i / COLUMNS;
        let c = i % COLUMNS;
        if (r < rows && c < columns) {
            var sum = 0.0;
            for (var p = 0u; p < parts; p++) {
                sum += partial[p][i];
            }
            dst_store(d_start + first_row + r + c * params.dst_nb.y, sum);
        }
    }
}
