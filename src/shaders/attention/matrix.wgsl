// Attention for many query rows by subgroup matrices (MAT_M x MAT_N x MAT_K, f16 to f32). A workgroup takes ROWS rows and walks over
// the visible tiles of POSITIONS KV positions of its split, backwards. Tiles of K and V go through workgroup memory in chunks of columns; what
// comes next is fetched into registers while the present one is used. SUBGROUPS_M x SUBGROUPS_N subgroups share the scores and the
// columns of V; each has FRAGMENTS matrices of rows. Scores pass through workgroup memory in f32 and come back as weights in f16.
//
// While K and V have one chunk each, a tile takes two steps with a barrier after each: products (the last tile's weights with V, then
// this one's Q with K), and weights. In the latter V of this tile and K of the next take their places, since no product reads them.
// With ONE_TILE K and V take turns in the same memory, and K's first chunk has to wait for the products with V like all others.
#include "lib/grid.wgsl"
#include "attention/work.wgsl"
#include "attention/result.wgsl"
#include "attention/visible.wgsl"
#if ONE_TILE
#define k_tile tile
#define v_tile tile
#endif
#include "attention/chunk.wgsl" as k
#include "attention/chunk.wgsl" as v

#if ONE_TILE
var<workgroup> tile: array<f16, POSITIONS * max(k_STRIDE, v_STRIDE)>;
#else
var<workgroup> k_tile: array<f16, POSITIONS * k_STRIDE>;
var<workgroup> v_tile: array<f16, POSITIONS * v_STRIDE>;
#endif

const SUBGROUP_COUNT = SUBGROUPS_M * SUBGROUPS_N;
const LANES          = WORKGROUP / ROWS;  // threads that share a row of scores, every LANESth quad each
const SCORE_COLUMNS  = POSITIONS / SUBGROUPS_N;  // of a subgroup
const VALUE_COLUMNS  = v_CHUNK / SUBGROUPS_N;

// Strides; the padding spreads rows over the banks.
const SCORE_STRIDE  = POSITIONS + 8u;
const WEIGHT_STRIDE = POSITIONS + 8u;
const QUERY_STRIDE  = k_CHUNK * k_CHUNKS + 8u;

// What else lies in a row of scores, after them.
const ROW_MAX = POSITIONS;
const ROW_SUM = POSITIONS + 1u;

// Scores count in powers of two.
const LOG2_E = 1.4426950408889634;
const LN_2   = 0.6931471805599453;
// Weights are relative to a reference score, since f16 holds 2^-24 to 2^16. Setting it again takes long, so it leaves room.
const ABOVE = 8.0;   // it is set so far above the highest score yet: only weights too small to show in a row's sum lose digits
const SLACK = 15.0;  // and again when a score is so far above it

var<workgroup> scores: array<f32, ROWS * SCORE_STRIDE>;
var<workgroup> weights: array<f16, ROWS * WEIGHT_STRIDE>;
#if !QUERIES_IN_REGISTERS
var<workgroup> queries: array<f16, ROWS * QUERY_STRIDE>;
#endif
var<workgroup> rescaling: array<u32, (SUBGROUP_COUNT + 3u) / 4u * 4u>;

// Octet `octet` of part `part` of chunk `chunk` of a row of Q, zeros past its end. A part has POSITIONS columns.
fn query_octet(start: u32, chunk: u32, part: u32, octet: u32) -> mat2x4<f32> {
    let within = part * (POSITIONS / 8u) + octet;
    let o      = chunk * (k_CHUNK / 8u) + within;
    if (octet >= POSITIONS / 8u || within >= k_CHUNK / 8u || o >= K_OCTETS) {
        return mat2x4<f32>();
    }
    return q_row_octet(start, o);
}

// Whether the reference of a row in first_row .. first_row + MAT_M - 1 rose. A subgroup left a word for the rows of its threads.
fn any_rose(first_row: u32) -> bool {
    const rows_of_subgroup = ROWS / SUBGROUP_COUNT;
    var found = 0u;
    for (var r = 0u; r < MAT_M; r += min(MAT_M, rows_of_subgroup)) {
        found |= rescaling[(first_row + r) / rows_of_subgroup];
    }
    return found != 0u;
}

fn largest(x: mat2x4<f32>) -> f32 {
    let m = max(abs(x[0]), abs(x[1]));
    return max(max(m.x, m.y), max(m.z, m.w));
}

fn put_query(r: u32, chunk: u32, part: u32, octet: u32, x: mat2x4<f32>) {
#if QUERIES_IN_REGISTERS
    let at = r * WEIGHT_STRIDE + 8u * octet;
    for (var i = 0u; i < 8u; i++) {
        weights[at + i] = f16(x[i / 4u][i % 4u]);
    }
#else
    let at = r * QUERY_STRIDE + chunk * k_CHUNK + part * POSITIONS + 8u * octet;
    for (var i = 0u; i < 8u; i++) {
        queries[at + i] = f16(x[i / 4u][i % 4u]);
    }
#endif
}

// Scores of one thread's quads of a row, with softcap, mask and the end of the KV positions: in place, in powers of two.
fn finish_scores(w: Work, row: u32, at: u32, first: u32, factor: f32) {
    let mask  = mask_start(w, row);
    let slope = slope_of(w, row);
#repeat i POSITIONS / 4 * ROWS / WORKGROUP
    let bias_$i = visible_biases(mask, slope, first + 4u * LANES * $iu);
#end
#repeat i POSITIONS / 4 * ROWS / WORKGROUP
    {
        let here    = at + 4u * LANES * $iu;
        let product = factor * vec4<f32>(scores[here], scores[here + 1u], scores[here + 2u], scores[here + 3u]);
        let s       = score_of(product, bias_$i);
        let in_twos = select(LOG2_E * s, vec4<f32>(MASKED), s <= vec4<f32>(MASKED));
        scores[here]      = in_twos.x;
        scores[here + 1u] = in_twos.y;
        scores[here + 2u] = in_twos.z;
        scores[here + 3u] = in_twos.w;
    }
#end
}

// Stores the results that lie in `scores`: of each subgroup's columns of the chunk at `chunk`, those from `first` on.
fn store_columns(w: Work, chunk: u32, first: u32, local: u32) {
    for (var i = local; i < ROWS * POSITIONS / 4u; i += WORKGROUP) {
        let r      = i / (POSITIONS / 4u);
        let part   = i % (POSITIONS / 4u) * 4u;
        let within = first + part % SCORE_COLUMNS;
        let column = chunk + part / SCORE_COLUMNS * VALUE_COLUMNS + within;
        let at     = r * SCORE_STRIDE + part;
        if (within < VALUE_COLUMNS && column < v_SIZE && w.first_row + r < params.rows) {
            let sums = vec4<f32>(scores[at], scores[at + 1u], scores[at + 2u], scores[at + 3u]);
            store_result(w, w.first_row + r, column / 4u, sums, scores[r * SCORE_STRIDE + ROW_MAX], scores[r * SCORE_STRIDE + ROW_SUM]);
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32,
        @builtin(subgroup_id) subgroup: u32, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) lanes: u32) {
    let index = group_index(wid, nwg);
    if (index >= params.groups) {
        return;
    }
    let w          = work_of(index);
    let sub_row    = (subgroup % SUBGROUPS_M) * FRAGMENTS * MAT_M;
    let sub_column = subgroup / SUBGROUPS_M;

    // This thread's row, and its share of it: every LANESth quad of the scores, and octet of Q.
    let thread = subgroup * lanes + lane;
    let r      = thread / LANES;
    let share  = thread % LANES;
    let row    = clamped_row(w, r);

    // The first tile of K is on its way before Q is needed.
    var here = next_visible(first_visible(w), w, local);
    var base = here.tile * POSITIONS;
#repeat i k_LOADS
    var k_$i = k_fetch(w.k, base, 0u, local + $iu * WORKGROUP);
#end

    // Q in f16, each row divided by the power of two that brings it near 1.
    let start = q_start(w, row);
    var most  = 0.0;
#repeat c k_CHUNKS
#repeat h QUERY_PARTS
#repeat i QUERY_LOADS
    let x_$c_$h_$i = query_octet(start, $cu, $hu, share + $iu * LANES);
    most = max(most, largest(x_$c_$h_$i));
#end
#end
#end
    for (var step = 1u; step < LANES; step *= 2u) {
        most = max(most, subgroupShuffleXor(most, step));
    }
    let exponent = i32((bitcast<u32>(most) >> 23u) & 0xffu) - 127;
    let power    = select(f32(clamp(exponent, -100, 100)), 0.0, exponent == 128);  // infinities and NaN stay as they are
    let shrink   = sign(params.scale) * exp2(-power);
    let factor   = abs(params.scale) * exp2(power);  // not negative, so that the highest product has the highest score
#repeat c k_CHUNKS
#repeat h QUERY_PARTS
#repeat i QUERY_LOADS
    if (share + $iu * LANES < POSITIONS / 8u && $hu * POSITIONS + 8u * (share + $iu * LANES) < k_CHUNK) {
        put_query(r, $cu, $hu, share + $iu * LANES, shrink * x_$c_$h_$i);
    }
#end
#if QUERIES_IN_REGISTERS
    workgroupBarrier();
#repeat i FRAGMENTS
#repeat s POSITIONS / MAT_K
#if $h * POSITIONS + $s * MAT_K < k_CHUNK
    let q_$i_$c_$h_$s = subgroupMatrixLoad<subgroup_matrix_left<f16, MAT_K, MAT_M>>(&weights, (sub_row + $iu * MAT_M) * WEIGHT_STRIDE + $su * MAT_K, false, WEIGHT_STRIDE);
#endif
#end
#end
    workgroupBarrier();
#endif
#end
#end

    // K's first chunk takes its place, and what follows is on its way.
    var next      = next_visible(here, w, local);
    var next_base = select(base, next.tile * POSITIONS, next.found);
#if !ONE_TILE
#repeat i k_LOADS
    k_put(local + $iu * WORKGROUP, k_$i);
    k_$i = k_fetch(w.k, select(next_base, base, k_CHUNKS > 1u), 1u % k_CHUNKS, local + $iu * WORKGROUP);
#end
#endif
#repeat i v_LOADS
    var v_$i = v_fetch(w.v, base, 0u, local + $iu * WORKGROUP);
#end
    workgroupBarrier();

    var reference = MASKED;  // of the row's weights
    var sum       = 0.0;     // of this thread's weights
#repeat c v_CHUNKS
#repeat i FRAGMENTS
#repeat j v_CHUNK / MAT_N / SUBGROUPS_N
    var o_$c_$i_$j: subgroup_matrix_result<f32, MAT_N, MAT_M>;
#end
#end
#end
    while (here.found) {
        // Scores. (A declaration alone would keep the last tile's: it is zero only once.)
#repeat i FRAGMENTS
#repeat j POSITIONS / MAT_N / SUBGROUPS_N
        var s_$i_$j = subgroup_matrix_result<f32, MAT_N, MAT_M>(0.0);
#end
#end
#repeat c k_CHUNKS
#if $c > 0 || ONE_TILE
        workgroupBarrier();
#repeat i k_LOADS
        k_put(local + $iu * WORKGROUP, k_$i);
        k_$i = k_fetch(w.k, select(next_base, base, $cu + 1u < k_CHUNKS), ($cu + 1u) % k_CHUNKS, local + $iu * WORKGROUP);
#end
        workgroupBarrier();
#endif
#if QUERIES_IN_REGISTERS
#repeat h QUERY_PARTS
#repeat s POSITIONS / MAT_K
#if $h * POSITIONS + $s * MAT_K < k_CHUNK
#repeat j POSITIONS / MAT_N / SUBGROUPS_N
        let k_$c_$h_$s_$j = subgroupMatrixLoad<subgroup_matrix_right<f16, MAT_N, MAT_K>>(&k_tile, (sub_column * SCORE_COLUMNS + $ju * MAT_N) * k_STRIDE + $hu * POSITIONS + $su * MAT_K, true, k_STRIDE);
#repeat i FRAGMENTS
        s_$i_$j = subgroupMatrixMultiplyAccumulate(q_$i_$c_$h_$s, k_$c_$h_$s_$j, s_$i_$j);
#end
#end
#endif
#end
#end
#else
        for (var d = 0u; d < k_CHUNK; d += MAT_K) {
#repeat i FRAGMENTS
            let q_$i = subgroupMatrixLoad<subgroup_matrix_left<f16, MAT_K, MAT_M>>(&queries, (sub_row + $iu * MAT_M) * QUERY_STRIDE + $cu * k_CHUNK + d, false, QUERY_STRIDE);
#end
#repeat j POSITIONS / MAT_N / SUBGROUPS_N
            let keys_$j = subgroupMatrixLoad<subgroup_matrix_right<f16, MAT_N, MAT_K>>(&k_tile, (sub_column * SCORE_COLUMNS + $ju * MAT_N) * k_STRIDE + d, true, k_STRIDE);
#repeat i FRAGMENTS
            s_$i_$j = subgroupMatrixMultiplyAccumulate(q_$i, keys_$j, s_$i_$j);
#end
#end
        }
#endif
#end
#repeat i FRAGMENTS
#repeat j POSITIONS / MAT_N / SUBGROUPS_N
        subgroupMatrixStore(&scores, (sub_row + $iu * MAT_M) * SCORE_STRIDE + sub_column * SCORE_COLUMNS + $ju * MAT_N, s_$i_$j, false, SCORE_STRIDE);
#end
#end
        workgroupBarrier();

        // No product is under way: V, and K of the next tile, take their places.
#repeat i v_LOADS
        v_put(local + $iu * WORKGROUP, v_$i);
#end
#if !ONE_TILE
#repeat i k_LOADS
        k_put(local + $iu * WORKGROUP, k_$i);
#end
#endif

        // Weights.
        let at = r * SCORE_STRIDE + 4u * share;
        var f  = factor * LOG2_E;
        if (here.partly || params.softcap != 0.0) {
            finish_scores(w, row, at, base + 4u * share, factor);
            f = 1.0;
        }
        most = MASKED;
#repeat i POSITIONS / 4 * ROWS / WORKGROUP
        let at_$i = at + $iu * 4u * LANES;
        let s_$i  = vec4<f32>(scores[at_$i], scores[at_$i + 1u], scores[at_$i + 2u], scores[at_$i + 3u]);
        most = max(most, max(max(s_$i.x, s_$i.y), max(s_$i.z, s_$i.w)));
#end
        for (var step = 1u; step < LANES; step *= 2u) {
            most = max(most, subgroupShuffleXor(most, step));
        }
        most *= f;
        var keep = 1.0;
        var rose = false;
        if (most > reference + SLACK) {
            rose      = reference != MASKED;  // else there are no sums yet
            keep      = exp2(reference - (most + ABOVE));
            reference = most + ABOVE;
            sum *= keep;
        }
        let rescale = subgroupAny(rose);
        if (lane == 0u) {
            rescaling[subgroup] = u32(rescale);
        }
        // No score is near MASKED / 2, so the weights of a row that has seen none yet are 0.
        let base_score = max(reference, 0.5 * MASKED);
#repeat i POSITIONS / 4 * ROWS / WORKGROUP
        let p_$i = exp2(fma(s_$i, vec4<f32>(f), vec4<f32>(-base_score)));
        sum += (p_$i.x + p_$i.y) + (p_$i.z + p_$i.w);
        let to_$i = r * WEIGHT_STRIDE + 4u * (share + $iu * LANES);
        weights[to_$i]      = f16(p_$i.x);
        weights[to_$i + 1u] = f16(p_$i.y);
        weights[to_$i + 2u] = f16(p_$i.z);
        weights[to_$i + 3u] = f16(p_$i.w);
#end
        let rescaled = workgroupUniformLoad(&rescaling);
        var any_rescaled = 0u;
#repeat i SUBGROUPS_M * SUBGROUPS_N
        any_rescaled |= rescaled[$i];
#end
        if (any_rescaled != 0u) {
            // Matrices with a row that rose pass through memory, as many columns at a time as there is room for.
#repeat i FRAGMENTS
            let rose_$i = any_rose(sub_row + $iu * MAT_M);
#end
#repeat c v_CHUNKS
#repeat j v_CHUNK / MAT_N / SUBGROUPS_N
#repeat i FRAGMENTS
            if (rose_$i) {
                subgroupMatrixStore(&scores, (sub_row + $iu * MAT_M) * SCORE_STRIDE + sub_column * SCORE_COLUMNS + $ju * MAT_N % SCORE_COLUMNS, o_$c_$i_$j, false, SCORE_STRIDE);
            }
#end
#if ($j + 1) * SUBGROUPS_N * MAT_N / POSITIONS > $j * SUBGROUPS_N * MAT_N / POSITIONS || $j + 1 == v_CHUNK / MAT_N / SUBGROUPS_N
            workgroupBarrier();
            if (keep != 1.0) {
                for (var p = share; p < POSITIONS; p += LANES) {
                    scores[r * SCORE_STRIDE + p] *= keep;
                }
            }
            workgroupBarrier();
#repeat h $j + 1
#if $h * SUBGROUPS_N * MAT_N / POSITIONS == $j * SUBGROUPS_N * MAT_N / POSITIONS
#repeat i FRAGMENTS
            if (rose_$i) {
                o_$c_$i_$h = subgroupMatrixLoad<subgroup_matrix_result<f32, MAT_N, MAT_M>>(&scores, (sub_row + $iu * MAT_M) * SCORE_STRIDE + sub_column * SCORE_COLUMNS + $hu * MAT_N % SCORE_COLUMNS, false, SCORE_STRIDE);
            }
#end
#endif
#end
            workgroupBarrier();
#endif
#end
#end
        }

        // What comes next is on its way while products are made. What follows the last tile fetches that one again: no branch,
        // nothing out of bounds.
        let after      = next_visible(next, w, local);
        let after_base = select(next_base, after.tile * POSITIONS, after.found);
#repeat i v_LOADS
        v_$i = v_fetch(w.v, select(next_base, base, v_CHUNKS > 1u), 1u % v_CHUNKS, local + $iu * WORKGROUP);
#end
#if !ONE_TILE
#repeat i k_LOADS
        k_$i = k_fetch(w.k, select(after_base, next_base, k_CHUNKS > 1u), 1u % k_CHUNKS, local + $iu * WORKGROUP);
#end
#endif

        // Sums of V.
#repeat c v_CHUNKS
#if $c > 0
        workgroupBarrier();
#repeat i v_LOADS
        v_put(local + $iu * WORKGROUP, v_$i);
        v_$i = v_fetch(w.v, select(next_base, base, $cu + 1u < v_CHUNKS), ($cu + 1u) % v_CHUNKS, local + $iu * WORKGROUP);
#end
        workgroupBarrier();
#endif
        for (var p = 0u; p < POSITIONS; p += MAT_K) {
#repeat i FRAGMENTS
            let p_$i = subgroupMatrixLoad<subgroup_matrix_left<f16, MAT_K, MAT_M>>(&weights, (sub_row + $iu * MAT_M) * WEIGHT_STRIDE + p, false, WEIGHT_STRIDE);
#end
#repeat j v_CHUNK / MAT_N / SUBGROUPS_N
            let values_$j = subgroupMatrixLoad<subgroup_matrix_right<f16, MAT_N, MAT_K>>(&v_tile, p * v_STRIDE + sub_column * VALUE_COLUMNS + $ju * MAT_N, false, v_STRIDE);
#repeat i FRAGMENTS
            o_$c_$i_$j = subgroupMatrixMultiplyAccumulate(p_$i, values_$j, o_$c_$i_$j);
#end
#end
        }
#end

        here      = next;
        base      = next_base;
        next      = after;
        next_base = after_base;
    }

    for (var step = 1u; step < LANES; step *= 2u) {
        sum += subgroupShuffleXor(sum, step);
    }
    if (share == 0u) {
        scores[r * SCORE_STRIDE + ROW_MAX] = select(LN_2 * reference, MASKED, reference == MASKED);
        scores[r * SCORE_STRIDE + ROW_SUM] = sum;
    }
#repeat c v_CHUNKS
#repeat j v_CHUNK / MAT_N / SUBGROUPS_N
#repeat i FRAGMENTS
    subgroupMatrixStore(&scores, (sub_row + $iu * MAT_M) * SCORE_STRIDE + sub_column * SCORE_COLUMNS + $ju * MAT_N % SCORE_COLUMNS, o_$c_$i_$j, false, SCORE_STRIDE);
#end
#if ($j + 1) * SUBGROUPS_N * MAT_N / POSITIONS > $j * SUBGROUPS_N * MAT_N / POSITIONS || $j + 1 == v_CHUNK / MAT_N / SUBGROUPS_N
    workgroupBarrier();
    store_columns(w, $cu * v_CHUNK, $ju * MAT_N / SCORE_COLUMNS * SCORE_COLUMNS, local);
    workgroupBarrier();
#endif
#end
#end
}
