// MUL_MAT and MUL_MAT_ID by subgroup matrices: src0 and src1 are brought to f16 in whole tiles, then multiplied with f32 sums.
#pragma once

#include "ops/plan.h"
#include "ops/split.h"

namespace ops {

// How the work is cut; tile_m is 0 where subgroup matrices do not apply.
struct matrix_shape {
    uint32_t tile_m, tile_n, tile_k;
    uint32_t mat_m, mat_n, mat_k;            // the device's matrices
    uint32_t subgroups_m, subgroups_n;       // subgroups of the workgroup, each with
    uint32_t fragments_m, fragments_n;       // this many matrices
    uint32_t threads;
    uint32_t groups;                         // workgroups that fill the device
    uint32_t share;                          // tiles of k that a split of k has, at least
    uint32_t parts;                          // of a row in scratch memory: one, or three for the digits of f32
    uint64_t k;                              // halves of that row
    uint64_t slab;                           // bytes of weights that are decoded at a time
};

// The largest square f16 to f32 configuration, or one that is not square; null if there is none.
const gpu::matrix_config * best_matrix(const gpu::capabilities & caps);

// Matrices in f16: `rows` of `stride` halves each.
struct packed {
    uint64_t rows, stride, matrices;
    uint64_t bytes() const { return rows * stride * matrices * 2; }
};

// Decodes the rows of `src` into scratch memory, zeros where `to` is larger.
step pack_rows(const ggml_tensor * src, const packed & to, uint64_t scratch_at);

matrix_shape matrix_shape_for(const gpu::capabilities & caps, const ggml_tensor * dst);
plan         plan_matrix_product(const matrix_shape & shape, const ggml_tensor * dst);

// The same for MUL_MAT_ID: tiles have columns of one expert.
matrix_shape matrix_shape_by_expert(const gpu::capabilities & caps, const ggml_tensor * dst);
plan         plan_matrix_product_by_expert(const matrix_shape & shape, const ggml_tensor * dst, const table_window & experts);

}  // namespace ops
