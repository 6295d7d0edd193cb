#include "environment.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <unistd.h>

namespace test {

// Before main: the registry may be asked for devices by any test.
[[maybe_unused]] static const bool chosen = [] {
    setenv("GGML_WEBGPU_ADAPTER", "software", 0);
    setenv("GGML_WEBGPU_VALIDATE", "1", 0);
    return true;
}();

std::shared_ptr<gpu::device> device() {
    // Never closed: the WebGPU library's own statics may be gone when ours are destroyed.
    static const auto & opened = *new std::shared_ptr<gpu::device>([]() -> std::shared_ptr<gpu::device> {
        auto user = gpu::read_settings();
        if (!user.ok()) {
            ADD_FAILURE() << user.why().text();
            return nullptr;
        }
        if (auto library = gpu::load_library(user->library); !library.ok()) {
            ADD_FAILURE() << library.why().text();
            return nullptr;
        }
        auto adapters = gpu::find_adapters(*user);
        if (!adapters.ok()) {
            ADD_FAILURE() << adapters.why().text();
            return nullptr;
        }
        auto made = gpu::device::open(adapters->front(), *user);
        if (!made.ok()) {
            ADD_FAILURE() << made.why().text();
            return nullptr;
        }
        return *made;
    }());
    return opened;
}

size_t resident_bytes() {
    size_t total = 0, resident = 0;
    if (FILE * f = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(f, "%zu %zu", &total, &resident) != 2) {
            resident = 0;
        }
        std::fclose(f);
    }
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace test
