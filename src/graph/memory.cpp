#include "graph/memory.h"

#include "ops/plan.h"

namespace graph {

void * buffer_base(ggml_backend_buffer_t) {
    return base_address();
}

const gpu::buffer_ref & memory_of(ggml_backend_buffer_t buffer) {
    static const gpu::buffer_ref none;
    if (buffer == nullptr || buffer->iface.get_base != buffer_base || buffer->context == nullptr) {
        return none;
    }
    return static_cast<const buffer_memory *>(buffer->context)->memory;
}

const gpu::buffer_ref & memory_of(const ggml_tensor * tensor) {
    return memory_of(tensor->view_src != nullptr ? tensor->view_src->buffer : tensor->buffer);
}

bool overlap(const ggml_tensor * a, const ggml_tensor * b) {
    const uint64_t a_begin = offset_of(a), b_begin = offset_of(b);
    return memory_of(a) == memory_of(b) && a_begin < b_begin + ops::span(b) && b_begin < a_begin + ops::span(a);
}

}  // namespace graph
