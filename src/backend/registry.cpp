// The registry: which devices there are, found once, when the host first asks. Whatever stands in the way (no library, no
// adapter, a bad setting, another ggml) is one log line and no devices; the host goes on without us.
#include "ggml-webgpu.h"

#include "backend/backend.h"
#include "gpu/log.h"
#include "ops/plan.h"

#include <ggml-impl.h>

#include <cstring>
#include <vector>

namespace backend {

static void to_ggml_log(gpu::log_level level, const char * text) {
    switch (level) {
        case gpu::log_level::debug: GGML_LOG_DEBUG("%s", text); break;
        case gpu::log_level::info: GGML_LOG_INFO("%s", text); break;
        case gpu::log_level::warn: GGML_LOG_WARN("%s", text); break;
        case gpu::log_level::error: GGML_LOG_ERROR("%s", text); break;
    }
}

struct registry {
    ggml_backend_reg                             reg;
    std::vector<std::unique_ptr<device_context>> devices;

    registry();
    gpu::status find_devices();
};

static gpu::status check_ggml() {
    const std::string mismatch = ops::version_mismatch();
    if (mismatch.empty()) {
        return {};
    }
    return gpu::status::failure(gpu::format("this host runs ggml %s, which does not match the ggml this plugin was built for: %s. "
                                            "Build the plugin for the host's ggml", ggml_version(), mismatch.c_str()));
}

gpu::status registry::find_devices() {
    if (gpu::status s = check_ggml(); !s.ok()) {
        return s;
    }
    auto user = gpu::read_settings();
    if (!user.ok()) {
        return user.why();
    }
    if (auto library = gpu::load_library(user->library); !library.ok()) {
        return library.why();
    }
    auto adapters = gpu::find_adapters(*user);
    if (!adapters.ok()) {
        return adapters.why();
    }
    for (std::shared_ptr<gpu::adapter> & adapter : *adapters) {
        devices.push_back(std::make_unique<device_context>(devices.size(), std::move(adapter), *user, &reg));
    }
    return {};
}

static registry & the_registry() {
    // Never destroyed: hosts may use it, and the WebGPU library's own statics may be gone, when the process exits.
    static registry & the = *new registry;
    return the;
}

static const char * get_name(ggml_backend_reg_t) {
    return "WebGPU";
}

static size_t get_device_count(ggml_backend_reg_t) {
    return the_registry().devices.size();
}

static ggml_backend_dev_t get_device(ggml_backend_reg_t, size_t index) {
    const auto & devices = the_registry().devices;
    return index < devices.size() ? devices[index]->device() : nullptr;
}

// Of the first device, for the host's list of what the build and machine can do.
static ggml_backend_feature * get_features(ggml_backend_reg_t) {
    static const auto & features = *new std::vector<ggml_backend_feature>([] {
        std::vector<ggml_backend_feature> list;
        const auto &                      devices = the_registry().devices;
        if (!devices.empty()) {
            const gpu::capabilities & caps = devices[0]->caps();
            const auto                add  = [&](const char * name, bool has) { list.push_back({ name, has ? "1" : "0" }); };
            add("F16", caps.f16);
            add("SUBGROUPS", caps.subgroups);
            add("SUBGROUP_MATRIX", caps.subgroup_matrix());
            add("PACKED_DOT", caps.packed_dot);
        }
        list.push_back({ nullptr, nullptr });
        return list;
    }());
    return const_cast<ggml_backend_feature *>(features.data());
}

static void * get_proc_address(ggml_backend_reg_t, const char * name) {
    if (std::strcmp(name, "ggml_backend_get_features") == 0) {
        return reinterpret_cast<void *>(get_features);
    }
    return fusion_function(name);
}

registry::registry() {
    reg = {
        .api_version = GGML_BACKEND_API_VERSION,
        .iface       = { .get_name = get_name, .get_device_count = get_device_count, .get_device = get_device, .get_proc_address = get_proc_address },
        .context     = nullptr,
    };
    gpu::set_log_sink(to_ggml_log);
    const gpu::status found = guarded([&] { return find_devices(); });
    if (!found.ok()) {
        gpu::log(gpu::log_level::warn, "no WebGPU device: %s", found.text().c_str());
    }
}

}  // namespace backend

using namespace backend;

ggml_backend_reg_t ggml_backend_webgpu_reg(void) {
    return &the_registry().reg;
}

size_t ggml_backend_webgpu_get_device_count(void) {
    return the_registry().devices.size();
}

static ggml_backend_dev_t device_at(size_t index) {
    const ggml_backend_dev_t device = get_device(nullptr, index);
    if (device == nullptr) {
        gpu::log(gpu::log_level::error, "there is no device %zu; %zu were found", index, the_registry().devices.size());
    }
    return device;
}

ggml_backend_t ggml_backend_webgpu_init(size_t index) {
    const ggml_backend_dev_t device = device_at(index);
    return device != nullptr ? init_backend(device, nullptr) : nullptr;
}

ggml_backend_buffer_type_t ggml_backend_webgpu_buffer_type(size_t index) {
    const ggml_backend_dev_t device = device_at(index);
    return device != nullptr ? context_of(device).buffer_type() : nullptr;
}

// Any system may have a WebGPU device; if this one has none, the registry says why.
[[maybe_unused]] static int score() {
    return 1;
}

GGML_BACKEND_DL_IMPL(ggml_backend_webgpu_reg)
GGML_BACKEND_DL_SCORE_IMPL(score)
