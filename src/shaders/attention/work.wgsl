// What the attention kernels share. Some loops are bounded by a parameter where a constant would do, so that compilers keep them
// loops: unrolled they would be long to compile and no faster. A workgroup serves one KV head, one range of KV positions (a split) and ROWS rows: a row is a
// query position and one of the query heads of that KV head, numbered with the heads next to each other.
#include "lib/float.wgsl"
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

// The score of a masked position. A number and not -infinity, so no difference of two scores is NaN.
const MASKED = -3.0e38;

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
    let row_tile = index % params.row_tiles;
    let unit     = index / params.row_tiles;
    let split    = unit % params.splits;
    let head     = unit / params.splits;
    let group    = head % params.kv_heads;
    let batch    = head / params.kv_heads;
    let begin    = split * params.chunk;
    let k        = group * params.k_nb.z + batch * params.k_nb.w;
    let v        = group * params.v_nb.z + batch * params.v_nb.w;
    return Work(row_tile * ROWS, group, batch, split, begin, min(begin + params.chunk, params.kv), k, v);
}

// Rows past the last repeat it; they are not stored.
fn clamped_row(w: Work, r: u32) -> u32 {
    return min(w.first_row + r, params.rows - 1u);
}

fn position_of(row: u32) -> u32 {
    return row / params.group_heads;
}

fn head_of(w: Work, row: u32) -> u32 {
    return w.group * params.group_heads + row % params.group_heads;
}

fn q_start(w: Work, row: u32) -> u32 {
    return position_of(row) * params.q_nb.y + head_of(w, row) * params.q_nb.z + w.batch * params.q_nb.w;
}

fn mask_start(w: Work, row: u32) -> u32 {
    return position_of(row) * params.mask_nb.y + ((params.first_head + head_of(w, row)) % params.mask_ne.z) * params.mask_nb.z +
           ((params.first_batch + w.batch) % params.mask_ne.w) * params.mask_nb.w;
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

// Bits of a mask value; 0xfc00 is -infinity.
fn mask_bits(i: u32) -> u32 {
    return mask_u16(params.mask_offset + 2u * i);
}

fn mask_value(bits: u32, slope: f32) -> f32 {
    return select(slope * unpack2x16float(bits).x, MASKED, bits == 0xfc00u);
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

// Stores quad `c` of a row of the result: the weighted sum `o` of V, with the row's highest score `m` and the sum `l` of its weights.
// With several splits all three are kept for the merge.
fn store_result(w: Work, row: u32, c: u32, o: vec4<f32>, m: f32, l: f32) {
    let head = head_of(w, row);
    if (params.all_splits == 1u) {
        store_row_quad(position_of(row), head, w.batch, c, normalised(head, o, m, l));
        return;
    }
    const stride = V_QUADS + 1u;
    let index = ((w.batch * params.positions + position_of(row)) * params.heads + head) * params.all_splits + params.first_split + w.split;
    partial_store_quad(4u * (index * stride + c), o);
    if (c == 0u) {
        partial_store_quad(4u * (index * stride + V_QUADS), vec4<f32>(m, l, 0.0, 0.0));
    }
}
