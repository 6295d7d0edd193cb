// Quantises values of columns and stores them as matmul/columns.wgsl says. A thread has QUANTISE_QUADS quads of a block of 32 values:
// all eight, or one, with the others in the neighbouring threads. Then all threads of a subgroup call it together.
#include "matmul/columns.wgsl" as columns
#if !defined(QUANTISE_QUADS)
#define QUANTISE_QUADS 1
#endif

// The largest magnitude, as a number that orders NaN above infinity above the rest.
fn magnitude(v: vec4<f32>) -> u32 {
    let bits = bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu);
    return max(max(bits.x, bits.y), max(bits.z, bits.w));
}

// Column and batch.
fn column_position(column: u32) -> vec4<u32> {
    if (column < params.columns_ne.y) {
        return vec4<u32>(column, 0u, 0u, 0u);
    }
    return position(column, vec4<u32>(params.columns_ne.yzw, 1u));
}

// Quads item .. item + QUANTISE_QUADS - 1 of all columns, each params.column_quads long; those past the last column are not stored.
fn quantise_quads(item: u32, v: array<vec4<f32>, QUANTISE_QUADS>) {
    var largest = 0u;
#repeat i QUANTISE_QUADS
    largest = max(largest, magnitude(v[$i]));
#end
#if QUANTISE_QUADS == 1
    largest = max(largest, subgroupShuffleXor(largest, 1u));
    largest = max(largest, subgroupShuffleXor(largest, 2u));
    largest = max(largest, subgroupShuffleXor(largest, 4u));
#endif
    // Below 2^-100 the inverse overflows; such a block counts as zeros. An infinity or a NaN makes d one.
    let tiny    = largest < 0x0d800000u;
    let d       = select(bitcast<f32>(largest) / 127.0, 0.0, tiny);
    let inverse = select(127.0 / bitcast<f32>(largest), 0.0, tiny || largest >= 0x7f800000u);
#repeat i QUANTISE_QUADS
    let q$i = pack4xI8(vec4<i32>(round(v[$i] * inverse)));
#end

    // Sums of the two halves of the block.
#if QUANTISE_QUADS == 1
    var sum = dot4I8Packed(q0, 0x01010101u);
    sum += subgroupShuffleXor(sum, 1u);
    sum += subgroupShuffleXor(sum, 2u);
    let other  = subgroupShuffleXor(sum, 4u);
    let halves = d * vec2<f32>(vec2<i32>(sum, other)); // of the thread's own half first
#else
    var sums = vec2<i32>();
#repeat i QUANTISE_QUADS
    sums[$i / 4] += dot4I8Packed(q$i, 0x01010101u);
#end
    let halves = d * vec2<f32>(sums);
#endif
    let column = item / params.column_quads;
    let quad   = item % params.column_quads;
    let block  = quad >> 3u;
    if (column >= params.columns) {
        return;
    }
    // The tile and column in it: tiles do not reach over a batch.
    let pos  = column_position(column);
    let tile = (pos.y + pos.z * params.columns_ne.z) * params.columns_tiles + (pos.x >> params.tile_shift);
    let base = ((tile * params.columns_pages) << params.tile_shift) + (pos.x & ((1u << params.tile_shift) - 1u));
#if columns_SPREAD
    let unit = 4u * (block >> 3u) + 2u * ((block >> 2u) & 1u) + ((quad >> 2u) & 1u);
    let part = block & 3u;
#else
    let unit = block >> 1u;
    let part = (quad >> 2u) & 3u;
#endif
    let to = (params.columns_offset >> 2u) + 4u * ((base + ((unit / columns_PAGE_UNITS) << params.tile_shift)) * columns_PAGE + unit % columns_PAGE_UNITS);
#repeat i QUANTISE_QUADS
#if columns_SPREAD
    columns_set_word(to + 4u * (part * columns_PAGE_UNITS + $iu / 4u) + ((quad + $iu) & 3u), q$i);
#else
    columns_set_word(to + 4u * ((part + $iu / 4u) * columns_PAGE_UNITS) + ((quad + $iu) & 3u), q$i);
#endif
#end
#if columns_SPREAD
    if ((quad & 3u) == 0u) {
        let scale_at = to + 16u * columns_PAGE_UNITS + part;
        columns_set_word(scale_at, bitcast<u32>(d));
        columns_set_word(scale_at + 4u * columns_PAGE_UNITS, bitcast<u32>(halves.x));
#if QUANTISE_QUADS == 8
        columns_set_word(scale_at + 4u, bitcast<u32>(d));
        columns_set_word(scale_at + 4u + 4u * columns_PAGE_UNITS, bitcast<u32>(halves.y));
#endif
    }
#else
    if ((quad & 7u) == 0u) {
        let scale_at = to + 16u * columns_PAGE_UNITS + 2u * (block & 1u);
        columns_set_word(scale_at, bitcast<u32>(d));
        columns_set_word(scale_at + 1u, bitcast<u32>(halves.x + halves.y));
    }
#endif
}
