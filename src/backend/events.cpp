// Events: a point in a device's queue.
#include "backend/backend.h"
#include "gpu/log.h"

namespace backend {

static uint64_t & mark_of(ggml_backend_event_t event) {
    return *static_cast<uint64_t *>(event->context);
}

ggml_backend_event_t event_new(ggml_backend_dev_t device) {
    ggml_backend_event_t event = nullptr;
    const gpu::status    made  = guarded([&] {
        auto mark = std::make_unique<uint64_t>(0);
        event     = new ggml_backend_event{ .device = device, .context = mark.release() };
        return gpu::status();
    });
    if (!made.ok()) {
        gpu::log(gpu::log_level::error, "%s: no event: %s", context_of(device).name(), made.text().c_str());
    }
    return event;
}

void event_free(ggml_backend_dev_t, ggml_backend_event_t event) {
    delete &mark_of(event);
    delete event;
}

void event_record(ggml_backend_t backend, ggml_backend_event_t event) {
    auto gpu = context_of(backend->device).open();
    if (gpu.ok()) {
        mark_of(event) = (*gpu)->submitted();
    }
}

void event_synchronize(ggml_backend_dev_t device, ggml_backend_event_t event) {
    device_context & context = context_of(device);
    context.expect(guarded([&] {
        auto gpu = context.open();
        return gpu.ok() ? (*gpu)->wait(mark_of(event)) : gpu.why();
    }), "waiting for an event");
}

// Work of one device is done in order, whichever stream it came from.
void event_wait(ggml_backend_t backend, ggml_backend_event_t event) {
    if (event->device != backend->device) {
        ggml_backend_event_synchronize(event);
    }
}

}  // namespace backend
