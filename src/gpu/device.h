// A WebGPU device, its buffers, and the only place that submits to its queue.
#pragma once

#include "gpu/adapter.h"
#include "gpu/disk_cache.h"
#include "gpu/status.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gpu {

class device;
class kernel_cache;

// GPU memory. Sizes are padded to `buffer::padding`, so kernels may read whole vec4 words past the last byte.
class buffer {
public:
    static constexpr uint64_t padding = 256;

    buffer(std::shared_ptr<device> owner, WGPUBuffer handle, uint64_t size, uint64_t id);
    buffer(const buffer &)             = delete;
    buffer & operator=(const buffer &) = delete;
    ~buffer();

    WGPUBuffer handle() const { return handle_; }
    uint64_t   size() const { return size_; }  // as asked for
    uint64_t   padded_size() const { return (size_ + padding - 1) / padding * padding; }
    uint64_t   id() const { return id_; }  // never used twice by one device
    device &   owner() const { return *owner_; }

private:
    std::shared_ptr<device> owner_;
    WGPUBuffer              handle_;
    uint64_t                size_;
    uint64_t                id_;
};

using buffer_ref = std::shared_ptr<buffer>;

class device : public std::enable_shared_from_this<device> {
public:
    // Opens the adapter with every feature the kernels use. Logs one line that names it.
    static result<std::shared_ptr<device>> open(std::shared_ptr<adapter> from, const settings & user);
    ~device();

    WGPUDevice           handle() const { return handle_; }
    WGPUQueue            queue() const { return queue_; }
    const capabilities & caps() const { return adapter_->caps(); }
    const settings &     user() const { return user_; }
    kernel_cache &       kernels() { return *kernels_; }
    const disk_cache *   on_disk() const { return disk_cache_.get(); }  // of compiled kernels; null: none is kept

    // Zeroed memory for kernels and copies. The status says how much was asked and why there is none.
    result<buffer_ref> create_buffer(uint64_t size, const char * label);
    uint64_t           allocated() const { return allocated_; }

    // Ok, or the first uncaptured error or device loss; it stays until the process ends.
    status health() const;

    // Submits in order; takes ownership. At most `max_in_flight` submissions are unfinished: older ones are waited for.
    status submit(std::vector<WGPUCommandBuffer> commands);

    // The number of submissions so far: a point in the queue to wait for.
    uint64_t submitted();
    // Blocks until the first `count` submissions are done.
    status wait(uint64_t count);
    // Blocks until all submitted work is done.
    status wait_idle();

    // Host bytes into a buffer, any offset and size, in order with submissions. `data` may be reused on return.
    status write(const buffer_ref & to, uint64_t offset, const void * data, uint64_t size);
    // Buffer bytes to the host, any offset and size, after all that was submitted.
    status read(const buffer_ref & from, uint64_t offset, void * data, uint64_t size);
    // Several at once, in one round trip: a few small ones after the first.
    struct range {
        buffer_ref from;
        uint64_t   offset;
        void *     data;
        uint64_t   size;
    };
    status read(const std::vector<range> & ranges);
    // Repeats `value` over any byte range.
    status fill(const buffer_ref & to, uint64_t offset, uint8_t value, uint64_t size);
    // Buffer to buffer, any offsets and size; ranges must not overlap.
    status copy(const buffer_ref & from, uint64_t from_offset, const buffer_ref & to, uint64_t to_offset, uint64_t size);

    // Runs `record` on a fresh encoder and submits it.
    template <typename F> status encode(const char * label, F && record) {
        WGPUCommandEncoderDescriptor descriptor = {};
        descriptor.label                        = view(label);
        WGPUCommandEncoder encoder              = wgpu().DeviceCreateCommandEncoder(handle_, &descriptor);
        record(encoder);
        return finish(encoder);
    }

    // Callback mode to use with wait_for.
    static WGPUCallbackMode callback_mode();

private:
    friend class buffer;
    friend class staging_lease;

    explicit device(std::shared_ptr<adapter> from, const settings & user);
    status finish(WGPUCommandEncoder encoder);
    status read_together(const std::vector<range> & ranges);
    status edit_words(const buffer_ref & to, uint64_t first_word, uint64_t words, uint32_t value, uint32_t first_mask, uint32_t last_mask);
    void   report(std::string problem);

    std::shared_ptr<adapter>      adapter_;
    settings                      user_;
    WGPUDevice                    handle_ = nullptr;
    WGPUQueue                     queue_  = nullptr;
    std::unique_ptr<disk_cache>   disk_cache_;
    std::unique_ptr<kernel_cache> kernels_;

    std::atomic<uint64_t> allocated_ = 0;
    std::atomic<uint64_t> next_id_   = 1;

    mutable std::mutex health_lock_;
    std::string        problem_;
    std::atomic<bool>  closing_ = false;  // losing the device is no problem then

    std::atomic<uint64_t> written_ = 0;  // bytes uploaded since the last submission
    std::mutex            submit_lock_;
    struct submission {
        WGPUFuture        future;
        std::atomic<bool> done = false;
    };
    std::deque<std::shared_ptr<submission>> in_flight_;
    uint64_t                                finished_ = 0;  // submissions taken from in_flight_
    static constexpr size_t                 max_in_flight = 16;

    std::atomic<int64_t> usual_read_ns_ = 0;  // running mean

    // Buffers for reading back, kept for reuse.
    struct staging {
        WGPUBuffer handle;
        uint64_t   size;
    };
    std::mutex           staging_lock_;
    std::vector<staging> staging_;
};

}  // namespace gpu
