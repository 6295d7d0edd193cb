// Encoding to the types whose values are entries of a grid times scales. The 32 threads of a workgroup encode a block together,
// eight values each; a few neighbouring threads, a sub-block, share a scale. Every entry of the grid is tried:
//
//   1. what scale would suit each sub-block best, of eight for which its peak is about the largest level;
//   2. the block's d follows from the largest of them;
//   3. four scales that can be stored with d, around the best: their best entries, and which of them is best;
//   4. d once more, the one that suits all that was found.
//
// Values weigh as in ggml-quants.c when their importance is given as 1. Its search looks only at the entries near each value's
// nearest level; the results here are closer. The codec defines, before it includes this `as` the operand:
//
//   self_ENTRY_VALUES   values of an entry, 4 or 8
//   self_ENTRIES        entries to choose from for each four or eight values
//   self_VARIANTS       runs of so many entries, one of which all of a sub-block come from
//   self_SCALE_THREADS  threads of a sub-block
//   self_SIGNS          0: levels have signs; 1: a sign for each value; 2: the same, negative ones are even in number
//   self_VARIANCES      what a value's square is compared with for its weight, in means of all squares
//   self_LARGEST_SCALE, self_UNIT, self_TOP_LEVEL    value = d * (2 s + 1) * UNIT * level, s <= LARGEST_SCALE, level <= TOP_LEVEL
//   self_level(entry, half)   the first (half = 0) or last four levels
#include "codecs/parts/bits.wgsl"
#include "lib/float.wgsl"
const_assert WORKGROUP == 32;

var<workgroup> grid_terms: array<vec4<f32>, WORKGROUP>;
// Of each thread: its entry, or two of four values (the second << 16); signs; s.
var<workgroup> self_found: array<vec3<u32>, WORKGROUP>;

fn share_terms(local: u32, x: vec4<f32>) {
    workgroupBarrier(); // the last ones have been read
    grid_terms[local] = x;
    workgroupBarrier();
}

// Over the run of `count` threads to which `local` belongs.
fn grid_total(local: u32, count: u32, x: vec4<f32>) -> vec4<f32> {
    share_terms(local, x);
    var total = vec4<f32>();
    for (var i = 0u; i < count; i++) {
        total += grid_terms[local / count * count + i];
    }
    return total;
}

fn grid_largest(local: u32, count: u32, x: f32) -> f32 {
    share_terms(local, vec4<f32>(x));
    var largest = x;
    for (var i = 0u; i < count; i++) {
        largest = max(largest, grid_terms[local / count * count + i].x);
    }
    return largest;
}

// A thread's values without the signs that are stored apart, their weights and those signs.
struct self_share {
    x: array<vec4<f32>, 2>,
    w: array<vec4<f32>, 2>,
    signs: u32,
}

fn self_weighed(local: u32, v: ptr<function, array<f32, 8>>) -> self_share {
    var share: self_share;
    share.x = array<vec4<f32>, 2>(vec4<f32>((*v)[0], (*v)[1], (*v)[2], (*v)[3]), vec4<f32>((*v)[4], (*v)[5], (*v)[6], (*v)[7]));
    let squares  = array<vec4<f32>, 2>(share.x[0] * share.x[0], share.x[1] * share.x[1]);
    let all      = grid_total(local, WORKGROUP, squares[0] + squares[1]);
    let variance = self_VARIANCES * (all.x + all.y + all.z + all.w) / f32(self_BLOCK_VALUES);
    share.w = array<vec4<f32>, 2>(sqrt(variance + squares[0]), sqrt(variance + squares[1]));
#if self_SIGNS
    for (var i = 0u; i < 8u; i++) {
        share.signs |= select(0u, 1u << i, (*v)[i] < 0.0);
    }
#endif
#if self_SIGNS == 2
    if ((countOneBits(share.signs) & 1u) != 0u) { // the smallest value, whose weight is the smallest too, gets the wrong sign
        var smallest = 0u;
        for (var i = 1u; i < 8u; i++) {
            smallest = select(smallest, i, abs((*v)[i]) < abs((*v)[smallest]));
        }
        share.signs ^= 1u << smallest;
    }
#endif
    share.x = array<vec4<f32>, 2>(with_signs(share.x[0], share.signs), with_signs(share.x[1], share.signs >> 4u));
    return share;
}

// For each of four scales the best entries, and their cost: the weighted square error less that of zeros.
struct self_fit {
    cost: vec4<f32>,
    entry: vec4<u32>,
}

fn self_better(fit: self_fit, entry: u32, scales: vec4<f32>, xq: f32, qq: f32) -> self_fit {
    let cost   = scales * (scales * qq - 2.0 * xq);
    let better = cost < fit.cost;
    return self_fit(select(fit.cost, cost, better), select(fit.entry, vec4<u32>(entry), better));
}

fn self_fit_values(share: self_share, variant: u32, scales: vec4<f32>) -> self_fit {
    let wx0 = share.w[0] * share.x[0];
    let wx1 = share.w[1] * share.x[1];
    var fit = self_fit(vec4<f32>(1e38), vec4<u32>());
#if self_ENTRY_VALUES == 8
    for (var entry = variant * self_ENTRIES; entry < (variant + 1u) * self_ENTRIES; entry++) {
        let q0 = self_level(entry, 0u);
        let q1 = self_level(entry, 1u);
        fit = self_better(fit, entry, scales, dot(wx0, q0) + dot(wx1, q1), dot(share.w[0], q0 * q0) + dot(share.w[1], q1 * q1));
    }
    return fit;
#else
    var second = fit;
    for (var entry = 0u; entry < self_ENTRIES; entry++) {
        let q  = self_level(entry, 0u);
        let qq = q * q;
        fit    = self_better(fit, entry, scales, dot(wx0, q), dot(share.w[0], qq));
        second = self_better(second, entry, scales, dot(wx1, q), dot(share.w[1], qq));
    }
    return self_fit(fit.cost + second.cost, fit.entry | (second.entry << vec4<u32>(16u)));
#endif
}

// The levels that make up four values of a thread.
fn self_found_level(entry: u32, part: u32) -> vec4<f32> {
#if self_ENTRY_VALUES == 8
    return self_level(entry, part);
#else
    return self_level((entry >> (16u * part)) & 0xffffu, 0u);
#endif
}

// Leaves what it finds in self_found and returns the bits of d. Every thread calls it, in uniform control flow.
fn self_search(local: u32, v: ptr<function, array<f32, 8>>) -> u32 {
    let share  = self_weighed(local, v);
    let size   = max(abs(share.x[0]), abs(share.x[1]));
    let widest = grid_largest(local, self_SCALE_THREADS, max(max(size.x, size.y), max(size.z, size.w))) / self_TOP_LEVEL;

    var scales = widest * vec4<f32>(0.5, 0.6, 0.7, 0.8);
    var least  = 0.0;
    var scale  = 0.0;
    var entry  = 0u;
    var unit   = 0.0; // value = unit * (2 s + 1) * level
    for (var turn = 0u; turn < 3u; turn++) {
        for (var variant = 0u; variant < self_VARIANTS; variant++) {
            let fit  = self_fit_values(share, variant, scales);
            let cost = grid_total(local, self_SCALE_THREADS, fit.cost);
            for (var i = 0u; i < 4u; i++) {
                scale = select(scale, scales[i], cost[i] < least);
                entry = select(entry, fit.entry[i], cost[i] < least);
                least = min(least, cost[i]);
            }
        }
        if (turn == 0u) {
            scales = widest * vec4<f32>(0.9, 1.0, 1.1, 1.2);
        } else if (turn == 1u) {
            // The largest scale comes to lie between the two largest that can be stored.
            let most = grid_largest(local, WORKGROUP, scale);
            unit   = unpack2x16float(f16_bits(most / (2.0 * self_LARGEST_SCALE * self_UNIT))).x * self_UNIT;
            let s  = clamp(self_scale_index(scale, unit), 1.0, self_LARGEST_SCALE - 2.0);
            scales = unit * (2.0 * s + vec4<f32>(-1.0, 1.0, 3.0, 5.0));
            least  = 1e38;
        }
    }
    let s = self_scale_index(scale, unit);
    self_found[local] = vec3<u32>(entry, share.signs, u32(s));

    let q0    = (2.0 * s + 1.0) * self_UNIT * self_found_level(entry, 0u);
    let q1    = (2.0 * s + 1.0) * self_UNIT * self_found_level(entry, 1u);
    let xq    = dot(share.w[0] * share.x[0], q0) + dot(share.w[1] * share.x[1], q1);
    let qq    = dot(share.w[0] * q0, q0) + dot(share.w[1] * q1, q1);
    let total = grid_total(local, WORKGROUP, vec4<f32>(xq, qq, 0.0, 0.0));
    return f16_bits(select(total.x / total.y, 0.0, unit == 0.0));
}

fn self_scale_index(scale: f32, unit: f32) -> f32 {
    return select(clamp(round(0.5 * (scale / unit - 1.0)), 0.0, self_LARGEST_SCALE), 0.0, unit == 0.0);
}
