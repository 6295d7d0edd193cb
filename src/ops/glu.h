// Gated linear units, for kernels that make them of other work's results: src/shaders/elementwise/functions.wgsl.
#pragma once

#include "ops/plan.h"

namespace ops {

// Null if the op is not known.
const char * glu_function(ggml_glu_op op);

// Defines OP(x, g) as the unit's function, with its parameters.
void define_glu(step & s, const ggml_tensor * glu);

}  // namespace ops
