// The integer view of a quantised row, for dot4I8Packed: 64 values of the row in four parts of 16, four signed bytes a word.
// A value is scale * quant + offset; codecs say with SCALES whether a scale serves two parts (2: scale.x and scale.y) or one (4),
// and with OFFSETS whether there are offsets. Which values a part holds:
//
//   in order   part p of unit u: values 64 u + 16 p .. + 15
//   SPREAD     part p of unit u: values 128 (u / 2) + 32 p + 16 (u % 2) .. + 15, as the 2-bit fields of the K types lie
struct packed_values {
    q0: vec4<u32>,
    q1: vec4<u32>,
    q2: vec4<u32>,
    q3: vec4<u32>,
    scale: vec4<f32>,
    offset: vec4<f32>,
}

// The low nibble of each byte; for the high ones shift right by four before.
fn low_nibbles(words: vec4<u32>) -> vec4<u32> {
    return words & vec4<u32>(0x0f0f0f0fu);
}

fn high_nibbles(words: vec4<u32>) -> vec4<u32> {
    return (words >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu);
}

// Four words that begin `bits` bits into `words`; `next` follows them. 0 < bits < 32.
fn shifted_words(words: vec4<u32>, next: u32, bits: u32) -> vec4<u32> {
    return (words >> vec4<u32>(bits)) | (vec4<u32>(words.yzw, next) << vec4<u32>(32u - bits));
}

// Bits 0 to 3 of each word, one a byte: shifts of 0, 7, 14 and 21 do not overlap.
fn bits_to_bytes(bits: vec4<u32>) -> vec4<u32> {
    return ((bits & vec4<u32>(15u)) * 0x00204081u) & vec4<u32>(0x01010101u);
}

// The four 2-bit fields of the low byte, one a byte.
fn pairs_to_bytes(word: u32) -> u32 {
    let halves = (word | (word << 12u)) & 0x000f000fu;
    return (halves | (halves << 6u)) & 0x03030303u;
}

// The bytes of `word`, none of them 0, negated where bits 0 to 3 of `signs` are set.
fn negated_bytes(word: u32, signs: u32) -> u32 {
    let ones = ((signs & 15u) * 0x00204081u) & 0x01010101u;
    return (word ^ (ones * 255u)) + ones;
}
