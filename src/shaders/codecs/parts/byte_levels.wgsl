// Sixteen levels as signed bytes, looked up for four nibbles at a time. Every entry repeats its byte four times, so that four
// entries are put together by masks alone; the sixteen words lie in different banks.
var<workgroup> byte_level_table: array<u32, 16>;

fn set_byte_level(index: u32, level: f32) {
    byte_level_table[index] = (bitcast<u32>(i32(level)) & 0xffu) * 0x01010101u;
}

// The levels of the low nibbles of each word.
fn byte_levels(words: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(four_byte_levels(words.x), four_byte_levels(words.y), four_byte_levels(words.z), four_byte_levels(words.w));
}

fn four_byte_levels(word: u32) -> u32 {
    return (byte_level_table[word & 15u] & 0x000000ffu) | (byte_level_table[(word >> 8u) & 15u] & 0x0000ff00u)
         | (byte_level_table[(word >> 16u) & 15u] & 0x00ff0000u) | (byte_level_table[(word >> 24u) & 15u] & 0xff000000u);
}
