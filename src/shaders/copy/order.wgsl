// The order in which ggml walks a tensor's values: the first dimension is the fastest. Included `as` the operand, after its
// codec; params has self_ne, self_nb and self_flat (contiguous).

// The block that holds value i.
fn self_block(i: u32) -> u32 {
    if (params.self_flat != 0u) {
        return i / self_BLOCK_VALUES;
    }
    let pos = position(i, params.self_ne);
    return at(vec4<u32>(pos.x / self_BLOCK_VALUES, pos.yzw), params.self_nb);
}

// The number of value i within its block; rows hold whole blocks.
fn self_in_block(i: u32) -> u32 {
    return i % self_BLOCK_VALUES;
}
