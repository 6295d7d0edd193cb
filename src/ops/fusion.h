// Nodes of a graph that one plan computes together. Each pattern is a line of a table; what does not match is planned node
// by node. GGML_WEBGPU_DISABLE=fusion turns all of them off.
#pragma once

#include "ops/plan.h"

struct ggml_cgraph;

namespace ops {

// The plan of the nodes [first, first + nodes), `nodes` being 0 if no pattern begins at `first`.
struct fused {
    int    nodes = 0;
    plan   steps;
    size_t pattern = 0;
};

inline constexpr size_t fusion_patterns = 6;
const char *            fusion_name(size_t pattern);  // "RMS_NORM+MUL"

fused plan_fused(const gpu::capabilities & caps, const ggml_cgraph * graph, int first);

// Where a product soon after `last` reads the result of this plan of nodes up to `last`: lets the plan quantise it on the way.
void quantise_for_product(const gpu::capabilities & caps, const ggml_cgraph * graph, int last, plan & p);

}  // namespace ops
