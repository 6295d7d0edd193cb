// Values 4 kq .. 4 kq + 3 of the row of weights that starts at block `row`; zeros past k. The strides are src0's.
fn self_row_quad(row: u32, kq: u32) -> vec4<f32> {
#if BLOCKS_A
    const quads_per_block = self_BLOCK_VALUES / 4u;
    return self_quad(row + kq / quads_per_block, kq % quads_per_block);
#elif QUADS_A
    return self_quad(row + 4u * kq, 0u);
#else
    var v = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if (4u * kq + i < params.k) {
            v[i] = self_value(row + (4u * kq + i) * params.src0_nb.x, 0u);
        }
    }
    return v;
#endif
}
