// How the product kernels read: four or eight neighbouring values of k from a row of src0 (weights, any type) and from a
// column of src1 (activations). QUADS_A and QUADS_B say that four values can be loaded at once; else one by one. OCTETS_A and
// OCTETS_B: eight 16-bit values are one quad of words.
#include "codecs/{src0_TYPE}.wgsl" as src0
#include "codecs/{src1_TYPE}.wgsl" as src1

// Values 4 kq .. 4 kq + 3 of the row that starts at block `row`; zeros past k.
fn load_a(row: u32, kq: u32) -> vec4<f32> {
#if BLOCKS_A
    const quads_per_block = src0_BLOCK_VALUES / 4u;
    return src0_quad(row + kq / quads_per_block, kq % quads_per_block);
#elif QUADS_A
    return src0_quad(row + 4u * kq, 0u);
#else
    var v = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if (4u * kq + i < params.k) {
            v[i] = src0_value(row + (4u * kq + i) * params.src0_nb.x, 0u);
        }
    }
    return v;
#endif
}

fn load_b(column: u32, kq: u32) -> vec4<f32> {
#if QUADS_B
    return src1_quad(column + 4u * kq, 0u);
#else
    var v = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if (4u * kq + i < params.k) {
            v[i] = src1_value(column + (4u * kq + i) * params.src1_nb.x, 0u);
        }
    }
    return v;
#endif
}

// Values 8 o .. 8 o + 7; zeros past k.
fn load_a_octet(row: u32, o: u32) -> array<vec4<f32>, 2> {
#if OCTETS_A
    let words = src0_quad_word((params.src0_offset >> 4u) + (row >> 3u) + o);
    return array<vec4<f32>, 2>(src0_unpack(words.xy), src0_unpack(words.zw));
#elif QUADS_A || BLOCKS_A
    var last = vec4<f32>();
    if (2u * o + 1u < params.k_quads) {
        last = load_a(row, 2u * o + 1u);
    }
    return array<vec4<f32>, 2>(load_a(row, 2u * o), last);
#else
    return array<vec4<f32>, 2>(load_a(row, 2u * o), load_a(row, 2u * o + 1u));
#endif
}

fn load_b_octet(column: u32, o: u32) -> array<vec4<f32>, 2> {
#if OCTETS_B
    let words = src1_quad_word((params.src1_offset >> 4u) + (column >> 3u) + o);
    return array<vec4<f32>, 2>(src1_unpack(words.xy), src1_unpack(words.zw));
#elif QUADS_B
    var last = vec4<f32>();
    if (2u * o + 1u < params.k_quads) {
        last = load_b(column, 2u * o + 1u);
    }
    return array<vec4<f32>, 2>(load_b(column, 2u * o), last);
#else
    return array<vec4<f32>, 2>(load_b(column, 2u * o), load_b(column, 2u * o + 1u));
#endif
}
