#include "gpu/adapter.h"

#include "gpu/log.h"

#include <algorithm>
#include <mutex>


namespace gpu {

static WGPUInstance the_instance = nullptr;

WGPUInstance instance() {
    return the_instance;
}

static void create_instance() {
    // Subgroup matrices are behind this toggle in Dawn.
    const char *              enabled[] = { "allow_unsafe_apis" };
    WGPUDawnTogglesDescriptor toggles   = {};
    toggles.chain.sType                 = WGPUSType_DawnTogglesDescriptor;
    toggles.enabledToggleCount          = std::size(enabled);
    toggles.enabledToggles              = enabled;

    const WGPUInstanceFeatureName features[] = { WGPUInstanceFeatureName_TimedWaitAny };
    WGPUInstanceDescriptor        descriptor = {};
    if (wgpu().InstanceWaitAny != nullptr) {
        descriptor.requiredFeatureCount = std::size(features);
        descriptor.requiredFeatures     = features;
    }
    if (wgpu().dawn) {
        descriptor.nextInChain = &toggles.chain;
    }
    the_instance = wgpu().CreateInstance(&descriptor);
}

// Waking a thread up takes 70 to 100 us on an H200's host, and a token ends in such a wait.
static constexpr std::chrono::nanoseconds watched = std::chrono::microseconds(300);  // before and after the usual time

bool wait_for(WGPUFuture future, const std::atomic<bool> & done, WGPUDevice on, std::chrono::nanoseconds usual) {
    if (wgpu().InstanceWaitAny != nullptr) {
        WGPUFutureWaitInfo info  = { future, 0 };
        const auto         begin = std::chrono::steady_clock::now();
        while (!done) {
            const auto     passed  = std::chrono::steady_clock::now() - begin;
            const uint64_t timeout = usual.count() == 0 || passed > usual + watched ? UINT64_MAX
                                     : passed < usual - watched                   ? static_cast<uint64_t>((usual - watched - passed).count())
                                                                                   : 0;
            const WGPUWaitStatus waited = wgpu().InstanceWaitAny(the_instance, 1, &info, timeout);
            if (waited != WGPUWaitStatus_Success && waited != WGPUWaitStatus_TimedOut) {
                return done;
            }
        }
        return true;
    }
    while (!done) {
        // wgpu-native sleeps in DevicePoll until the device's work is done; its other answers come at once.
        if (on != nullptr && wgpu().DevicePoll != nullptr) {
            wgpu().DevicePoll(on, true, nullptr);
        } else {
            wgpu().InstanceProcessEvents(the_instance);
        }
    }
    return true;
}

adapter::~adapter() {
    wgpu().AdapterRelease(handle_);
}

// One request gives one adapter, so ask in every way and drop what was seen before.
static WGPUAdapter request_adapter(WGPUPowerPreference power, bool fallback) {
    struct answer {
        WGPUAdapter       adapter = nullptr;
        std::atomic<bool> done    = false;
    } got;
    // Subgroup matrices need the Vulkan memory model, and f16 is held back on NVIDIA by default.
    const char *              enabled[] = { "allow_unsafe_apis", "use_vulkan_memory_model", "vulkan_enable_f16_on_nvidia" };
    WGPUDawnTogglesDescriptor toggles   = {};
    toggles.chain.sType                 = WGPUSType_DawnTogglesDescriptor;
    toggles.enabledToggleCount          = std::size(enabled);
    toggles.enabledToggles              = enabled;

    WGPURequestAdapterOptions options = {};
    options.featureLevel              = WGPUFeatureLevel_Core;
    options.powerPreference           = power;
    options.forceFallbackAdapter      = fallback;
    if (wgpu().dawn) {
        options.nextInChain = &toggles.chain;
    }
    WGPURequestAdapterCallbackInfo callback = {};
    callback.mode      = wgpu().InstanceWaitAny != nullptr ? WGPUCallbackMode_WaitAnyOnly : WGPUCallbackMode_AllowProcessEvents;
    callback.userdata1 = &got;
    callback.callback  = [](WGPURequestAdapterStatus status, WGPUAdapter adapter, WGPUStringView, void * user, void *) {
        answer & a = *static_cast<answer *>(user);
        a.adapter  = status == WGPURequestAdapterStatus_Success ? adapter : nullptr;
        a.done     = true;
    };
    wait_for(wgpu().InstanceRequestAdapter(the_instance, &options, callback), got.done);
    return got.adapter;
}

static bool has(WGPUAdapter a, uint32_t feature) {
    return wgpu().AdapterHasFeature(a, static_cast<WGPUFeatureName>(feature));
}

static constexpr uint32_t wgpu_native_subgroup = 0x00030021;  // WGPUNativeFeature_Subgroup in wgpu-native's wgpu.h

// WebGPU's bounds of a subgroup's size.
static constexpr uint32_t least_subgroup = 4, largest_subgroup = 128;

// Mesa's software driver keeps an 8x8 matrix as slices of a subgroup's size, and crashes on a pipeline where a slice has more than
// a row: with LP_NATIVE_VECTOR_WIDTH=512.
static bool compiles_matrices(const WGPUAdapterInfo & info) {
    return info.adapterType != WGPUAdapterType_CPU || info.subgroupMaxSize <= 8;
}

static void read_matrices(capabilities & caps, const WGPUAdapterPropertiesSubgroupMatrixConfigs & found) {
    for (size_t i = 0; i < found.configCount; i++) {
        const WGPUSubgroupMatrixConfig & c = found.configs[i];
        if (c.componentType != WGPUSubgroupMatrixComponentType_F16) {
            continue;
        }
        caps.matrices.push_back({ c.M, c.N, c.K, c.resultComponentType == WGPUSubgroupMatrixComponentType_F32 });
    }
}

static void read_limits(capabilities & caps, WGPUAdapter handle) {
    WGPULimits limits = {};
    wgpu().AdapterGetLimits(handle, &limits);
    caps.max_buffer          = limits.maxBufferSize;
    caps.max_binding         = limits.maxStorageBufferBindingSize;
    caps.storage_alignment   = limits.minStorageBufferOffsetAlignment;
    caps.uniform_alignment   = limits.minUniformBufferOffsetAlignment;
    caps.max_threads         = limits.maxComputeInvocationsPerWorkgroup;
    caps.workgroup_memory    = limits.maxComputeWorkgroupStorageSize;
    caps.max_groups          = limits.maxComputeWorkgroupsPerDimension;
    caps.max_storage_buffers = limits.maxStorageBuffersPerShaderStage;
}

static uint64_t usable_binding(uint64_t limit, const settings & user) {
    // Index arithmetic in the kernels is 32-bit in bytes.
    const uint64_t usable = std::min<uint64_t>(limit, 0xffffff00u);
    return (user.max_binding != 0 ? std::min(usable, user.max_binding) : usable) & ~uint64_t(255);
}

static capabilities read_capabilities(WGPUAdapter handle, const settings & user) {
    capabilities    caps;
    WGPUAdapterInfo info = {};

    WGPUAdapterPropertiesSubgroupMatrixConfigs matrices = {};
    matrices.chain.sType                                = WGPUSType_AdapterPropertiesSubgroupMatrixConfigs;
    WGPUAdapterPropertiesMemoryHeaps heaps              = {};
    heaps.chain.sType                                   = WGPUSType_AdapterPropertiesMemoryHeaps;

    const bool has_matrices = wgpu().dawn && has(handle, WGPUFeatureName_ChromiumExperimentalSubgroupMatrix);
    const bool has_heaps    = wgpu().dawn && has(handle, WGPUFeatureName_AdapterPropertiesMemoryHeaps);
    if (has_matrices) {
        matrices.chain.next = info.nextInChain;
        info.nextInChain    = &matrices.chain;
    }
    if (has_heaps) {
        heaps.chain.next = info.nextInChain;
        info.nextInChain = &heaps.chain;
    }
    wgpu().AdapterGetInfo(handle, &info);
    caps.name           = text(info.device);
    caps.vendor         = text(info.vendor);
    caps.architecture   = text(info.architecture);
    caps.driver         = text(info.description);
    caps.implementation = wgpu().implementation;
    caps.type = info.adapterType == WGPUAdapterType_CPU             ? capabilities::kind::software
                : info.adapterType == WGPUAdapterType_IntegratedGPU ? capabilities::kind::integrated
                                                                    : capabilities::kind::discrete;
    caps.f16       = !user.no_f16 && has(handle, WGPUFeatureName_ShaderF16);
    caps.subgroups = !user.no_subgroups && (has(handle, WGPUFeatureName_Subgroups) || (!wgpu().dawn && has(handle, wgpu_native_subgroup)));
    caps.subgroups = caps.subgroups && info.subgroupMinSize > 0;  // of no use when their size is unknown
    if (caps.subgroups) {
        caps.subgroup_min = user.no_subgroup_size ? least_subgroup : info.subgroupMinSize;
        caps.subgroup_max = user.no_subgroup_size ? largest_subgroup : info.subgroupMaxSize;
    }
    caps.packed_dot    = !user.no_packed_dot;
    caps.timestamps    = !user.no_timestamps && has(handle, WGPUFeatureName_TimestampQuery);
    caps.implicit_sync = wgpu().dawn && has(handle, WGPUFeatureName_ImplicitDeviceSynchronization);
    if (!user.default_limits) {
        read_limits(caps, handle);
    }
    caps.max_binding = usable_binding(caps.max_binding, user);
    caps.memory = caps.max_buffer;
    if (has_matrices && !user.no_subgroup_matrix && caps.f16 && caps.subgroups && compiles_matrices(info)) {
        read_matrices(caps, matrices);
    }
    if (has_heaps) {
        for (size_t i = 0; i < heaps.heapCount; i++) {
            if (heaps.heapInfo[i].properties & WGPUHeapProperty_DeviceLocal) {
                caps.memory = std::max<uint64_t>(caps.memory, heaps.heapInfo[i].size);
            }
        }
        if (wgpu().AdapterPropertiesMemoryHeapsFreeMembers != nullptr) {
            wgpu().AdapterPropertiesMemoryHeapsFreeMembers(heaps);
        }
    }
    if (has_matrices && wgpu().AdapterPropertiesSubgroupMatrixConfigsFreeMembers != nullptr) {
        wgpu().AdapterPropertiesSubgroupMatrixConfigsFreeMembers(matrices);
    }
    wgpu().AdapterInfoFreeMembers(info);
    return caps;
}

result<std::vector<std::shared_ptr<adapter>>> find_adapters(const settings & user) {
    static std::once_flag once;
    std::call_once(once, create_instance);
    if (the_instance == nullptr) {
        return status::failure(wgpu().path + " could not create a WebGPU instance");
    }
    std::vector<std::shared_ptr<adapter>> found;
    std::string                           left_out;
    const auto consider = [&](WGPUPowerPreference power, bool fallback) {
        WGPUAdapter handle = request_adapter(power, fallback);
        if (handle == nullptr) {
            return;
        }
        auto         a    = std::make_shared<adapter>(handle, read_capabilities(handle, user));
        const auto & caps = a->caps();
        const bool   seen = std::any_of(found.begin(), found.end(), [&](const auto & f) { return f->caps().name == caps.name; });
        const bool   software = caps.type == capabilities::kind::software;
        const bool   wanted   = user.adapter == "software" ? software
                                : user.adapter.empty()     ? !software
                                                           : caps.name.find(user.adapter) != std::string::npos;
        if (wanted && !seen) {
            found.push_back(std::move(a));
        } else if (!seen && left_out.find(caps.name) == std::string::npos) {
            left_out += (left_out.empty() ? "" : ", ") + caps.name;
        }
    };
    consider(WGPUPowerPreference_HighPerformance, false);
    consider(WGPUPowerPreference_LowPower, false);
    consider(WGPUPowerPreference_Undefined, true);
    if (found.empty()) {
        if (left_out.empty()) {
            return status::failure("no WebGPU adapter was found: is a graphics driver (Vulkan, Metal or Direct3D 12) installed?");
        }
        if (user.adapter.empty()) {
            return status::failure("found only the software adapter " + left_out + "; GGML_WEBGPU_ADAPTER=software allows it");
        }
        return status::failure("GGML_WEBGPU_ADAPTER is '" + user.adapter + "', but found was only " + left_out +
                               "; it takes a part of an adapter's name, or 'software'");
    }
    return found;
}

}  // namespace gpu
