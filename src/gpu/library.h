// The WebGPU implementation, chosen at run time: GGML_WEBGPU_LIBRARY, else a library beside this plugin, else the
// system's. Builds for WebAssembly link the same list of functions directly.
#pragma once

#include "gpu/status.h"

#include <string>
#include <webgpu/webgpu.h>

// Every function used. The required ones are standard webgpu.h; a library without one is refused.
#define GGML_WEBGPU_FUNCTIONS(X) \
    X(CreateInstance) \
    X(InstanceRequestAdapter) X(InstanceProcessEvents) X(InstanceRelease) \
    X(AdapterGetInfo) X(AdapterInfoFreeMembers) X(AdapterGetLimits) X(AdapterHasFeature) X(AdapterRequestDevice) \
    X(AdapterRelease) X(AdapterAddRef) \
    X(DeviceCreateBuffer) X(DeviceCreateBindGroup) X(DeviceCreateBindGroupLayout) X(DeviceCreatePipelineLayout) \
    X(DeviceCreateShaderModule) X(DeviceCreateComputePipeline) X(DeviceCreateCommandEncoder) X(DeviceCreateQuerySet) \
    X(DeviceGetQueue) X(DevicePushErrorScope) X(DevicePopErrorScope) X(DeviceDestroy) X(DeviceRelease) X(DeviceGetLimits) \
    X(BufferMapAsync) X(BufferGetConstMappedRange) X(BufferUnmap) X(BufferDestroy) X(BufferRelease) \
    X(QueueSubmit) X(QueueWriteBuffer) X(QueueOnSubmittedWorkDone) X(QueueRelease) \
    X(CommandEncoderBeginComputePass) X(CommandEncoderCopyBufferToBuffer) X(CommandEncoderClearBuffer) \
    X(CommandEncoderFinish) X(CommandEncoderResolveQuerySet) X(CommandEncoderRelease) X(CommandBufferRelease) \
    X(ComputePassEncoderSetPipeline) X(ComputePassEncoderSetBindGroup) X(ComputePassEncoderDispatchWorkgroups) \
    X(ComputePassEncoderEnd) X(ComputePassEncoderRelease) \
    X(BindGroupRelease) X(BindGroupLayoutRelease) X(PipelineLayoutRelease) X(ShaderModuleRelease) X(ComputePipelineRelease) \
    X(QuerySetRelease)

// Absent from some implementations; null then. wgpu-native's WaitAny exists but is not implemented, so it waits by DevicePoll.
#define GGML_WEBGPU_OPTIONAL_FUNCTIONS(X) \
    X(InstanceWaitAny) X(DeviceCreateComputePipelineAsync) X(AdapterPropertiesSubgroupMatrixConfigsFreeMembers) \
    X(AdapterPropertiesMemoryHeapsFreeMembers)

namespace gpu {

struct functions {
#define X(name) decltype(&wgpu##name) name = nullptr;
    GGML_WEBGPU_FUNCTIONS(X)
    GGML_WEBGPU_OPTIONAL_FUNCTIONS(X)
#undef X
    // wgpu-native only: bool wgpuDevicePoll(device, wait, submission index or null).
    WGPUBool (*DevicePoll)(WGPUDevice device, WGPUBool wait, const uint64_t * submission) = nullptr;

    std::string path;            // of the library
    std::string build;           // of the library: tells it from other versions
    std::string implementation;  // "Dawn", "wgpu-native" or "browser"
    bool        dawn = false;    // Dawn's chained structs (toggles, matrix configurations) may be used
    bool        caches = false;  // and its WGPUDawnCacheDeviceDescriptor is that of our headers
};

// Loads the library once for the process; `preferred` is the user's choice or empty. Later calls return the first result.
result<const functions *> load_library(const std::string & preferred);

// The loaded functions. Only valid after load_library succeeded.
const functions & wgpu();

inline WGPUStringView view(const char * text) {
    return { text, WGPU_STRLEN };
}

inline WGPUStringView view(const std::string & text) {
    return { text.data(), text.size() };
}

inline std::string text(WGPUStringView view) {
    if (view.data == nullptr) {
        return "";
    }
    return view.length == WGPU_STRLEN ? std::string(view.data) : std::string(view.data, view.length);
}

}  // namespace gpu
