// Least-squares search for scale and min of one sub-block: make_qkx2_quants of ggml-quants.c. Sums run in its order, so that
// the result is the same. Included `as` the operand, after extremes.wgsl.
#include "codecs/parts/rounding.wgsl"

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
    return select(d * d, abs(d), search.absolute);
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
    let first = search.top / (high - low);
    var sum_w = 0.0;
    var sum_x = 0.0;
    var scale = 1.0 / first;
    var best  = 0.0;
    for (var i = search.start; i < end; i++) {
        let x = (*v)[i];
        let w = search.weight + abs(x);
        sum_w += w;
        sum_x += w * x;
        best  += w * self_difference(search, scale * self_quant_for(x, first, low, search.top) + low - x);
    }
    for (var attempt = 0; attempt <= search.attempts; attempt++) {
        let iscale = (search.first_step + 0.1 * f32(attempt) + search.top) / (high - low);
        var sum_q  = 0.0;
        var sum_q2 = 0.0;
        var sum_xq = 0.0;
        for (var i = search.start; i < end; i++) {
            let x  = (*v)[i];
            let q  = self_quant_for(x, iscale, low, search.top);
            let wq = (search.weight + abs(x)) * q;
            sum_q  += wq;
            sum_q2 += wq * q;
            sum_xq += wq * x;
        }
        let determinant = sum_w * sum_q2 - sum_q * sum_q;
        if (!(determinant > 0.0)) {
            continue;
        }
        var new_scale = (sum_w * sum_xq - sum_x * sum_q) / determinant;
        var new_low   = (sum_q2 * sum_x - sum_q * sum_xq) / determinant;
        if (new_low > 0.0) {
            new_low   = 0.0;
            new_scale = sum_xq / sum_q2;
        }
        var error = 0.0;
        for (var i = search.start; i < end; i++) {
            let x = (*v)[i];
            let q = self_quant_for(x, iscale, low, search.top);
            error += (search.weight + abs(x)) * self_difference(search, new_scale * q + new_low - x);
        }
        if (error < best) {
            best  = error;
            scale = new_scale;
            low   = new_low;
        }
    }
    return vec2<f32>(scale, -low);
}
