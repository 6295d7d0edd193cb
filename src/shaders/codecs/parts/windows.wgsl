// Wide reads of quantised rows. Places count in steps of self_ALIGN bytes (1, 2, 4 or 16): the op floor finds the largest that
// divides the start of every row and every block (pair of blocks, where a unit of 64 values is two). What lies `byte` further,
// a literal, is then found with little arithmetic, and words are put together from two only where borders can lie askew.

// Where the row that begins with block `row` lies.
fn self_row_at(row: u32) -> u32 {
    return (params.self_offset + row * self_BLOCK_BYTES) / self_ALIGN;
}

// The block (pair of blocks) `i` of the row. The mask changes nothing, but says that no sum with it overflows: what lies at fixed
// distances is then loaded from one address.
fn self_block_at(row_at: u32, i: u32) -> u32 {
    return (row_at + i * (max(1u, 64u / self_BLOCK_VALUES) * self_BLOCK_BYTES / self_ALIGN)) & (0xffffffffu / self_ALIGN);
}

fn self_bytes(at: u32) -> u32 {
    return at * self_ALIGN;
}

// The word in which `byte` lies, and `i` words further. `byte` is a multiple of self_ALIGN or of 4.
fn self_word_at(at: u32, byte: u32, i: u32) -> u32 {
#if self_ALIGN == 16
    return 4u * at + byte / 4u + i;
#elif self_ALIGN == 4
    return at + byte / 4u + i;
#elif self_ALIGN == 2
    return (at + byte / 2u + 2u * i) / 2u;
#else
    return (at + byte + 4u * i) / 4u;
#endif
}

#if self_ALIGN < 4
// Words that begin at `byte`, from those in which they begin and end.
fn self_joined(low: vec4<u32>, high: vec4<u32>, at: u32, byte: u32) -> vec4<u32> {
#if self_ALIGN == 2
    return select(low, (low >> vec4<u32>(16u)) | (high << vec4<u32>(16u)), ((at + byte / 2u) & 1u) != 0u);
#else
    let shift = 8u * ((at + byte) & 3u);
    return (low >> vec4<u32>(shift)) | ((high << vec4<u32>(1u)) << vec4<u32>(31u - shift));
#endif
}
#endif

// The half-precision number at `byte`.
fn self_half(at: u32, byte: u32) -> f32 {
    let word = self_word(self_word_at(at, byte, 0u));
#if self_ALIGN >= 4
    return unpack2x16float(word >> (8u * (byte % 4u))).x;
#else
    return unpack2x16float(word >> (8u * ((at * self_ALIGN + byte) & 2u))).x;
#endif
}

// Four bytes at `byte + 4 i`; likewise eight and sixteen bytes, of which i counts.
fn self_four(at: u32, byte: u32, i: u32) -> u32 {
    let first = self_word_at(at, byte, i);
    let low   = self_word(first);
#if self_ALIGN >= 4
    return low;
#else
    return self_joined(vec4<u32>(low), vec4<u32>(self_word(first + 1u)), at, byte).x;
#endif
}

fn self_eight(at: u32, byte: u32, i: u32) -> vec2<u32> {
    let first = self_word_at(at, byte, 2u * i);
    let low   = vec2<u32>(self_word(first), self_word(first + 1u));
#if self_ALIGN >= 4
    return low;
#else
    return self_joined(low.xyxy, vec2<u32>(low.y, self_word(first + 2u)).xyxy, at, byte).xy;
#endif
}

fn self_sixteen(at: u32, byte: u32, i: u32) -> vec4<u32> {
#if self_ALIGN == 16
    return self_quad_word(at + byte / 16u + i);
#else
    let first = self_word_at(at, byte, 4u * i);
    let low   = vec4<u32>(self_word(first), self_word(first + 1u), self_word(first + 2u), self_word(first + 3u));
#if self_ALIGN == 4
    return low;
#else
    return self_joined(low, vec4<u32>(low.yzw, self_word(first + 4u)), at, byte);
#endif
#endif
}

#if self_UNIT_WORDS
// The first self_UNIT_WORDS words.
fn self_unit_words(at: u32) -> array<u32, self_UNIT_WORDS> {
    var words: array<u32, self_UNIT_WORDS>;
    let first = self_word_at(at, 0u, 0u);
#repeat i self_UNIT_WORDS
    words[$i] = self_word(first + $iu);
#end
#if self_ALIGN < 4
    let last = self_word(first + self_UNIT_WORDS);
#repeat i self_UNIT_WORDS - 1
    words[$i] = self_joined(vec4<u32>(words[$i]), vec4<u32>(words[$i + 1]), at, 0u).x;
#end
    words[self_UNIT_WORDS - 1] = self_joined(vec4<u32>(words[self_UNIT_WORDS - 1]), vec4<u32>(last), at, 0u).x;
#endif
    return words;
}
#endif
