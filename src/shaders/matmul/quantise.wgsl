// The columns of src1 as signed bytes for matmul/vec_packed.wgsl: blocks of 32 values with a scale d, value = d * quant. Parts
// of 16 bytes lie so that neighbouring threads of the product read neighbouring words (units of 64 values, see
// codecs/parts/packed.wgsl; `column` counts all columns of src1):
//
//   quants   word quad (4 column + part) * units + unit: the quants of a part
//   scales   in order: quad column * units + unit: d and d * (sum of quants) of the unit's first block, then of its second
//            SPREAD:   quad 2 column * units + unit: d of each part; and units further: d * (sum of quants) of each part
//
// A thread takes one block.
#include "lib/grid.wgsl"
#include "codecs/{src1_TYPE}.wgsl" as src1

fn load(column: u32, i: u32) -> vec4<f32> {
#if QUADS_B
    return src1_quad(column + i, 0u);
#else
    let nb = params.src1_nb.x;
    let at = column + i * nb;
    return vec4<f32>(src1_value(at, 0u), src1_value(at + nb, 0u), src1_value(at + 2u * nb, 0u), src1_value(at + 3u * nb, 0u));
#endif
}

// Magnitudes as numbers that order NaN above infinity above the rest.
fn magnitude(v: vec4<f32>) -> u32 {
    let bits = bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu);
    return max(max(bits.x, bits.y), max(bits.z, bits.w));
}

fn quantised(v: vec4<f32>, inverse: f32) -> u32 {
    return pack4xI8(vec4<i32>(round(v * inverse)));
}

fn sum_of_bytes(words: vec4<u32>) -> f32 {
    const ones = 0x01010101u;
    return f32(dot4I8Packed(words.x, ones) + dot4I8Packed(words.y, ones) + dot4I8Packed(words.z, ones) + dot4I8Packed(words.w, ones));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group  = group_index(wid, nwg);
    let item   = group * WORKGROUP + local;
    let units  = params.units;
    let column = item / (2u * units);
    let block  = item % (2u * units);
    if (group >= params.groups || column >= params.columns) {
        return;
    }
    let pos   = position(column, vec4<u32>(params.src1_ne.yzw, 1u));
    let start = pos.x * params.src1_nb.y + pos.y * params.src1_nb.z + pos.z * params.src1_nb.w;

    var v: array<vec4<f32>, 8>;
    var largest = 0u;
    if (block < params.k_blocks) { // else past the end of a row of an odd number of blocks
#repeat i 8
        v[$i] = load(start, 32u * block + 4u * $iu);
#end
#repeat i 8
        largest = max(largest, magnitude(v[$i]));
#end
    }
    // Below 2^-100 the inverse overflows; such a block counts as zeros. An infinity or a NaN makes d one.
    let d       = select(bitcast<f32>(largest) / 127.0, 0.0, largest < 0x0d800000u);
    let inverse = select(127.0 / bitcast<f32>(largest), 0.0, largest < 0x0d800000u || largest >= 0x7f800000u);
    let first   = vec4<u32>(quantised(v[0], inverse), quantised(v[1], inverse), quantised(v[2], inverse), quantised(v[3], inverse));
    let second  = vec4<u32>(quantised(v[4], inverse), quantised(v[5], inverse), quantised(v[6], inverse), quantised(v[7], inverse));
    let sums    = d * vec2<f32>(sum_of_bytes(first), sum_of_bytes(second));

    let quants = (params.quants_offset >> 4u) + 4u * column * units;
    let scales = params.scales_offset >> 2u;
#if SPREAD
    let unit = 4u * (block >> 3u) + 2u * ((block >> 2u) & 1u);
    let part = block & 3u;
    let at   = scales + 4u * (2u * column * units + unit) + part;
    quants_set_quad_word(quants + part * units + unit, first);
    quants_set_quad_word(quants + part * units + unit + 1u, second);
    scales_set_word(at, bitcast<u32>(d));
    scales_set_word(at + 4u, bitcast<u32>(d));
    scales_set_word(at + 4u * units, bitcast<u32>(sums.x));
    scales_set_word(at + 4u * units + 4u, bitcast<u32>(sums.y));
#else
    let unit = block >> 1u;
    let part = 2u * (block & 1u);
    let at   = scales + 4u * (column * units + unit) + part;
    quants_set_quad_word(quants + part * units + unit, first);
    quants_set_quad_word(quants + (part + 1u) * units + unit, second);
    scales_set_word(at, bitcast<u32>(d));
    scales_set_word(at + 1u, bitcast<u32>(sums.x + sums.y));
#endif
}
