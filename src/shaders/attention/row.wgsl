// How the attention kernels read a row of K or V that starts at block `row`. self_SIZE is the head size; one of self_BLOCKS
// (a block type), self_HALVES (16-bit values bound as vec4 words, rows start on multiples of eight values) and self_QUADS
// (four values can be read at once) may be set. Quads past the row's end are zero.

fn self_row_quad(row: u32, q: u32) -> vec4<f32> {
    if (self_SIZE % 8u != 0u && 4u * q >= self_SIZE) {
        return vec4<f32>();
    }
#if self_BLOCKS
    const quads_per_block = self_BLOCK_VALUES / 4u;
    return self_quad(row + q / quads_per_block, q % quads_per_block);
#elif self_HALVES
    let word = (params.self_offset >> 2u) + (row >> 1u) + 2u * q;
    return self_unpack(vec2<u32>(self_word(word), self_word(word + 1u)));
#elif self_QUADS
    return self_quad(row + 4u * q, 0u);
#else
    var v = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if (4u * q + i < self_SIZE) {
            v[i] = self_value(row + 4u * q + i, 0u);
        }
    }
    return v;
#endif
}

// Quads 2 i and 2 i + 1: as they lie in memory, so that many can be in flight, and as values.
#if self_HALVES
alias self_Octet = vec4<u32>;

fn self_row_load(row: u32, i: u32) -> self_Octet {
    return self_quad_word((params.self_offset >> 4u) + (row >> 3u) + i);
}

fn self_octet(loaded: self_Octet) -> mat2x4<f32> {
    return mat2x4<f32>(self_unpack(loaded.xy), self_unpack(loaded.zw));
}
#else
alias self_Octet = mat2x4<f32>;

fn self_row_load(row: u32, i: u32) -> self_Octet {
    return mat2x4<f32>(self_row_quad(row, 2u * i), self_row_quad(row, 2u * i + 1u));
}

fn self_octet(loaded: self_Octet) -> mat2x4<f32> {
    return loaded;
}
#endif

fn self_row_octet(row: u32, i: u32) -> mat2x4<f32> {
    return self_octet(self_row_load(row, i));
}
