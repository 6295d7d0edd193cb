// Words, half words and bytes of one operand. Addresses count from the start of its binding.

fn self_word(i: u32) -> u32 {
#if self_ATOMIC
    return atomicLoad(&self_buffer[i]);
#elif self_WIDTH == 4
    return self_buffer[i >> 2u][i & 3u];
#elif self_WIDTH == 2
    return self_buffer[i >> 1u][i & 1u];
#elif self_FLOATS
    return bitcast<u32>(self_buffer[i]);
#else
    return self_buffer[i];
#endif
}

// Two words; i counts pairs.
fn self_pair_word(i: u32) -> vec2<u32> {
#if self_WIDTH == 2
    return self_buffer[i];
#else
    return vec2<u32>(self_word(2u * i), self_word(2u * i + 1u));
#endif
}

fn self_quad_word(i: u32) -> vec4<u32> {
#if self_WIDTH == 4
    return self_buffer[i];
#else
    return vec4<u32>(self_word(4u * i), self_word(4u * i + 1u), self_word(4u * i + 2u), self_word(4u * i + 3u));
#endif
}

fn self_set_word(i: u32, word: u32) {
#if self_ATOMIC
    atomicStore(&self_buffer[i], word);
#elif self_WIDTH == 4
    self_buffer[i >> 2u][i & 3u] = word;
#elif self_WIDTH == 2
    self_buffer[i >> 1u][i & 1u] = word;
#elif self_FLOATS
    self_buffer[i] = bitcast<f32>(word);
#else
    self_buffer[i] = word;
#endif
}

fn self_set_pair_word(i: u32, words: vec2<u32>) {
#if self_WIDTH == 2
    self_buffer[i] = words;
#else
    self_set_word(2u * i, words.x);
    self_set_word(2u * i + 1u, words.y);
#endif
}

fn self_set_quad_word(i: u32, words: vec4<u32>) {
#if self_WIDTH == 4
    self_buffer[i] = words;
#else
    self_set_word(4u * i, words.x);
    self_set_word(4u * i + 1u, words.y);
    self_set_word(4u * i + 2u, words.z);
    self_set_word(4u * i + 3u, words.w);
#endif
}

fn self_u8(byte: u32) -> u32 {
    return (self_word(byte >> 2u) >> (8u * (byte & 3u))) & 0xffu;
}

// `byte` is even.
fn self_u16(byte: u32) -> u32 {
    return (self_word(byte >> 2u) >> (8u * (byte & 2u))) & 0xffffu;
}

// Four bytes at any address.
fn self_u32(byte: u32) -> u32 {
    let low   = self_word(byte >> 2u);
    let shift = 8u * (byte & 3u);
    if (shift == 0u) {
        return low;
    }
    return (low >> shift) | (self_word((byte >> 2u) + 1u) << (32u - shift));
}

fn self_f16(byte: u32) -> f32 {
    return unpack2x16float(self_u16(byte)).x;
}

#if self_ATOMIC
// Each thread owns the bits it changes, so they stay as they are between the load and the one change that sets them.
fn self_set_bits(i: u32, mask: u32, bits: u32) {
    atomicXor(&self_buffer[i], (atomicLoad(&self_buffer[i]) & mask) ^ bits);
}

fn self_set_u16(byte: u32, bits: u32) {
    let shift = 8u * (byte & 2u);
    self_set_bits(byte >> 2u, 0xffffu << shift, bits << shift);
}

fn self_set_u8(byte: u32, bits: u32) {
    let shift = 8u * (byte & 3u);
    self_set_bits(byte >> 2u, 0xffu << shift, bits << shift);
}
#endif
