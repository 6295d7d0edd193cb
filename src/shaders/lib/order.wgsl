// An unsigned number that grows with x, for comparisons that neither fast-math nor infinities can disturb. The zeros are
// equal; NaN lies beyond the infinity of its sign.
fn order_key(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if (bits >= 0x80000000u) {
        return 0u - bits; // -0 and +0: 0x80000000
    }
    return bits | 0x80000000u;
}
