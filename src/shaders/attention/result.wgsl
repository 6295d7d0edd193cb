// The end of attention: dividing by the sum of the weights, and storing.

// o / l, with the head's sink as one more score that has no value. A row without any weight is zero.
fn normalised(head: u32, o: vec4<f32>, m: f32, l: f32) -> vec4<f32> {
    var scale = 1.0;
    var sum   = l;
    if (params.has_sinks != 0u) {
        let sink    = sinks_value(head, 0u);
        let highest = max(m, sink);
        scale = exp(m - highest);
        sum   = l * scale + exp(sink - highest);
    }
    if (sum == 0.0) {
        return vec4<f32>();
    }
    return o * (scale / sum);
}

fn store_row_quad(position: u32, head: u32, batch: u32, c: u32, o: vec4<f32>) {
    let start = head * params.dst_nb.y + position * params.dst_nb.z + batch * params.dst_nb.w + 4u * c;
#if DST_QUADS
    dst_store_quad(start, o);
#else
    for (var i = 0u; i < 4u; i++) {
        if (4u * c + i < v_SIZE) {
            dst_store(start + i, o[i]);
        }
    }
#endif
}
