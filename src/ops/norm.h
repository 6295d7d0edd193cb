// RMS_NORM with what stands before and after it.
#pragma once

#include "ops/plan.h"

namespace ops {

struct norm_fusion {
    const ggml_tensor * weight = nullptr;  // multiplies the result, repeated to its shape
    const ggml_tensor * addend = nullptr;  // added to the source before
    const ggml_tensor * sum    = nullptr;  // where that sum is kept
};

plan plan_rms_norm_fused(const gpu::capabilities & caps, const ggml_tensor * norm, const norm_fusion & with, const ggml_tensor * dst);

}  // namespace ops
