// UPSCALE: each plane of dst is a plane of src in another size. The formulas are those of ggml's CPU backend; a value at i of
// dst lies at (i + centre) / scale - centre of src. Windows of both may be bound: a value beyond that of src counts as 0, and
// what windows of src after the first give is added.
#include "lib/grid.wgsl"
#include "codecs/parts/exact.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst

const mode_nearest  = 0u; // ggml_scale_mode
const mode_bilinear = 1u;

// The value of src at column x and row y, or next to it at the edge; `plane` is the index of its first value.
fn pixel(x: i32, y: i32, plane: u32) -> f32 {
    let inside = clamp(vec2<i32>(x, y), vec2<i32>(0), vec2<i32>(params.src_whole.xy) - 1);
    let bound  = vec2<u32>(inside) - params.src_first.xy;
    if (any(bound >= params.src_ne.xy)) {
        return 0.0;
    }
    return src_value(plane + bound.x * params.src_nb.x + bound.y * params.src_nb.y, 0u);
}

fn bilinear(at: vec2<f32>, plane: u32) -> f32 {
    let low  = floor(at);
    let x    = i32(low.x);
    let y    = i32(low.y);
    let d    = clamp(at - max(low, vec2<f32>(0.0)), vec2<f32>(0.0), vec2<f32>(1.0));
    let rest = 1.0 - d;
    return pixel(x, y, plane) * rest.x * rest.y + pixel(x + 1, y, plane) * d.x * rest.y +
           pixel(x, y + 1, plane) * rest.x * d.y + pixel(x + 1, y + 1, plane) * d.x * d.y;
}

// Weights of four neighbours, the second and third on both sides of the value: cubic convolution with a = -0.75.
fn cubic(p: vec4<f32>, d: f32) -> f32 {
    let a     = -0.75;
    let inner = vec2<f32>(d, 1.0 - d);
    let outer = inner + 1.0;
    let near  = ((a + 2.0) * inner - (a + 3.0)) * inner * inner + 1.0;
    let far   = ((a * outer - 5.0 * a) * outer + 8.0 * a) * outer - 4.0 * a;
    return dot(p, vec4<f32>(far.x, near.x, near.y, far.y));
}

fn cubic_row(x: i32, y: i32, d: f32, plane: u32) -> f32 {
    return cubic(vec4<f32>(pixel(x - 1, y, plane), pixel(x, y, plane), pixel(x + 1, y, plane), pixel(x + 2, y, plane)), d);
}

fn bicubic(at: vec2<f32>, plane: u32) -> f32 {
    let low = floor(at);
    let x   = i32(low.x);
    let y   = i32(low.y);
    let d   = at - low;
    return cubic(vec4<f32>(cubic_row(x, y - 1, d.x, plane), cubic_row(x, y, d.x, plane), cubic_row(x, y + 1, d.x, plane),
                           cubic_row(x, y + 2, d.x, plane)), d.y);
}

// The mean of the values around, weighted by a triangle as wide as a value of the smaller image.
fn antialiased(at: vec2<f32>, scale: vec2<f32>, plane: u32) -> f32 {
    let support = max(vec2<f32>(1.0), 1.0 / scale);
    let inverse = 1.0 / support;
    let begin   = max(vec2<i32>(at - support + params.centre), vec2<i32>(0));
    let end     = min(vec2<i32>(at + support + params.centre), vec2<i32>(params.src_whole.xy));
    var sum     = 0.0;
    var weights = 0.0;
    for (var y = begin.y; y < end.y; y++) {
        let weight_y = max(1.0 - abs((f32(y) - at.y + params.centre) * inverse.y), 0.0);
        for (var x = begin.x; x < end.x; x++) {
            let weight = weight_y * max(1.0 - abs((f32(x) - at.x + params.centre) * inverse.x), 0.0);
            if (weight > 0.0) {
                sum     += weight * pixel(x, y, plane);
                weights += weight;
            }
        }
    }
    return select(sum, sum / weights, weights > 0.0);
}

// The value at p of dst.
fn resized(p: vec4<f32>, plane: u32) -> f32 {
    let scale = bitcast<vec4<f32>>(params.scale);
    if (params.mode == mode_nearest) {
        return pixel(i32(quotient(p.x, scale.x)), i32(quotient(p.y, scale.y)), plane);
    }
    let centre = vec2<f32>(quotient(p.x + params.centre, scale.x), quotient(p.y + params.centre, scale.y));
    if (params.mode == mode_bilinear && params.antialias != 0u) {
        return antialiased(centre, scale.xy, plane);
    }
    if (params.mode == mode_bilinear) {
        return bilinear(centre - params.centre, plane);
    }
    return bicubic(centre - params.centre, plane);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group_index(wid, nwg) * WORKGROUP + local;
    if (i >= params.count) {
        return;
    }
    let scale = bitcast<vec4<f32>>(params.scale);
    let pos   = position(i, params.dst_ne);
    let p     = vec4<f32>(pos + params.dst_first);
    let outer = vec2<u32>(u32(quotient(p.z, scale.z)), u32(quotient(p.w, scale.w))) - params.src_first.zw;
    let to    = at(pos, params.dst_nb);
    var value = 0.0;
    if (all(outer < params.src_ne.zw)) {
        value = resized(p, outer.x * params.src_nb.z + outer.y * params.src_nb.w);
    }
    if (params.add != 0u) {
        value += dst_value(to, 0u);
    }
    dst_store(to, value);
}
