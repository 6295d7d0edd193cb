// Which tiles of POSITIONS KV positions a workgroup's rows see at all, and which only in part. attention/look.wgsl leaves a word for
// every 16 tiles: bit i is set if tile i has a visible position, bit 16 + i if the mask changes a score in it. They are walked from
// the last to the first: the highest scores are often those of near positions, and sums are rescaled when a score is higher than all before.

var<workgroup> shared_visible: array<u32, 4>;  // [0]

struct Visible {
    found: bool,
    partly: bool,  // the mask acts, or the KV positions end
    tile: u32,
    word: u32,     // its tiles are being walked
    bits: u32,     // what of them is left
}

fn first_visible(w: Work) -> Visible {
    let words = (w.end + 16u * POSITIONS - 1u) / (16u * POSITIONS);
    return Visible(false, false, w.begin / POSITIONS, words, 0u);
}

fn visible_bits(w: Work, word: u32, local: u32) -> u32 {
    let first = word * 16u * POSITIONS;
    var bits  = 0xffffu;
    if (params.has_mask != 0u) {
        if (local == 0u) {
            let batch = select(w.batch, 0u, params.mask_ne.w == 1u);
            let group = select(w.group, 0u, params.mask_ne.z == 1u);
            let unit  = batch * select(params.kv_heads, 1u, params.mask_ne.z == 1u) + group;
            shared_visible[0] = visible_word((params.visible_offset >> 2u) + (unit * params.row_tiles + w.first_row / ROWS) * params.visible_words + word);
        }
        bits = workgroupUniformLoad(&shared_visible[0]);
    }
    let last = params.kv / POSITIONS;  // a tile that the positions do not fill, if any
    if (last * POSITIONS != params.kv && last / 16u == word) {
        bits |= 0x10000u << (last % 16u);
    }
    // Only the split's own.
    let begin = max(w.begin, first) / POSITIONS - 16u * word;
    let until = (min(w.end, first + 16u * POSITIONS) + POSITIONS - 1u) / POSITIONS - 16u * word;
    return bits & (0xffff0000u | ((1u << max(until, begin)) - (1u << begin)));
}

fn next_visible(last: Visible, w: Work, local: u32) -> Visible {
    var v = last;
    while ((v.bits & 0xffffu) == 0u) {
        if (v.word * 16u * POSITIONS <= w.begin) {
            v.found = false;
            return v;
        }
        v.word -= 1u;
        v.bits = visible_bits(w, v.word, local);
    }
    let i = firstLeadingBit(v.bits & 0xffffu);
    return Visible(true, (v.bits & (0x10000u << i)) != 0u, 16u * v.word + i, v.word, v.bits & ~(1u << i));
}

// What the mask adds to the scores of positions j .. j + 3.
fn visible_biases(start: u32, slope: f32, j: u32) -> vec4<f32> {
    var bias = vec4<f32>(MASKED);
    if (j >= params.kv) {
        return bias;
    }
    if (params.has_mask == 0u) {
        return select(vec4<f32>(), bias, j + vec4<u32>(0u, 1u, 2u, 3u) >= vec4<u32>(params.kv));
    }
    if (params.mask_quads != 0u) {
        let word = (params.mask_offset >> 2u) + ((start + j) >> 1u);
        let low  = mask_word(word);
        let high = mask_word(word + 1u);
        return vec4<f32>(mask_value(low & 0xffffu, slope), mask_value(low >> 16u, slope), mask_value(high & 0xffffu, slope), mask_value(high >> 16u, slope));
    }
    for (var i = 0u; i < 4u; i++) {
        if (j + i < params.kv) {
            bias[i] = mask_value(mask_bits(start + j + i), slope);
        }
    }
    return bias;
}
