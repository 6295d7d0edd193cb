// Seven sign bits and an eighth that makes their number even.
fn even_signs(seven: u32) -> u32 {
    return seven | ((countOneBits(seven) & 1u) << 7u);
}
