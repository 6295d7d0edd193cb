// Sums of twice an f32's digits: x is the sum, y what rounding has lost of it (Knuth's two-sum; The Art of Computer
// Programming, vol. 2, 4.2.2).

// A compiler that may reorder sums would find that nothing is lost, and does not see through this: params.zero is 0.
fn as_rounded(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ params.zero);
}

fn plus(sum: vec2<f32>, x: f32) -> vec2<f32> {
    let s     = as_rounded(sum.x + x);
    let added = as_rounded(s - sum.x);
    let kept  = as_rounded(s - added);
    return vec2<f32>(s, sum.y + ((sum.x - kept) + (x - added)));
}

fn plus_unit(sum: vec2<f32>, x: UNIT) -> vec2<f32> {
#if QUADS
    return plus(plus(plus(plus(sum, x.x), x.y), x.z), x.w);
#else
    return plus(sum, x);
#endif
}

// Of an infinite sum nothing is known to be lost.
fn rounded(sum: vec2<f32>) -> f32 {
    return select(sum.x, sum.x + sum.y, abs(sum.y) < 3e38);
}

var<workgroup> exact_sums: array<vec2<f32>, WORKGROUP>;

// Every thread calls it, in uniform control flow; the first one gets the workgroup's sum.
fn exact_total(local: u32, sum: vec2<f32>) -> vec2<f32> {
    exact_sums[local] = sum;
    workgroupBarrier();
    var all = sum;
    if (local == 0u) {
        for (var i = 1u; i < WORKGROUP; i++) {
            let other = exact_sums[i];
            all = plus(all, other.x);
            all.y += other.y;
        }
    }
    return all;
}
