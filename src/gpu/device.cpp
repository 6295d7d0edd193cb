#include "gpu/device.h"

#include "gpu/kernel.h"
#include "gpu/log.h"

#include <algorithm>

namespace gpu {

buffer::buffer(std::shared_ptr<device> owner, WGPUBuffer handle, uint64_t size, uint64_t id)
    : owner_(std::move(owner)), handle_(handle), size_(size), id_(id) {}

buffer::~buffer() {
    owner_->allocated_ -= padded_size();
    wgpu().BufferDestroy(handle_);
    wgpu().BufferRelease(handle_);
}

WGPUCallbackMode device::callback_mode() {
    return wgpu().InstanceWaitAny != nullptr ? WGPUCallbackMode_WaitAnyOnly : WGPUCallbackMode_AllowProcessEvents;
}

device::device(std::shared_ptr<adapter> from, const settings & user) : adapter_(std::move(from)), user_(user) {}

device::~device() {
    if (handle_ == nullptr) {
        return;
    }
    (void) wait_idle();
    closing_ = true;
    for (const staging & s : staging_) {
        wgpu().BufferRelease(s.handle);
    }
    kernels_.reset();
    if (disk_cache_ != nullptr) {
        log(log_level::debug, "of what belongs to compiled kernels, %llu pieces were found on disk, %llu were not, %llu were stored",
            (unsigned long long) disk_cache_->found(), (unsigned long long) disk_cache_->missed(), (unsigned long long) disk_cache_->stored());
    }
    wgpu().QueueRelease(queue_);
    wgpu().DeviceRelease(handle_);
}

//
// opening
//

static std::vector<WGPUFeatureName> wanted_features(const adapter & a) {
    std::vector<WGPUFeatureName> features;
    const capabilities &         caps = a.caps();
    const auto want = [&](bool condition, uint32_t feature) {
        if (condition && wgpu().AdapterHasFeature(a.handle(), static_cast<WGPUFeatureName>(feature))) {
            features.push_back(static_cast<WGPUFeatureName>(feature));
        }
    };
    want(caps.f16, WGPUFeatureName_ShaderF16);
    want(caps.subgroups, WGPUFeatureName_Subgroups);
    want(caps.subgroups && !wgpu().dawn, 0x00030021);  // WGPUNativeFeature_Subgroup
    want(caps.timestamps, WGPUFeatureName_TimestampQuery);
    if (wgpu().dawn) {
        want(caps.subgroup_matrix(), WGPUFeatureName_ChromiumExperimentalSubgroupMatrix);
        want(caps.implicit_sync, WGPUFeatureName_ImplicitDeviceSynchronization);
        want(caps.subgroups, WGPUFeatureName_SubgroupSizeControl);
    }
    return features;
}

// Called on whatever threads compile, from code that knows no exceptions.
static size_t load_compiled(size_t key_size, const uint8_t * key, size_t size, uint8_t * to, void * cache, void *) {
    try {
        return static_cast<disk_cache *>(cache)->load_in_two_calls({ reinterpret_cast<const char *>(key), key_size }, to, size);
    } catch (const std::exception &) {
        return 0;
    }
}

static void store_compiled(size_t key_size, const uint8_t * key, size_t size, const uint8_t * from, void * cache, void *) {
    try {
        static_cast<disk_cache *>(cache)->store({ reinterpret_cast<const char *>(key), key_size }, { reinterpret_cast<const char *>(from), size });
    } catch (const std::exception & e) {
        log(log_level::debug, "a compiled kernel is not kept: %s", e.what());
    }
}

result<std::shared_ptr<device>> device::open(std::shared_ptr<adapter> from, const settings & user) {
    std::shared_ptr<device>            opened(new device(from, user));
    const std::vector<WGPUFeatureName> features = wanted_features(*from);

    WGPULimits limits = {};
    wgpu().AdapterGetLimits(from->handle(), &limits);

    // Every kernel stays inside its bindings by construction and the conformance suite runs with validation on, so
    // bounds clamping, up to 2x in products, is off unless asked for.
    const char *              enabled[] = { "allow_unsafe_apis", "use_vulkan_memory_model", "vulkan_enable_f16_on_nvidia", "disable_robustness" };
    WGPUDawnTogglesDescriptor toggles   = {};
    toggles.chain.sType                 = WGPUSType_DawnTogglesDescriptor;
    toggles.enabledToggleCount          = std::size(enabled) - (user.validate ? 1 : 0);
    toggles.enabledToggles              = enabled;
    // Dawn rounds timestamps to about 65 us, against pages that spy on each other.
    const char * disabled[]             = { "timestamp_quantization" };
    toggles.disabledToggleCount         = user.profile ? std::size(disabled) : 0;
    toggles.disabledToggles             = disabled;

    WGPUDeviceDescriptor descriptor   = {};
    descriptor.label                  = view("ggml-webgpu");
    descriptor.requiredFeatureCount   = features.size();
    descriptor.requiredFeatures       = features.data();
    descriptor.requiredLimits         = user.default_limits ? nullptr : &limits;
    if (wgpu().dawn) {
        descriptor.nextInChain = &toggles.chain;
    }
    WGPUDawnCacheDeviceDescriptor cache = {};
    if (wgpu().caches && !user.kernel_cache.empty()) {
        // The keys hold the adapter, the driver, toggles, features and the kernel's text, or what became of it.
        opened->disk_cache_ = std::make_unique<disk_cache>(user.kernel_cache, wgpu().build);
        cache.chain.next    = descriptor.nextInChain;
        cache.chain.sType   = WGPUSType_DawnCacheDeviceDescriptor;
        cache.dawnLoadCacheDataCallbackInfo.callback   = load_compiled;
        cache.dawnLoadCacheDataCallbackInfo.userdata1  = opened->disk_cache_.get();
        cache.dawnStoreCacheDataCallbackInfo.callback  = store_compiled;
        cache.dawnStoreCacheDataCallbackInfo.userdata1 = opened->disk_cache_.get();
        descriptor.nextInChain = &cache.chain;
    }
    descriptor.uncapturedErrorCallbackInfo.userdata1 = opened.get();
    descriptor.uncapturedErrorCallbackInfo.callback  = [](const WGPUDevice *, WGPUErrorType, WGPUStringView message, void * user, void *) {
        static_cast<device *>(user)->report("WebGPU error: " + text(message));
    };
    descriptor.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowSpontaneous;
    descriptor.deviceLostCallbackInfo.userdata1 = opened.get();
    descriptor.deviceLostCallbackInfo.callback  = [](const WGPUDevice *, WGPUDeviceLostReason reason, WGPUStringView message, void * user, void *) {
        device & lost = *static_cast<device *>(user);
        if (!lost.closing_ && reason != WGPUDeviceLostReason_FailedCreation) {
            lost.report("the GPU was lost (" + text(message) + "); restart the program");
        }
    };

    struct answer {
        WGPUDevice        device = nullptr;
        std::string       message;
        std::atomic<bool> done = false;
    } got;
    WGPURequestDeviceCallbackInfo callback = {};
    callback.mode                          = callback_mode();
    callback.userdata1                     = &got;
    callback.callback = [](WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message, void * user, void *) {
        answer & a = *static_cast<answer *>(user);
        a.device   = status == WGPURequestDeviceStatus_Success ? device : nullptr;
        a.message  = text(message);
        a.done     = true;
    };
    wait_for(wgpu().AdapterRequestDevice(from->handle(), &descriptor, callback), got.done);
    if (got.device == nullptr) {
        return status::failure("cannot open " + from->caps().name + ": " + got.message);
    }
    opened->handle_  = got.device;
    opened->queue_   = wgpu().DeviceGetQueue(got.device);
    opened->kernels_ = std::make_unique<kernel_cache>(*opened);

    const capabilities & caps = opened->caps();
    log(log_level::info, "%s (%s %s; %s) through %s: f16 %s, subgroups %u..%u, subgroup matrices %zu, binding limit %llu MiB", caps.name.c_str(),
        caps.vendor.c_str(), caps.architecture.c_str(), caps.driver.c_str(), caps.implementation.c_str(), caps.f16 ? "yes" : "no", caps.subgroup_min,
        caps.subgroup_max, caps.matrices.size(), (unsigned long long) caps.max_binding >> 20);
    return opened;
}

//
// health
//

void device::report(std::string problem) {
    std::replace(problem.begin(), problem.end(), '\n', ' ');
    std::lock_guard guard(health_lock_);
    if (problem_.empty()) {
        problem_ = std::move(problem);
        log(log_level::error, "%s", problem_.c_str());
    }
}

status device::health() const {
    std::lock_guard guard(health_lock_);
    return problem_.empty() ? status() : status::failure(problem_);
}

//
// memory
//

result<buffer_ref> device::create_buffer(uint64_t size, const char * label) {
    if (status s = health(); !s.ok()) {
        return s;
    }
    const uint64_t padded = std::max<uint64_t>((size + buffer::padding - 1) / buffer::padding * buffer::padding, buffer::padding);
    if (padded > caps().max_buffer) {
        return status::no_memory(format("a buffer of %llu bytes was asked for (%s), but this device's limit is %llu bytes", (unsigned long long) size,
                                      label, (unsigned long long) caps().max_buffer));
    }
    struct answer {
        std::string       text;
        std::atomic<bool> done = false;
    } memory_error;
    WGPUBufferDescriptor descriptor = {};
    descriptor.label                = view(label);
    descriptor.size                 = padded;
    descriptor.usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst | WGPUBufferUsage_Uniform;

    wgpu().DevicePushErrorScope(handle_, WGPUErrorFilter_OutOfMemory);
    WGPUBuffer handle = wgpu().DeviceCreateBuffer(handle_, &descriptor);

    WGPUPopErrorScopeCallbackInfo popped = {};
    popped.mode      = callback_mode();
    popped.userdata1 = &memory_error;
    popped.callback  = [](WGPUPopErrorScopeStatus, WGPUErrorType type, WGPUStringView message, void * user, void *) {
        answer & a = *static_cast<answer *>(user);
        if (type != WGPUErrorType_NoError) {
            a.text = text(message);
        }
        a.done = true;
    };
    wait_for(wgpu().DevicePopErrorScope(handle_, popped), memory_error.done, handle_);
    if (handle == nullptr || !memory_error.text.empty()) {
        if (handle != nullptr) {
            wgpu().BufferRelease(handle);
        }
        return status::no_memory(format("out of GPU memory: %llu bytes were asked for (%s) with %llu in use: %s", (unsigned long long) size, label,
                                      (unsigned long long) allocated_.load(), memory_error.text.c_str()));
    }
    allocated_ += padded;
    return std::make_shared<buffer>(shared_from_this(), handle, std::max<uint64_t>(size, 1), next_id_++);
}

//
// queue
//

status device::finish(WGPUCommandEncoder encoder) {
    WGPUCommandBuffer commands = wgpu().CommandEncoderFinish(encoder, nullptr);
    wgpu().CommandEncoderRelease(encoder);
    return submit({ commands });
}

status device::submit(std::vector<WGPUCommandBuffer> commands) {
    uint64_t number;
    if (status s = health(); !s.ok()) {  // wgpu-native ends the process on a submission to a lost device
        for (WGPUCommandBuffer c : commands) {
            wgpu().CommandBufferRelease(c);
        }
        return s;
    }
    {
        std::lock_guard guard(submit_lock_);
        written_ = 0;
        wgpu().QueueSubmit(queue_, commands.size(), commands.data());
        auto                          sent     = std::make_shared<submission>();
        WGPUQueueWorkDoneCallbackInfo callback = {};
        callback.mode                          = callback_mode();
        callback.userdata1                     = &sent->done;
        callback.callback = [](WGPUQueueWorkDoneStatus, WGPUStringView, void * done, void *) { *static_cast<std::atomic<bool> *>(done) = true; };
        sent->future      = wgpu().QueueOnSubmittedWorkDone(queue_, callback);
        in_flight_.push_back(std::move(sent));
        number = finished_ + in_flight_.size();
    }
    for (WGPUCommandBuffer c : commands) {
        wgpu().CommandBufferRelease(c);
    }
    return wait(number > max_in_flight ? number - max_in_flight : 0);
}

uint64_t device::submitted() {
    std::lock_guard guard(submit_lock_);
    return finished_ + in_flight_.size();
}

// Other threads may submit, or wait for the same submission, meanwhile.
status device::wait(uint64_t count) {
    for (;;) {
        std::shared_ptr<submission> oldest;
        {
            std::lock_guard guard(submit_lock_);
            if (finished_ >= count || in_flight_.empty()) {
                return health();
            }
            oldest = in_flight_.front();
        }
        wait_for(oldest->future, oldest->done, handle_);
        std::lock_guard guard(submit_lock_);
        if (!in_flight_.empty() && in_flight_.front() == oldest) {
            in_flight_.pop_front();
            finished_++;
        }
    }
}

status device::wait_idle() {
    return wait(submitted());
}

}  // namespace gpu
