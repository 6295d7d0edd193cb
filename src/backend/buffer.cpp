// ggml's buffer type and buffer interfaces: GPU memory, and the ways of its bytes to and from the host.
#include "backend/backend.h"
#include "gpu/log.h"
#include "graph/memory.h"

#include <algorithm>
#include <vector>

namespace backend {

struct buffer_context : graph::buffer_memory {
    device_context & device;
};

static ggml_backend_buffer_t buffer_of(const ggml_tensor * tensor) {
    return tensor->view_src != nullptr ? tensor->view_src->buffer : tensor->buffer;
}

static device_context & device_of(const ggml_tensor * tensor) {
    return static_cast<buffer_context *>(buffer_of(tensor)->context)->device;
}

//
// tensors
//

void set_tensor(ggml_tensor * tensor, const void * data, size_t offset, size_t size) {
    const gpu::buffer_ref & memory = graph::memory_of(tensor);
    device_of(tensor).expect(guarded([&] { return memory->owner().write(memory, graph::offset_of(tensor) + offset, data, size); }),
                             "writing a tensor");
}

void get_tensor(const ggml_tensor * tensor, void * data, size_t offset, size_t size) {
    const gpu::buffer_ref & memory = graph::memory_of(tensor);
    device_of(tensor).expect(guarded([&] { return memory->owner().read(memory, graph::offset_of(tensor) + offset, data, size); }),
                             "reading a tensor");
}

void set_tensor_2d(ggml_tensor * tensor, const void * data, size_t offset, size_t size, size_t n, size_t tensor_stride, size_t data_stride) {
    const auto * rows = static_cast<const char *>(data);
    if (tensor_stride == size && data_stride == size) {
        set_tensor(tensor, data, offset, n * size);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        set_tensor(tensor, rows + i * data_stride, offset + i * tensor_stride, size);
    }
}

void get_tensor_2d(const ggml_tensor * tensor, void * data, size_t offset, size_t size, size_t n, size_t tensor_stride, size_t data_stride) {
    if (tensor_stride == size && data_stride == size) {
        get_tensor(tensor, data, offset, n * size);
        return;
    }
    // A round trip costs more than the bytes between the rows, so many rows are read at once.
    static constexpr size_t chunk = 4 << 20;
    const size_t            batch = std::max<size_t>(1, chunk / std::max<size_t>(tensor_stride, 1));
    const gpu::status       read  = guarded([&] {
        std::vector<char> rows;
        for (size_t first = 0; first < n; first += batch) {
            const size_t count = std::min(batch, n - first);
            rows.resize((count - 1) * tensor_stride + size);
            get_tensor(tensor, rows.data(), offset + first * tensor_stride, rows.size());
            for (size_t i = 0; i < count; i++) {
                std::copy_n(rows.data() + i * tensor_stride, size, static_cast<char *>(data) + (first + i) * data_stride);
            }
        }
        return gpu::status();
    });
    device_of(tensor).expect(read, "reading a tensor");
}

bool copy_tensor(const ggml_tensor * src, ggml_tensor * dst) {
    const gpu::buffer_ref & to   = graph::memory_of(dst);
    const gpu::buffer_ref & from = graph::memory_of(src);
    const size_t            size = ggml_nbytes(src);
    if (to == nullptr || size == 0) {
        return size == 0;
    }
    if (from == nullptr) {
        if (!ggml_backend_buffer_is_host(buffer_of(src))) {
            return false;
        }
        set_tensor(dst, src->data, 0, size);
        return true;
    }
    if (&from->owner() != &to->owner()) {
        return false;
    }
    const uint64_t at = graph::offset_of(src), target = graph::offset_of(dst);
    if (from == to && at < target + size && target < at + size) {
        return at == target;
    }
    device_of(dst).expect(guarded([&] { return to->owner().copy(from, at, to, target, size); }), "copying a tensor");
    return true;
}

//
// buffers
//

static buffer_context & context_of(ggml_backend_buffer_t buffer) {
    return *static_cast<buffer_context *>(buffer->context);
}

static void free_buffer(ggml_backend_buffer_t buffer) {
    delete &context_of(buffer);
}

static void clear(ggml_backend_buffer_t buffer, uint8_t value) {
    buffer_context & context = context_of(buffer);
    context.device.expect(guarded([&] { return context.memory->owner().fill(context.memory, 0, value, buffer->size); }), "clearing a buffer");
}

static void memset_tensor(ggml_backend_buffer_t buffer, ggml_tensor * tensor, uint8_t value, size_t offset, size_t size) {
    buffer_context & context = context_of(buffer);
    context.device.expect(guarded([&] {
        return context.memory->owner().fill(context.memory, graph::offset_of(tensor) + offset, value, size);
    }), "filling a tensor");
}

static const ggml_backend_buffer_i buffer_interface = {
    .free_buffer   = free_buffer,
    .get_base      = graph::buffer_base,
    .init_tensor   = nullptr,
    .memset_tensor = memset_tensor,
    .set_tensor    = [](ggml_backend_buffer_t, ggml_tensor * t, const void * data, size_t offset, size_t size) {
        set_tensor(t, data, offset, size);
    },
    .get_tensor    = [](ggml_backend_buffer_t, const ggml_tensor * t, void * data, size_t offset, size_t size) {
        get_tensor(t, data, offset, size);
    },
    .set_tensor_2d = [](ggml_backend_buffer_t, ggml_tensor * t, const void * data, size_t offset, size_t size, size_t n, size_t tensor_stride,
                        size_t data_stride) { set_tensor_2d(t, data, offset, size, n, tensor_stride, data_stride); },
    .get_tensor_2d = [](ggml_backend_buffer_t, const ggml_tensor * t, void * data, size_t offset, size_t size, size_t n, size_t tensor_stride,
                        size_t data_stride) { get_tensor_2d(t, data, offset, size, n, tensor_stride, data_stride); },
    .cpy_tensor    = [](ggml_backend_buffer_t, const ggml_tensor * src, ggml_tensor * dst) { return copy_tensor(src, dst); },
    .clear         = clear,
    .reset         = nullptr,
};

//
// buffer type
//

static device_context & context_of(ggml_backend_buffer_type_t type) {
    return *static_cast<device_context *>(type->context);
}

static const char * get_name(ggml_backend_buffer_type_t type) {
    return context_of(type).name();
}

static ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, size_t size) {
    device_context &      device = context_of(type);
    ggml_backend_buffer_t buffer = nullptr;
    const gpu::status     made   = guarded([&] {
        auto gpu = device.open();
        if (!gpu.ok()) {
            return gpu.why();
        }
        auto memory = (*gpu)->create_buffer(size, "ggml buffer");
        if (!memory.ok()) {
            return memory.why();
        }
        buffer = ggml_backend_buffer_init(type, buffer_interface, new buffer_context{ { *memory }, device }, size);
        return gpu::status();
    });
    if (!made.ok()) {
        gpu::log(gpu::log_level::error, "%s: %s", device.name(), made.text().c_str());
    }
    return buffer;
}

// Kernels load 16 bytes at once, so tensors start on such boundaries and own the bytes up to the next. WebGPU's
// alignment lets them be bound without an offset.
static size_t get_alignment(ggml_backend_buffer_type_t type) {
    return std::max<size_t>(context_of(type).caps().storage_alignment, 16);
}

// Not limited by what one binding can reach: what is larger is computed in slices.
static size_t get_max_size(ggml_backend_buffer_type_t type) {
    return context_of(type).caps().max_buffer / gpu::buffer::padding * gpu::buffer::padding;
}

const ggml_backend_buffer_type_i buffer_type_interface = {
    .get_name         = get_name,
    .alloc_buffer     = alloc_buffer,
#if GGML_BACKEND_API_VERSION >= 3
    .alloc_buffer_n   = nullptr,
#endif
    .get_alignment    = get_alignment,
    .get_max_size     = get_max_size,
    .get_alloc_size   = nullptr,
#if GGML_BACKEND_API_VERSION >= 3
    .get_alloc_size_n = nullptr,
#endif
    .is_host          = nullptr,
};

}  // namespace backend
