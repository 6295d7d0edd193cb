// The 12 bytes in which q4_K and q5_K keep eight 6-bit scales s and eight 6-bit mins m:
//
//   byte  0..3    s[0..3] | high 2 bits of s[4..7] << 6
//   byte  4..7    m[0..3] | high 2 bits of m[4..7] << 6
//   byte  8..11   low 4 bits of s[4..7] | low 4 bits of m[4..7] << 4

// (s[j], m[j]) from the three words.
fn scale_min(scales: u32, mins: u32, lows: u32, j: u32) -> vec2<u32> {
    let shift = 8u * (j & 3u);
    let s     = (scales >> shift) & 0xffu;
    let m     = (mins >> shift) & 0xffu;
    let low   = lows >> shift;
    let first = vec2<u32>(s & 63u, m & 63u);
    let later = vec2<u32>(low & 15u, (low >> 4u) & 15u) | ((vec2<u32>(s, m) >> vec2<u32>(2u)) & vec2<u32>(0x30u));
    return select(later, first, j < 4u);
}
