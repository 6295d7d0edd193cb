// Where a tensor's bytes lie. The backend floor owns ggml's buffers; this is the part of them the graph floor needs.
#pragma once

#include "gpu/device.h"

#include <ggml-backend-impl.h>
#include <ggml.h>

namespace graph {

// ggml wants a pointer for every tensor; ours count from this address, so offset = data - base.
inline char * base_address() {
    return reinterpret_cast<char *>(uintptr_t(0x10000));
}

// The `context` of our ggml buffers begins with this.
struct buffer_memory {
    gpu::buffer_ref memory;
};

// ggml_backend_buffer_i::get_base of our buffers, and the mark by which they are known.
void * buffer_base(ggml_backend_buffer_t buffer);

// The GPU memory of a buffer, null if it is not ours or empty.
const gpu::buffer_ref & memory_of(ggml_backend_buffer_t buffer);

// The GPU memory of a tensor (of the tensor it is a view of), null if it lies elsewhere.
const gpu::buffer_ref & memory_of(const ggml_tensor * tensor);

// The two share bytes.
bool overlap(const ggml_tensor * a, const ggml_tensor * b);

// Bytes from the buffer's start to the tensor's first value.
inline uint64_t offset_of(const ggml_tensor * tensor) {
    return static_cast<uint64_t>(static_cast<const char *>(tensor->data) - base_address());
}

}  // namespace graph
