// Mixtures of experts: what stands before and after the products with their weights, in one dispatch each.
#pragma once

#include "ops/fusion.h"

namespace ops {

// The gate: probabilities of the experts, those with the highest (ARGSORT, of which a view is read), and their weights.
fused experts_gate(const gpu::capabilities & caps, const ggml_cgraph * graph, int first);

// The sum of a token's results: MUL by the weights, then ADDs of views, one for each expert.
fused experts_sum(const gpu::capabilities & caps, const ggml_cgraph * graph, int first);

}  // namespace ops
