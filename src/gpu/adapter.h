// Adapters and what they can do. One record, `capabilities`, is all that the floors above ever ask.
#pragma once

#include "gpu/library.h"
#include "gpu/settings.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gpu {

// A matrix product the subgroup-matrix instructions offer: f16 inputs, f16 or f32 results.
struct matrix_config {
    uint32_t m, n, k;
    bool     f32_result;
};

struct capabilities {
    // names
    std::string name;            // "NVIDIA H200"
    std::string vendor;
    std::string architecture;
    std::string driver;
    std::string implementation;  // "Dawn", "wgpu-native", "browser"

    enum class kind { discrete, integrated, software } type = kind::discrete;

    // features, after the user's GGML_WEBGPU_DISABLE
    bool     f16             = false;
    bool     subgroups       = false;
    uint32_t subgroup_min    = 0;
    uint32_t subgroup_max    = 0;
    bool     packed_dot      = true;  // dot4I8Packed is core WGSL; implementations emulate it where hardware lacks it
    bool     timestamps      = false;
    bool     implicit_sync   = false;
    std::vector<matrix_config> matrices;

    // limits; these values are WebGPU's defaults, which every device has
    uint64_t max_binding        = 128 << 20;  // bytes of one storage binding
    uint64_t max_buffer         = 256 << 20;  // bytes of one buffer
    uint32_t storage_alignment  = 256;
    uint32_t uniform_alignment  = 256;
    uint32_t max_threads        = 256;  // invocations of a workgroup
    uint32_t workgroup_memory   = 16384;
    uint32_t max_groups         = 65535;  // per dimension
    uint32_t max_storage_buffers = 8;

    uint64_t memory = 0;  // bytes, an estimate: the largest device-local heap where it is reported, else max_buffer

    bool subgroup_matrix() const { return !matrices.empty(); }
};

// A found adapter. Keeps the WebGPU object.
class adapter {
public:
    adapter(WGPUAdapter handle, capabilities caps) : handle_(handle), caps_(std::move(caps)) {}
    adapter(const adapter &)             = delete;
    adapter & operator=(const adapter &) = delete;
    ~adapter();

    WGPUAdapter          handle() const { return handle_; }
    const capabilities & caps() const { return caps_; }

private:
    WGPUAdapter  handle_;
    capabilities caps_;
};

// The adapters the user may use, fastest first. Software adapters are left out, with one log line, unless
// GGML_WEBGPU_ADAPTER asks for them. The status says why there is none.
result<std::vector<std::shared_ptr<adapter>>> find_adapters(const settings & user);

// Blocks until `done`, which the callback of `future` sets, maybe on another waiting thread. `on` is the device that works on
// it, null for what the instance answers. `usual`: how long such a wait lasts; a sleeping thread wakes up late, so near that time
// it looks again and again for a moment. False when the implementation reports an error.
bool wait_for(WGPUFuture future, const std::atomic<bool> & done, WGPUDevice on = nullptr, std::chrono::nanoseconds usual = {});

// The process-wide instance; null before find_adapters.
WGPUInstance instance();

}  // namespace gpu
