// What the attention kernels share. Some loops are bounded by a parameter where a constant would do, so that compilers keep them
// loops: unrolled they would be long to compile and no faster. A workgroup serves one KV head, one range of KV positions (a split)
// and ROWS rows, see mask.wgsl.
#include "lib/float.wgsl"
#include "attention/mask.wgsl"
#include "codecs/{k_TYPE}.wgsl" as k
#include "codecs/{v_TYPE}.wgsl" as v
#include "attention/row.wgsl" as k
#include "attention/row.wgsl" as v
#include "codecs/f32.wgsl" as q
#include "attention/row.wgsl" as q
#include "codecs/f32.wgsl" as sinks
#include "codecs/f32.wgsl" as partial
#include "codecs/f32.wgsl" as dst

const K_OCTETS = (k_SIZE + 7u) / 8u;
const V_QUADS  = (v_SIZE + 3u) / 4u;

struct Work {
    first_row: u32,
    group: u32,  // of query heads: those of one KV head
    batch: u32,
    split: u32,
    begin: u32,  // KV positions
    end: u32,
    k: u32,      // block where K starts for this head
    v: u32,
}

fn work_of(index: u32) -> Work {
    // Under a causal mask the last rows see the most. They come first, and the first rows, the least work, join them half way
    // through the others, so that processors that take turns get a long and a short one each.
    var unit     = index;
    var row_tile = 0u;
    if (params.row_tiles > 1u) {
        let units = params.groups / params.row_tiles;
        let turn  = index / units;
        let half  = (params.row_tiles + 1u) / 2u;
        unit     = index % units;
        row_tile = select(turn - half, params.row_tiles - 1u - turn, turn < half);
    }
    let split = unit & ((1u << params.split_bits) - 1u);
    var group = unit >> params.split_bits;  // of all batches
    var batch = 0u;
    if (group >= params.kv_heads) {
        batch = group / params.kv_heads;
        group = group % params.kv_heads;
    }
    let begin = split * params.chunk;
    let k        = group * params.k_nb.z + batch * params.k_nb.w;
    let v        = group * params.v_nb.z + batch * params.v_nb.w;
    return Work(row_tile * ROWS, group, batch, split, begin, min(begin + params.chunk, params.kv), k, v);
}

// Rows past the last repeat it; they are not stored.
fn clamped_row(w: Work, r: u32) -> u32 {
    return min(w.first_row + r, params.rows - 1u);
}

fn head_of(w: Work, row: u32) -> u32 {
    return w.group * params.group_heads + row % params.group_heads;
}

fn q_start(w: Work, row: u32) -> u32 {
    return position_of(row) * params.q_nb.y + head_of(w, row) * params.q_nb.z + w.batch * params.q_nb.w;
}

fn mask_start(w: Work, row: u32) -> u32 {
    return mask_row(row, w.group, w.batch);
}

// ALiBi: how strongly the mask acts on a head.
fn slope_of(w: Work, row: u32) -> f32 {
    if (params.max_bias <= 0.0) {
        return 1.0;
    }
    let head = params.first_head + head_of(w, row);
    let low  = params.heads_log2;
    return exp2(-params.max_bias / f32(low) * select(f32(head + 1u), f32(head - low) + 0.5, head >= low));
}

// The score of a product of Q and K; the scale is already in Q.
fn score_of(product: vec4<f32>, bias: vec4<f32>) -> vec4<f32> {
    var s = product;
    if (params.softcap != 0.0) {
        s = params.softcap * tanh(clamp(s, vec4<f32>(-10.0), vec4<f32>(10.0)));
    }
    return select(s + bias, vec4<f32>(MASKED), bias <= vec4<f32>(MASKED));
}

// exp(s - m), 0 for masked positions.
fn weight_of(s: vec4<f32>, m: vec4<f32>) -> vec4<f32> {
    return select(exp(s - m), vec4<f32>(), s <= vec4<f32>(MASKED));
}

// Number of a row among all of the result.
fn result_row(w: Work, row: u32) -> u32 {
    return (w.batch * params.positions + position_of(row)) * params.heads + head_of(w, row);
}

// Stores quad `c` of a row of the result and returns it: the weighted sum `o` of V, with the row's highest score `m` and the sum `l` of
// its weights. With several splits all three are kept for the merge.
fn store_result(w: Work, row: u32, c: u32, o: vec4<f32>, m: f32, l: f32) -> vec4<f32> {
    if (params.all_splits == 1u) {
        let head = head_of(w, row);
        let y    = normalised(head, o, m, l);
        store_row_quad(position_of(row), head, w.batch, c, y);
        return y;
    }
    const stride = V_QUADS + 1u;
    let index = result_row(w, row) * params.all_splits + params.first_split + w.split;
    partial_store_quad(4u * (index * stride + c), o);
    if (c == 0u) {
        partial_store_quad(4u * (index * stride + V_QUADS), vec4<f32>(m, l, 0.0, 0.0));
    }
    return o;
}
