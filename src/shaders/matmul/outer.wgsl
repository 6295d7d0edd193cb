// dst[m, n] = sum over k of src0[m, k] src1[n, k]. A thread makes 4 rows by 4 columns; the threads of a workgroup stand
// next to each other along m, so that they read src0 in order.
#include "lib/grid.wgsl"
#include "codecs/{src0_TYPE}.wgsl" as src0
#include "codecs/{src1_TYPE}.wgsl" as src1
#include "codecs/f32.wgsl" as dst

// Rows 4 mq .. 4 mq + 3 of column k of src0; zeros past m.
fn load_rows(column: u32, mq: u32) -> vec4<f32> {
#if BLOCKS_A
    const quads_per_block = src0_BLOCK_VALUES / 4u;
    return src0_quad(column + mq / quads_per_block, mq % quads_per_block);
#else
    var v = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if (4u * mq + i < params.m) {
            v[i] = src0_value(column + (4u * mq + i) * params.src0_nb.x, 0u);
        }
    }
    return v;
#endif
}

fn load_column(row: u32, n: u32) -> f32 {
#if BLOCKS_B
    return src1_value(row + n / src1_BLOCK_VALUES, n % src1_BLOCK_VALUES);
#else
    return src1_value(row + n * params.src1_nb.x, 0u);
#endif
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    src0_prepare(local, WORKGROUP);
    src1_prepare(local, WORKGROUP);
    let rest         = group / params.row_tiles;
    let mq           = (group % params.row_tiles) * WORKGROUP + local;
    let first_column = (rest % params.column_tiles) * 4u;
    let batch        = rest / params.column_tiles;
    let i2           = batch % params.batches2;
    let i3           = batch / params.batches2;
    if (4u * mq >= params.m) {
        return;
    }
    let a_start = (i2 / params.repeat2) * params.src0_nb.z + (i3 / params.repeat3) * params.src0_nb.w;
    let b_start = i2 * params.src1_nb.z + i3 * params.src1_nb.w;
    let columns = min(4u, params.n - first_column);

    var sums: array<vec4<f32>, 4>;
    for (var k = 0u; k < params.k; k++) {
        let a = load_rows(a_start + k * params.src0_nb.y, mq);
        for (var c = 0u; c < columns; c++) {
            sums[c] += a * load_column(b_start + k * params.src1_nb.y, first_column + c);
        }
    }
    for (var c = 0u; c < columns; c++) {
        let to = (first_column + c) * params.dst_nb.y + i2 * params.dst_nb.z + i3 * params.dst_nb.w + 4u * mq;
        for (var i = 0u; i < 4u; i++) {
            if (4u * mq + i < params.m) {
                dst_store(to + i, sums[c][i]);
            }
        }
    }
}
