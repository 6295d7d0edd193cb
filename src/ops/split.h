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
};

using plan_function = plan (*)(const gpu::capabilities & caps, const ggml_tensor * dst);

// Some operand of the node is larger than a binding.
bool exceeds_binding(const gpu::capabilities & caps, const ggml_tensor * node);

plan plan_in_slices(const gpu::capabilities & caps, const ggml_tensor * node, split_rule rule, plan_function make);

// For GET_ROWS and SET_ROWS: the rows [begin, begin + n) of the whole table that the bound table holds, and the whole's
// number of rows, by which indices are checked.
struct row_window {
    uint32_t begin, n, whole;
};
row_window window_of(const ggml_tensor * node, const ggml_tensor * table);

}  // namespace ops
