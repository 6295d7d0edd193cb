// A block is put together in words of its own and then stored. Included `as` the operand.
#include "lib/float.wgsl"
const self_BLOCK_WORDS = (self_BLOCK_BYTES + 3u) / 4u;

// Sets bits that lie within one word, counting from byte `byte` of the block.
fn self_put(words: ptr<function, array<u32, self_BLOCK_WORDS>>, byte: u32, bits: u32) {
    (*words)[byte >> 2u] |= bits << (8u * (byte & 3u));
}

// The same for 32 bits from an even byte on.
fn self_put_wide(words: ptr<function, array<u32, self_BLOCK_WORDS>>, byte: u32, bits: u32) {
    self_put(words, byte, bits & 0xffffu);
    self_put(words, byte + 2u, bits >> 16u);
}

fn self_store_block(block: u32, words: ptr<function, array<u32, self_BLOCK_WORDS>>) {
    let at    = params.self_offset + block * self_BLOCK_BYTES;
    let first = at >> 2u;
#if self_ATOMIC
    // Blocks may begin and end inside words that they share with their neighbours.
    let shift = 8u * (at & 3u);
    var below = 0u;
    for (var i = 0u; 4u * i < self_BLOCK_BYTES + (at & 3u); i++) {
        var here = 0u;
        if (i < self_BLOCK_WORDS) {
            here = (*words)[i];
        }
        let bits  = select((here << shift) | (below >> (32u - shift)), here, shift == 0u);
        let begin = select(0u, shift, i == 0u);
        let end   = min(32u, shift + 8u * self_BLOCK_BYTES - 32u * i);
        if (end - begin == 32u) {
            self_set_word(first + i, bits);
        } else {
            // Not by insertBits: wgpu-native on llvmpipe was seen to get it wrong here.
            let mask = (0xffffffffu >> (32u - (end - begin))) << begin;
            self_set_bits(first + i, mask, bits & mask);
        }
        below = here;
    }
#else
    const_assert self_BLOCK_BYTES % 4u == 0u; // else bind the operand as ATOMIC
    for (var i = 0u; i < self_BLOCK_WORDS; i++) {
        self_set_word(first + i, (*words)[i]);
    }
#endif
}
