// Products with what follows them.
#pragma once

#include "ops/plan.h"
#include "ops/split.h"

namespace ops {

// glu = f(x src1) * (g src1): of `product`, MUL_MAT or MUL_MAT_ID, with the weights `x`, and the same with `g`. Where there are many
// columns it is unsupported: then what makes the products is faster alone.
plan plan_mul_mat_glu(const gpu::capabilities & caps, const ggml_tensor * product, const ggml_tensor * x, const ggml_tensor * g, const ggml_tensor * glu);

// Whether the kernels for few columns make the product, MUL_MAT or MUL_MAT_ID.
bool is_by_matvec(const gpu::capabilities & caps, const ggml_tensor * product);

// MUL_MAT_ID: lists the columns of each expert in `routes`, see matmul/route.wgsl.
step route_step(const ggml_tensor * dst, const table_window & experts, const operand & routes);

}  // namespace ops
