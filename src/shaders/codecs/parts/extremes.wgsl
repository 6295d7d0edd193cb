// Extremes of the values to be encoded. Included `as` the operand.

// The value of largest magnitude, the first of equals.
fn self_peak(v: ptr<function, array<f32, self_BLOCK_VALUES>>, start: u32, count: u32) -> f32 {
    var peak = 0.0;
    for (var i = start; i < start + count; i++) {
        peak = select(peak, (*v)[i], abs((*v)[i]) > abs(peak));
    }
    return peak;
}

fn self_range(v: ptr<function, array<f32, self_BLOCK_VALUES>>, start: u32, count: u32) -> vec2<f32> {
    var low  = (*v)[start];
    var high = (*v)[start];
    for (var i = start; i < start + count; i++) {
        low  = min(low, (*v)[i]);
        high = max(high, (*v)[i]);
    }
    return vec2<f32>(low, high);
}
