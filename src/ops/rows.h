// Kernels that find rows of a table by index.
#pragma once

#include "ops/split.h"

namespace ops {

// What shaders/rows/index.wgsl reads, for rows of the table's bound part `window` in the plan of `node`.
void add_table(step & s, const ggml_tensor * node, const table_window & window, const ggml_tensor * index);

}  // namespace ops
