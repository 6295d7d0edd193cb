// FLASH_ATTN_EXT by subgroup matrices, for many query rows: how a workgroup's work is cut, and K and V in f16.
#pragma once

#include "ops/plan.h"

namespace ops {

// A workgroup's tile; rows is 0 where subgroup matrices do not apply.
struct attention_tile {
    uint32_t rows;
    uint32_t positions;                 // KV positions at a time
    uint32_t mat_m, mat_n, mat_k;       // the device's matrices
    uint32_t subgroups_m, subgroups_n;  // along rows, and along positions or columns of V
    uint32_t fragments;                 // matrices of rows that a subgroup has
    uint32_t threads;
    uint32_t k_chunk, k_chunks;         // columns of K that are in workgroup memory at a time, and how often
    uint32_t v_chunk, v_chunks;
    bool     queries_in_registers;
    bool     one_tile;  // K and V take turns in workgroup memory
};

// For `rows` rows, those of `tokens` query positions, of each KV head.
attention_tile attention_tile_for(const gpu::capabilities & caps, const ggml_tensor * k, const ggml_tensor * v, uint32_t rows, uint32_t tokens);

gpu::kernel_name attention_kernel(const attention_tile & tile, const ggml_tensor * k, const ggml_tensor * v);

// K or V as the kernel reads it, rows of f16 with strides that count 16 bytes: where it lies, or unpacked into scratch memory.
uint64_t unpacked_bytes(const ggml_tensor * t);  // 0: where it lies
step     unpack_step(const ggml_tensor * t, uint64_t scratch_at);

struct attention_rows {
    operand memory;
    shape   strides;
};
attention_rows bind_half_rows(const char * name, const ggml_tensor * t, uint64_t scratch_at);

}  // namespace ops
