// MUL_MAT by subgroup matrices: src0 and src1 are brought to f16 in whole tiles, then multiplied with f32 sums.
#pragma once

#include "ops/plan.h"

namespace ops {

// How a workgroup's tile is cut; tile_m is 0 where subgroup matrices do not apply.
struct matrix_shape {
    uint32_t tile_m, tile_n, tile_k;
    uint32_t mat_m, mat_n, mat_k;            // the device's matrices
    uint32_t subgroups_m, subgroups_n;       // subgroups of the workgroup, each with
    uint32_t fragments_m, fragments_n;       // this many matrices
    uint32_t subgroup_size;
    uint64_t slab;                           // bytes of weights that are decoded at a time
};

matrix_shape matrix_shape_for(const gpu::capabilities & caps, const ggml_tensor * dst);
plan         plan_matrix_product(const matrix_shape & shape, const ggml_tensor * dst);

}  // namespace ops
