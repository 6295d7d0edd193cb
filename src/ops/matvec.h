// Products with few columns, as when a model writes a token at a time. Reading the weights is nearly all of the work.
#pragma once

#include "ops/plan.h"

namespace ops {

// Columns for which a workgroup reads its weights once.
inline constexpr uint32_t matvec_columns = 8;

// MUL_MAT with few columns of src1.
plan plan_matvec(const gpu::capabilities & caps, const ggml_tensor * dst);

// MUL_MAT_ID, each (slot, token) pair a column by itself.
plan plan_matvec_id(const gpu::capabilities & caps, const ggml_tensor * dst);

// The gated linear unit of two such products, of the weights `x` and `g`: glu = f(x src1) * (g src1). They have one type and layout; what
// else a product has is that of `product`. It needs subgroups.
plan plan_matvec_glu(const gpu::capabilities & caps, const ggml_tensor * product, const ggml_tensor * x, const ggml_tensor * g, const ggml_tensor * glu);

// Binds quantised weights as "src0" for kernels that read them by the integer view of their codec (codecs/parts/packed.wgsl), in
// units of 64 values: params units, k_blocks. False, and nothing done, if the type has no such view.
bool bind_packed_weights(step & s, const ggml_tensor * weights);

}  // namespace ops
