#include "graph/memory.h"

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

}  // namespace graph
