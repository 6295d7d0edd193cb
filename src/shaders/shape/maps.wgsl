// Rearrangements: MAP(p) is the position in src of the value at position p of dst, below 0 where there is none.
// Of src and dst a window may be bound, whose first values lie at src_first and dst_first; src's whole size is src_whole.
// `shift`, `kind` and `side` are the op's own.
fn whole() -> vec4<i32> {
    return vec4<i32>(params.src_whole);
}

fn shifted(p: vec4<i32>) -> vec4<i32> {
    return p - bitcast<vec4<i32>>(params.shift);
}

fn nowhere() -> vec4<i32> {
    return vec4<i32>(-1);
}

fn map_repeat(p: vec4<i32>) -> vec4<i32> {
    return p % whole();
}

// ROLL, and PAD around a torus.
fn map_wrapped(p: vec4<i32>) -> vec4<i32> {
    return (shifted(p) % whole() + whole()) % whole();
}

fn map_padded(p: vec4<i32>) -> vec4<i32> {
    return shifted(p);
}

// PAD_REFLECT_1D: the first and last value of a row are mirrors.
fn map_reflected(p: vec4<i32>) -> vec4<i32> {
    let x = abs(shifted(p).x);
    return vec4<i32>(min(x, 2 * (whole().x - 1) - x), p.yzw);
}

// TRI; kind is the ggml_tri_type: upper with diagonal, upper, lower with diagonal, lower.
fn map_triangle(p: vec4<i32>) -> vec4<i32> {
    let on_diagonal = p.x == p.y && (params.kind & 1u) == 0u;
    let above       = p.x > p.y;
    let inside      = select(!above && p.x != p.y, above, params.kind < 2u);
    return select(nowhere(), p, on_diagonal || inside);
}

fn map_diagonal(p: vec4<i32>) -> vec4<i32> {
    return select(nowhere(), vec4<i32>(p.x, 0, p.zw), p.x == p.y);
}

// WIN_PART: dst is [channel, x, y, window], windows of side x side, `kind` of them in a row; src is [channel, x, y].
fn map_to_windows(p: vec4<i32>) -> vec4<i32> {
    let across = i32(params.kind);
    return vec4<i32>(p.x, vec2<i32>(p.w % across, p.w / across) * i32(params.side) + p.yz, 0);
}

// WIN_UNPART, the way back.
fn map_from_windows(p: vec4<i32>) -> vec4<i32> {
    let which = p.yz / i32(params.side);
    return vec4<i32>(p.x, p.yz % i32(params.side), which.y * i32(params.kind) + which.x);
}

// GET_REL_POS: the row of src for each distance between a place (y) and another (z) of a line of `side`.
fn map_relative(p: vec4<i32>) -> vec4<i32> {
    return vec4<i32>(p.x, i32(params.side) - 1 - p.y + p.z, 0, 0);
}

fn src_unit(i: u32) -> u32 {
    let p = MAP(vec4<i32>(position(i / params.parts, params.dst_ne) + params.dst_first));
    if (any(p < vec4<i32>(0)) || any(p >= whole())) {
        return no_unit;
    }
    let in_window = vec4<u32>(p) - params.src_first;
    if (any(in_window >= params.src_ne)) {
        return other_window;
    }
    return at(in_window, params.src_nb) + i % params.parts;
}
