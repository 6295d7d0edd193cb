// Columns of activations quantised to bytes, for products of quantised weights: matmul/columns.wgsl. Products of the same tensor
// share them, and the op that makes the tensor can quantise it on the way.
#pragma once

#include "ops/plan.h"

namespace ops {

static constexpr uint32_t unit_values = 64;  // of the integer kernels, see codecs/parts/packed.wgsl

struct packed_columns {
    uint32_t units;       // of a column
    uint32_t page_units;  // and of a page
    uint32_t block;       // columns that lie side by side: those of a workgroup
    uint32_t blocks;
    bool     spread;

    uint32_t pages() const;
    uint64_t bytes() const;
};

packed_columns columns_of(const ggml_tensor * src1, uint32_t block, bool spread);

// The operand `src1` for a kernel that reads them.
void bind_columns(step & s, const packed_columns & columns);

step quantise_step(const gpu::capabilities & caps, const ggml_tensor * src1, const packed_columns & to);
// The step is a quantise_step of `src1`.
bool quantises_tensor(const step & s, const ggml_tensor * src1);

// `from` makes a contiguous f32 `dst` whose values, in order, are those of the tensor that `quantise` (a quantise_step) reads. Its
// kernel (of a step that says so: step.quantises) then quantises as well: it calls quantise_quads of matmul/quantise_quads.wgsl under
// `#if QUANTISES`, with the operand `columns`. False, and nothing changed, if the kernel's threads cannot share blocks of values.
bool quantise_within(step & from, const gpu::capabilities & caps, const ggml_tensor * dst, const step & quantise);

}  // namespace ops
