// How the product kernels read: four neighbouring values of k from a row of src0 (weights, any type) and from a
// column of src1 (activations). QUADS_A and QUADS_B say that four values can be loaded at once; else one by one.
#include "codecs/{src0_TYPE}.wgsl" as src0
#include "codecs/{src1_TYPE}.wgsl" as src1
#include "matmul/row_quad.wgsl" as src0

fn load_b(column: u32, kq: u32) -> vec4<f32> {
#if QUADS_B
    return src1_quad(column + 4u * kq, 0u);
#else
    var v = vec4<f32>();
    for (var i = 0u; i < 4u; i++) {
        if (4u * kq + i < params.k) {
            v[i] = src1_value(column + (4u * kq + i) * params.src1_nb.x, 0u);
        }
    }
    return v;
#endif
}
