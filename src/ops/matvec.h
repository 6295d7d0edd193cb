// Products with few columns, as when a model writes a token at a time. Reading the weights is nearly all of the work.
#pragma once

#include "ops/plan.h"

namespace ops {

// The largest number of columns that MUL_MAT brings here.
inline constexpr uint32_t matvec_columns = 8;

// MUL_MAT with at most matvec_columns columns of src1.
plan plan_matvec(const gpu::capabilities & caps, const ggml_tensor * dst);

// MUL_MAT_ID, each (slot, token) pair a column by itself.
plan plan_matvec_id(const gpu::capabilities & caps, const ggml_tensor * dst);

}  // namespace ops
