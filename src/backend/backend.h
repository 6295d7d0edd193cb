// What the files of this floor share. Each file fills one of ggml's interfaces; nothing here knows an op or a shader.
#pragma once

#include "gpu/device.h"
#include "graph/fusions.h"

#include <ggml-backend-impl.h>

#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>

namespace backend {

// A ggml device: an adapter, and the GPU device opened on it when memory or a backend is first asked for. All buffers
// and backends of the ggml device share that one.
class device_context {
public:
    device_context(size_t index, std::shared_ptr<gpu::adapter> from, const gpu::settings & user, ggml_backend_reg_t reg);
    device_context(const device_context &)             = delete;
    device_context & operator=(const device_context &) = delete;

    const char *              name() const { return name_.c_str(); }
    const char *              description() const { return description_.c_str(); }
    const gpu::capabilities & caps() const { return adapter_->caps(); }
    const gpu::settings &     user() const { return user_; }
    ggml_backend_dev_t        device() { return &device_; }
    ggml_backend_buffer_type_t buffer_type() { return &buffer_type_; }
    int64_t                   offload_min_batch() const { return offload_min_batch_; }
    graph::fusions &          fusions() { return fusions_; }

    gpu::result<std::shared_ptr<gpu::device>> open();
    uint64_t                                  allocated() const;

    // ggml's transfers return nothing. One that failed is logged here, and the graphs after it fail: what they would
    // compute from is not what the host wrote.
    void        expect(const gpu::status & outcome, const char * transfer);
    gpu::status health() const;

private:
    std::shared_ptr<gpu::adapter> adapter_;
    gpu::settings                 user_;
    std::string                   name_;
    std::string                   description_;
    int64_t                       offload_min_batch_;
    ggml_backend_device           device_;
    ggml_backend_buffer_type      buffer_type_;
    graph::fusions                fusions_;

    mutable std::mutex           lock_;
    std::shared_ptr<gpu::device> opened_;
    std::string                  problem_;
};

inline device_context & context_of(ggml_backend_dev_t device) {
    return *static_cast<device_context *>(device->context);
}

extern const ggml_backend_device_i      device_interface;
extern const ggml_backend_buffer_type_i buffer_type_interface;

// backend.cpp; null with a log line when the GPU cannot be opened.
ggml_backend_t init_backend(ggml_backend_dev_t device, const char * params);

// buffer.cpp: transfers of a tensor's bytes, shared by buffers and backends.
void set_tensor(ggml_tensor * tensor, const void * data, size_t offset, size_t size);
void get_tensor(const ggml_tensor * tensor, void * data, size_t offset, size_t size);
void set_tensor_2d(ggml_tensor * tensor, const void * data, size_t offset, size_t size, size_t n, size_t tensor_stride, size_t data_stride);
void get_tensor_2d(const ggml_tensor * tensor, void * data, size_t offset, size_t size, size_t n, size_t tensor_stride, size_t data_stride);
bool copy_tensor(const ggml_tensor * src, ggml_tensor * dst);  // false: ggml takes the way over the host

// events.cpp
ggml_backend_event_t event_new(ggml_backend_dev_t device);
void                 event_free(ggml_backend_dev_t device, ggml_backend_event_t event);
void                 event_synchronize(ggml_backend_dev_t device, ggml_backend_event_t event);
void                 event_record(ggml_backend_t backend, ggml_backend_event_t event);
void                 event_wait(ggml_backend_t backend, ggml_backend_event_t event);

// fusion.cpp: the function that ggml_backend_reg_get_proc_address is asked for, or null.
void * fusion_function(const char * name);

// Runs `work`, which returns a status. ggml calls us from C, so what is thrown below (no host memory) becomes a status.
template <typename F> gpu::status guarded(F && work) noexcept {
    try {
        return work();
    } catch (const std::bad_alloc &) {
        return gpu::status::no_memory("out of host memory");
    } catch (const std::exception & e) {
        return gpu::status::failure(e.what());
    }
}

}  // namespace backend
