// Kernels that walk along rows take four values at a time where the op floor set QUADS, else one: a UNIT.
#if QUADS
#define UNIT vec4<f32>
#define UNIT_BITS vec4<u32>
const UNIT_VALUES = 4u;
fn sum_of(v: UNIT) -> f32 {
    return (v.x + v.y) + (v.z + v.w);
}
fn largest_of(v: UNIT) -> f32 {
    return max(max(v.x, v.y), max(v.z, v.w));
}
#else
#define UNIT f32
#define UNIT_BITS u32
const UNIT_VALUES = 1u;
fn sum_of(v: UNIT) -> f32 {
    return v;
}
fn largest_of(v: UNIT) -> f32 {
    return v;
}
#endif

#if SLAB
// Value `i` of a row that is not evenly spaced: a slab of sizes slab_ne.
fn along_row(i: u32, nb: vec4<u32>) -> u32 {
    return at(position(i, params.slab_ne), nb);
}
#else
fn along_row(i: u32, nb: vec4<u32>) -> u32 {
    return i * nb.x;
}
#endif
