// Wide reads of an operand. self_ALIGN, which the op floor sets, divides the address of every unit of 64 values (1, 2, 4 or
// 16), so that words that lie across word borders are put together only where that can happen.

#if self_ALIGN < 4
// The word that begins at `byte`, from the words in which it lies.
fn self_aligned(low: vec4<u32>, high: vec4<u32>, byte: u32) -> vec4<u32> {
#if self_ALIGN == 2
    return select(low, (low >> vec4<u32>(16u)) | (high << vec4<u32>(16u)), (byte & 2u) != 0u);
#else
    let shift = 8u * (byte & 3u);
    return (low >> vec4<u32>(shift)) | ((high << vec4<u32>(1u)) << vec4<u32>(31u - shift));
#endif
}
#endif

// Sixteen bytes; self_ALIGN divides `byte`.
fn self_sixteen(byte: u32) -> vec4<u32> {
#if self_ALIGN == 16
    return self_quad_word(byte >> 4u);
#else
    let first = byte >> 2u;
    let low   = vec4<u32>(self_word(first), self_word(first + 1u), self_word(first + 2u), self_word(first + 3u));
#if self_ALIGN == 4
    return low;
#else
    return self_aligned(low, vec4<u32>(low.yzw, self_word(first + 4u)), byte);
#endif
#endif
}

// Four bytes.
fn self_four(byte: u32) -> u32 {
    let low = self_word(byte >> 2u);
#if self_ALIGN >= 4
    return low;
#else
    return self_aligned(vec4<u32>(low), vec4<u32>(self_word((byte >> 2u) + 1u)), byte).x;
#endif
}

// Eight bytes.
fn self_eight(byte: u32) -> vec2<u32> {
    let first = byte >> 2u;
    let low   = vec2<u32>(self_word(first), self_word(first + 1u));
#if self_ALIGN >= 4
    return low;
#else
    return self_aligned(low.xyxy, vec2<u32>(low.y, self_word(first + 2u)).xyxy, byte).xy;
#endif
}

#if self_UNIT_WORDS
// The self_UNIT_WORDS words of a unit.
fn self_unit_words(byte: u32) -> array<u32, self_UNIT_WORDS> {
    var words: array<u32, self_UNIT_WORDS>;
    let first = byte >> 2u;
#repeat i self_UNIT_WORDS
    words[$i] = self_word(first + $iu);
#end
#if self_ALIGN < 4
    let last = self_word(first + self_UNIT_WORDS);
#repeat i self_UNIT_WORDS - 1
    words[$i] = self_aligned(vec4<u32>(words[$i]), vec4<u32>(words[$i + 1]), byte).x;
#end
    words[self_UNIT_WORDS - 1] = self_aligned(vec4<u32>(words[self_UNIT_WORDS - 1]), vec4<u32>(last), byte).x;
#endif
    return words;
}
#endif
