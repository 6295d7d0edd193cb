#include "environment.h"

#include <cstdio>
#include <unistd.h>

namespace test {

// Before main: the registry may be asked for devices by any test.
[[maybe_unused]] static const bool chosen = [] {
    setenv("GGML_WEBGPU_ADAPTER", "software", 0);
    setenv("GGML_WEBGPU_VALIDATE", "1", 0);
    setenv("GGML_WEBGPU_KERNEL_CACHE", "0", 0);
    return true;
}();

static gpu::result<std::shared_ptr<gpu::device>> open_device() {
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
    return gpu::device::open(adapters->front(), *user);
}

std::shared_ptr<gpu::device> device() {
    // Never closed: the WebGPU library's own statics may be gone when ours are destroyed.
    static const auto & opened = *new std::shared_ptr<gpu::device>([] {
        auto made = open_device();
        if (!made.ok()) {
            std::fprintf(stderr, "there is nothing to test: %s\n", made.why().text().c_str());
            std::exit(EXIT_FAILURE);
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
