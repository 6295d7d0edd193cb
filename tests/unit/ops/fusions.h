// ggml's switch and counters of fused nodes, as its test-fusion uses them.
#pragma once

#include "../backend/host.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace test {

// Fusions are on or off while it lives, and counted from its beginning.
class fusions {
public:
    explicit fusions(bool on) {
        look_up(set_enabled_, "ggml_backend_fusion_set_enabled");
        look_up(counts_, "ggml_backend_fusion_stats_get");
        void * (*get)(ggml_backend_dev_t);
        void (*reset)(void *);
        look_up(get, "ggml_backend_fusion_get");
        look_up(reset, "ggml_backend_fusion_stats_reset");
        device_ = get(ggml_device());
        set_enabled_(device_, on);
        reset(device_);
    }
    ~fusions() { set_enabled_(device_, true); }

    // Of the pattern so called.
    uint64_t count(const char * pattern) const {
        const char * names[32];
        uint64_t     counts[32], found = 0;
        for (int i = 0, n = counts_(device_, names, counts, 32); i < n; i++) {
            found += std::strcmp(names[i], pattern) == 0 ? counts[i] : 0;
        }
        return found;
    }

private:
    template <typename F> static void look_up(F & function, const char * name) {
        function = reinterpret_cast<F>(ggml_backend_reg_get_proc_address(ggml_backend_webgpu_reg(), name));
    }

    void (*set_enabled_)(void *, bool);
    int (*counts_)(void *, const char **, uint64_t *, int);
    void * device_;
};

}  // namespace test
