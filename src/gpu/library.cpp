#include "gpu/library.h"

#include "gpu/log.h"

#include <filesystem>
#include <mutex>

#ifndef __EMSCRIPTEN__
#    include <dlfcn.h>
#endif

namespace gpu {

static functions loaded;

const functions & wgpu() {
    return loaded;
}

#ifdef __EMSCRIPTEN__

result<const functions *> load_library(const std::string &) {
#    define X(name) loaded.name = &wgpu##name;
    GGML_WEBGPU_FUNCTIONS(X)
    loaded.InstanceWaitAny                  = &wgpuInstanceWaitAny;
    loaded.DeviceCreateComputePipelineAsync = &wgpuDeviceCreateComputePipelineAsync;
#    undef X
    loaded.implementation = "browser";
    return &loaded;
}

#else

static constexpr const char * file_names[] = {
#    if defined(__APPLE__)
    "libwebgpu_dawn.dylib", "libwgpu_native.dylib",
#    else
    "libwebgpu_dawn.so", "libwgpu_native.so",
#    endif
};

// The library's file that a function was loaded from.
static std::string file_of(const void * function) {
    Dl_info info = {};
    return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// The folder this plugin was loaded from, with a slash at its end.
static std::string own_folder() {
    const std::string file = file_of(reinterpret_cast<const void *>(&own_folder));
    return file.substr(0, file.rfind('/') + 1);
}

// Dawn knows its version only if it was built from a git checkout.
static std::string build_of(const std::string & file) {
    std::error_code error;
    const auto      size = std::filesystem::file_size(file, error);
    const auto      time = std::filesystem::last_write_time(file, error);
    return format("%llu %lld", (unsigned long long) size, (long long) time.time_since_epoch().count());
}

static void * open_any(const std::string & preferred, std::string & path, std::string & tried) {
    std::string candidates[2 * std::size(file_names) + 1];
    size_t      n = 0;
    if (!preferred.empty()) {
        candidates[n++] = preferred;
    } else {
        for (const char * name : file_names) {
            candidates[n++] = own_folder() + name;
        }
        for (const char * name : file_names) {
            candidates[n++] = name;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (void * handle = dlopen(candidates[i].c_str(), RTLD_NOW | RTLD_LOCAL)) {
            path = candidates[i];
            return handle;
        }
        const char * error = dlerror();
        tried += format("%s%s", tried.empty() ? "" : "; ", error != nullptr ? error : candidates[i].c_str());
    }
    return nullptr;
}

static status load(const std::string & preferred) {
    std::string tried;
    void *      handle = open_any(preferred, loaded.path, tried);
    if (handle == nullptr) {
        return status::failure("no WebGPU library could be loaded (" + tried + "). Put libwebgpu_dawn.so beside this plugin or name one in "
                               "GGML_WEBGPU_LIBRARY");
    }
    const char * missing = nullptr;
    const auto   symbol  = [&](const char * name, bool required) {
        void * address = dlsym(handle, name);
        if (address == nullptr && required && missing == nullptr) {
            missing = name;
        }
        return address;
    };
#    define X(name) loaded.name = reinterpret_cast<decltype(loaded.name)>(symbol("wgpu" #name, true));
    GGML_WEBGPU_FUNCTIONS(X)
#    undef X
#    define X(name) loaded.name = reinterpret_cast<decltype(loaded.name)>(symbol("wgpu" #name, false));
    GGML_WEBGPU_OPTIONAL_FUNCTIONS(X)
#    undef X
    loaded.DevicePoll = reinterpret_cast<decltype(loaded.DevicePoll)>(symbol("wgpuDevicePoll", false));
    if (missing != nullptr) {
        dlclose(handle);
        return status::failure(loaded.path + " is not a usable WebGPU library: it has no function " + missing);
    }
    loaded.dawn           = loaded.DevicePoll == nullptr;
    loaded.caches         = loaded.dawn && symbol("wgpuResourceTableInsert", false) != nullptr;  // as new as that struct, July 2026
    loaded.build          = build_of(file_of(reinterpret_cast<const void *>(loaded.CreateInstance)));
    loaded.implementation = loaded.dawn ? "Dawn" : "wgpu-native";
    if (!loaded.dawn) {
        loaded.InstanceWaitAny                  = nullptr;
        loaded.DeviceCreateComputePipelineAsync = nullptr;
    }
    return {};
}

result<const functions *> load_library(const std::string & preferred) {
    static std::once_flag once;
    static status         outcome;
    std::call_once(once, [&] { outcome = load(preferred); });
    if (!outcome.ok()) {
        return outcome;
    }
    return &loaded;
}

#endif

}  // namespace gpu
