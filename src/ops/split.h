// Tensors larger than one storage binding: the node is cut into nodes of the same op over parts of its tensors, each of
// which fits. Kernels and plan functions never see the difference.
#pragma once

#include "ops/plan.h"

namespace ops {

enum class split_rule {
    none,     // cannot be cut
    outer,    // along a dimension above the first that all operands share or are broadcast over
    any,      // as outer, and along the first dimension: values are independent of their neighbours
    product,  // MUL_MAT: rows of src0, columns of src1, batches
    lookup,   // GET_ROWS: src0 is bound in windows of rows, and rows outside a window are passed over
    scatter,  // SET_ROWS: the same for dst
    copy,     // CPY: as any, and one of two different shapes may have to change
    routed,   // MUL_MAT_ID: tokens, then windows of experts
    planes,   // as outer, but not along the second dimension
    heads,    // SOFT_MAX: as outer, and a part knows which heads (third dimension) it has
    tokens,   // ROPE: as outer, with the positions (src1) of the part's tokens (third dimension)
    channels, // GROUP_NORM: as planes, and along the third dimension between groups of channels
    results,  // ARGMAX: values of dst, rows of src0
    mean,     // CROSS_ENTROPY_LOSS_BACK: as outer, and a part knows the number of rows of the whole
    listed,   // along the dimensions listed for the op in split.cpp
    own,      // the plan function does it, with parts_that_fit or part_of
};

using plan_function = plan (*)(const gpu::capabilities & caps, const ggml_tensor * dst);

// A tensor, null included, that one binding can hold.
bool fits(const gpu::capabilities & caps, const ggml_tensor * t);

// Some operand of the node is larger than a binding.
bool exceeds_binding(const gpu::capabilities & caps, const ggml_tensor * node);

plan plan_in_slices(const gpu::capabilities & caps, const ggml_tensor * node, split_rule rule, plan_function make);

// For GET_ROWS, SET_ROWS (rows) and MUL_MAT_ID (experts): the entries [begin, begin + n) of the whole table that the bound
// table holds along its dimension `d`, and the whole's number of entries, by which indices are checked.
struct table_window {
    uint32_t begin, n, whole;
};
table_window window_of(const ggml_tensor * node, const ggml_tensor * table, int d = 1);
// The same for SOFT_MAX and its heads.
table_window heads_of(const ggml_tensor * node);
// The rows of the tensor that the node, cut by split_rule::mean, is a part of.
uint32_t rows_of_whole(const ggml_tensor * node);

// Part [begin, end) of dimension `d`. It lives in `keep`.
ggml_tensor * part_of(const ggml_tensor * t, int d, int64_t begin, int64_t end, std::list<ggml_tensor> & keep);

// Part of a tensor, and the position of its first value in the whole.
struct window {
    const ggml_tensor * tensor;
    shape               first;
};
// The tensor, or windows that each fit a binding; none if that cannot be. Their tensors live in `keep`.
std::vector<window> windows_that_fit(const gpu::capabilities & caps, const ggml_tensor * t, std::list<ggml_tensor> & keep);
// The same part of another tensor of the whole's shape.
const ggml_tensor * matching_part(const ggml_tensor * t, const window & of, std::list<ggml_tensor> & keep);

// The tensor, or parts of it that each fit a binding, in order; equal shapes and strides are cut alike. The parts live in
// `keep`.
std::vector<const ggml_tensor *> parts_that_fit(const gpu::capabilities & caps, const ggml_tensor * t, std::list<ggml_tensor> & keep);

}  // namespace ops
