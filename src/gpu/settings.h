// What the user may set through the environment, read once. A value that cannot be understood is named in the
// status together with what is allowed. docs/environment-variables.md describes each.
#pragma once

#include "gpu/status.h"

#include <cstdint>
#include <string>

namespace gpu {

struct settings {
    std::string library;               // GGML_WEBGPU_LIBRARY: path of the WebGPU library
    std::string adapter;               // GGML_WEBGPU_ADAPTER: "software", or part of an adapter's name
    std::string kernel_cache;          // GGML_WEBGPU_KERNEL_CACHE: folder for compiled kernels, by default in the user's; empty = none
    bool        no_f16             = false;  // GGML_WEBGPU_DISABLE: list of features to do without
    bool        no_subgroups       = false;
    bool        no_subgroup_size   = false;
    bool        no_subgroup_matrix = false;
    bool        no_packed_dot      = false;
    bool        no_fusion          = false;
    bool        no_timestamps      = false;
    bool        default_limits = false; // GGML_WEBGPU_LIMITS: WebGPU's default limits, not the adapter's
    uint64_t    max_binding = 0;       // GGML_WEBGPU_MAX_BINDING: bytes, 0 = the adapter's limit
    bool        debug       = false;   // GGML_WEBGPU_DEBUG: log every dispatch
    bool        profile     = false;   // GGML_WEBGPU_PROFILE: time every dispatch, print a table at the end
    bool        check_kernels = false; // GGML_WEBGPU_CHECK_KERNELS: supports_op compiles the kernels of what it is asked
    bool        list_kernels = false;  // GGML_WEBGPU_LIST_KERNELS: print the names of the compiled kernels at the end
    bool        validate    = false;   // GGML_WEBGPU_VALIDATE: keep WebGPU's validation and robustness on
};

// Reads the environment anew; tests call it directly.
result<settings> read_settings();

}  // namespace gpu
