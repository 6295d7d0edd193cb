// Least-squares search for scale and min of one sub-block: make_qkx2_quants of ggml-quants.c. Sums run in its order, so that
// the result is the same. Included `as` the operand, after extremes.wgsl.
#include "codecs/parts/exact.wgsl"

struct self_scale_search {
    start: u32,      // first value and number of values of the sub-block
    count: u32,
    top: f32,        // quants are 0..top
    weight: f32,     // value x weighs weight + |x|
    first_step: f32, // tries (top + first_step + attempt / 10) / (largest - smallest value) for attempt = 0..attempts
    attempts: i32,
    absolute: bool,  // sum absolute differences instead of squares
}

fn self_quant_for(x: f32, iscale: f32, low: f32, top: f32) -> f32 {
    return clamp(round(iscale * (x - low)), 0.0, top);
}

fn self_difference(search: self_scale_search, d: f32) -> f32 {
    return select(rounded(d * d), abs(d), search.absolute);
}

// (scale, min) such that x is about scale * q - min.
fn self_scale_and_min(v: ptr<function, array<f32, self_BLOCK_VALUES>>, search: self_scale_search) -> vec2<f32> {
    let end   = search.start + search.count;
    let range = self_range(v, search.start, search.count);
    let high  = range.y;
    var low   = min(range.x, 0.0);
    if (high == low) {
        return vec2<f32>(0.0, -low);
    }
    let first = quotient(search.top, high - low);
    var sum_w = 0.0;
    var sum_x = 0.0;
    var scale = quotient(1.0, first);
    var best  = 0.0;
    for (var i = search.start; i < end; i++) {
        let x = (*v)[i];
        let w = search.weight + abs(x);
        sum_w += w;
        sum_x += rounded(w * x);
        let q = self_quant_for(x, first, low, search.top);
        best += rounded(w * self_difference(search, rounded(rounded(scale * q) + low) - x));
    }
    for (var attempt = 0; attempt <= search.attempts; attempt++) {
        let iscale = quotient(rounded(search.first_step + rounded(0.1 * f32(attempt))) + search.top, high - low);
        var sum_q  = 0.0;
        var sum_q2 = 0.0;
        var sum_xq = 0.0;
        for (var i = search.start; i < end; i++) {
            let x  = (*v)[i];
            let q  = self_quant_for(x, iscale, low, search.top);
            let wq = rounded((search.weight + abs(x)) * q);
            sum_q  += wq;
            sum_q2 += rounded(wq * q);
            sum_xq += rounded(wq * x);
        }
        let determinant = rounded(sum_w * sum_q2) - rounded(sum_q * sum_q);
        if (!(determinant > 0.0)) {
            continue;
        }
        var new_scale = quotient(rounded(sum_w * sum_xq) - rounded(sum_x * sum_q), determinant);
        var new_low   = quotient(rounded(sum_q2 * sum_x) - rounded(sum_q * sum_xq), determinant);
        if (new_low > 0.0) {
            new_low   = 0.0;
            new_scale = quotient(sum_xq, sum_q2);
        }
        var error = 0.0;
        for (var i = search.start; i < end; i++) {
            let x = (*v)[i];
            let q = self_quant_for(x, iscale, low, search.top);
            error += rounded((search.weight + abs(x)) * self_difference(search, rounded(rounded(new_scale * q) + new_low) - x));
        }
        if (error < best) {
            best  = error;
            scale = new_scale;
            low   = new_low;
        }
    }
    return vec2<f32>(scale, -low);
}
