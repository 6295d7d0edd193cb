// ggml's backend interface: a stream of graphs and transfers on a device. All streams of a device share its queue, so
// their work runs in the order it was submitted.
#include "backend/backend.h"

#include "ggml-webgpu.h"
#include "gpu/log.h"
#include "graph/executor.h"
#include "graph/memory.h"
#include "graph/order.h"

namespace backend {

struct backend_context {
    device_context & device;
    graph::executor  executor;
    gpu::status      unreported = {};  // met while synchronising, which returns nothing: the next graph fails
};

static backend_context & context_of(ggml_backend_t backend) {
    return *static_cast<backend_context *>(backend->context);
}

static const char * get_name(ggml_backend_t backend) {
    return context_of(backend).device.name();
}

static void free_backend(ggml_backend_t backend) {
    delete &context_of(backend);
    delete backend;
}

static void synchronize(ggml_backend_t backend) {
    backend_context & context = context_of(backend);
    const gpu::status done    = guarded([&] { return context.executor.synchronize(); });
    if (done.ok()) {
        return;
    }
    context.unreported = done;
    if (context.executor.device().health().ok()) {  // else the device has logged it
        gpu::log(gpu::log_level::error, "%s: %s", context.device.name(), done.text().c_str());
    }
}

static enum ggml_status graph_compute(ggml_backend_t backend, ggml_cgraph * graph) {
    backend_context & context = context_of(backend);
    gpu::status       outcome = std::exchange(context.unreported, {});
    if (outcome.ok()) {
        outcome = context.device.health();
    }
    if (outcome.ok()) {
        outcome = guarded([&] { return context.executor.compute(graph); });
    }
    if (outcome.ok()) {
        return GGML_STATUS_SUCCESS;
    }
    gpu::log(gpu::log_level::error, "%s: graph not computed: %s", context.device.name(), outcome.text().c_str());
    return outcome.is_no_memory() ? GGML_STATUS_ALLOC_FAILED : GGML_STATUS_FAILED;
}

// Called before the graph's nodes get memory.
static void graph_optimize(ggml_backend_t backend, ggml_cgraph * graph, ggml_backend_graph_optimize_params * params) {
    backend_context & context = context_of(backend);
    if (!context.device.fusions().enabled()) {
        return;
    }
    const gpu::status done = guarded([&] {
        graph::order_for_side_by_side(graph, [=](ggml_tensor * tensor, ggml_tensor * until) {
            if (params != nullptr) {
                params->add_alloc_dep(params->user_data, tensor, until);
            }
        });
        return gpu::status();
    });
    if (!done.ok()) {
        gpu::log(gpu::log_level::warn, "%s: the graph stays in its order: %s", context.device.name(), done.text().c_str());
    }
}

// `from` may compute on another device: its result must be there before the host can read it.
static bool copy_between(ggml_backend_t from, ggml_backend_t, const ggml_tensor * src, ggml_tensor * dst) {
    if (graph::memory_of(src) == nullptr) {
        ggml_backend_synchronize(from);
    }
    return copy_tensor(src, dst);
}

// Writes copy the host's data before they return. Reads wait: there is nothing of this stream to overtake.
static const ggml_backend_i backend_interface = {
    .get_name            = get_name,
    .free                = free_backend,
    .set_tensor_async    = [](ggml_backend_t, ggml_tensor * t, const void * data, size_t offset, size_t size) {
        set_tensor(t, data, offset, size);
    },
    .get_tensor_async    = [](ggml_backend_t backend, const ggml_tensor * t, void * data, size_t offset, size_t size) {
        backend_context & context = context_of(backend);
        context.device.expect(guarded([&] { return context.executor.read(t, data, offset, size); }), "reading a tensor");
    },
    .set_tensor_2d_async = [](ggml_backend_t, ggml_tensor * t, const void * data, size_t offset, size_t size, size_t n, size_t tensor_stride,
                              size_t data_stride) { set_tensor_2d(t, data, offset, size, n, tensor_stride, data_stride); },
    .get_tensor_2d_async = [](ggml_backend_t, const ggml_tensor * t, void * data, size_t offset, size_t size, size_t n, size_t tensor_stride,
                              size_t data_stride) { get_tensor_2d(t, data, offset, size, n, tensor_stride, data_stride); },
    .cpy_tensor_async    = copy_between,
    .synchronize         = synchronize,
    .graph_plan_create   = nullptr,
    .graph_plan_free     = nullptr,
    .graph_plan_update   = nullptr,
    .graph_plan_compute  = nullptr,
    .graph_compute       = graph_compute,
    .event_record        = event_record,
    .event_wait          = event_wait,
    .graph_optimize      = graph_optimize,
};

// Names this backend among all others, in any process.
static ggml_guid_t guid() {
    static ggml_guid id = { 0x8e, 0x4b, 0x1c, 0x6f, 0x52, 0xd7, 0x4a, 0x93, 0xa1, 0x0e, 0x3d, 0x77, 0xc9, 0x24, 0xb8, 0x5a };
    return &id;
}

ggml_backend_t init_backend(ggml_backend_dev_t device, const char *) {
    device_context &  context = context_of(device);
    ggml_backend_t    backend = nullptr;
    const gpu::status made    = guarded([&] {
        auto gpu = context.open();
        if (!gpu.ok()) {
            return gpu.why();
        }
        auto stream = std::unique_ptr<backend_context>(new backend_context{ context, graph::executor(*gpu, context.fusions()) });
        backend     = new ggml_backend{ .guid = guid(), .iface = backend_interface, .device = device, .context = stream.release() };
        return gpu::status();
    });
    if (!made.ok()) {
        gpu::log(gpu::log_level::error, "%s: %s", context.name(), made.text().c_str());
    }
    return backend;
}

}  // namespace backend

bool ggml_backend_is_webgpu(ggml_backend_t backend) {
    return backend != nullptr && ggml_guid_matches(backend->guid, backend::guid());
}
