// 2-bit fields of q2_K, q3_K and tq2_0: value i of 256 lies in byte (i / 128) * 32 + i % 32, at bits 2 * (i / 32 % 4).

fn run_byte(i: u32) -> u32 {
    return 32u * (i >> 7u) + (i & 31u);
}

fn run_shift(i: u32) -> u32 {
    return 2u * ((i >> 5u) & 3u);
}
