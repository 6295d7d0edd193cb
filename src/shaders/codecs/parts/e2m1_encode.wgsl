// The nibble whose doubled value times `scale` is closest to x, the smaller of two equally close.
fn e2m1_nearest(x: f32, scale: f32) -> u32 {
    var index = 0u;
    var best  = abs(x);
    for (var i = 1u; i < 8u; i++) {
        let error = abs(f32((0xc8643210u >> (4u * i)) & 15u) * scale - abs(x));
        if (error < best) {
            best  = error;
            index = i;
        }
    }
    return select(index, index | 8u, x < 0.0 && index > 0u);
}
