// Kernels that give each row (ne[0] values) a workgroup of its own.
#pragma once

#include "ops/plan.h"

#include <algorithm>

namespace ops {

inline bool all_float(std::initializer_list<const ggml_tensor *> tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [](const ggml_tensor * t) { return is_float(t->type); });
}

// Threads for a row of `units` loads: a subgroup if that leaves each a few.
inline uint32_t row_threads(uint64_t units) {
    return units <= 64 ? 32 : units <= 256 ? 64 : 256;
}

// One workgroup for each row of `t`. `in_quads`: a load takes four values (shaders/lib/unit.wgsl).
inline step over_rows(const char * shader, const ggml_tensor * t, bool in_quads) {
    const auto [ne0, ne1, ne2, ne3] = ne(t);
    const uint32_t units            = in_quads ? ne0 / 4 : ne0;

    step s;
    s.kernel = gpu::kernel_name(shader).threads(row_threads(units));
    if (in_quads) {
        s.kernel.define("QUADS");
    }
    s.params.add("units", units).add("rows", shape{ 1, ne1, ne2, ne3 });
    s.groups = rows(t);
    return s;
}

// Bytes of scratch for `n` words.
inline uint64_t scratch_words(uint64_t n) {
    return (n * sizeof(uint32_t) + 255) / 256 * 256;
}

// dst = scale * sum of the first `values` floats of scratch.
step sum_of_scratch(uint32_t values, const ggml_tensor * dst, float scale);

}  // namespace ops
