// Whether the kernels of a node's plan compile on a device, without memory to bind. For GGML_WEBGPU_CHECK_KERNELS: the
// conformance suite's "support" mode then compiles every variant its cases reach.
#pragma once

#include "ops/plan.h"

namespace graph {

gpu::status kernels_compile(gpu::device & device, const ops::plan & plan, const ggml_tensor * node);

}  // namespace graph
