// Values that move without a change: tensors as arrays of units, the largest of 16, 4, 2 or 1 bytes that all sizes, strides
// and starts are multiples of.
#pragma once

#include "ops/plan.h"

namespace ops {

// The unit of the tensors. By rows: rows are contiguous and move as wholes, so that a unit may hold several values; `step`
// is one more number of bytes to be a multiple of. Else: a unit is at most one element.
uint32_t unit_by_rows(std::initializer_list<const ggml_tensor *> tensors, uint64_t step = 16);
uint32_t unit_by_elements(std::initializer_list<const ggml_tensor *> tensors);

// Sizes of dimension 0 in units, the others as they are.
shape sizes_in_units(const ggml_tensor * t, uint32_t unit, bool by_rows);
shape strides_in_units(const ggml_tensor * t, uint32_t unit, bool by_rows);

// A tensor whose values are nothing but bits.
operand bind_bits(const char * name, const ggml_tensor * t, uint32_t unit);

// dst = units of src, which `source` picks: a file that defines src_unit(i), see src/shaders/copy/units.wgsl. The operands
// src and dst are bound; sizes and strides of both are parameters.
step unit_step(const char * source, const ggml_tensor * src, const ggml_tensor * dst, uint32_t unit, bool by_rows);

}  // namespace ops
