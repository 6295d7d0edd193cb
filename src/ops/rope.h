// ROPE whose result is stored in a cache as well.
#pragma once

#include "ops/plan.h"

namespace ops {

// `set`: the SET_ROWS of rope's result, all heads of a token in one row.
plan plan_rope_set_rows(const gpu::capabilities & caps, const ggml_tensor * rope, const ggml_tensor * set);

}  // namespace ops
