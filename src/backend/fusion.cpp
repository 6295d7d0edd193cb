// What ggml's test-fusion asks a backend for by name, beside ggml's interfaces: counts of what was fused, and doing without.
#include "backend/backend.h"

#include <cstring>

namespace backend {

static graph::fusions & fusions_of(void * handle) {
    return *static_cast<graph::fusions *>(handle);
}

static void * get(ggml_backend_dev_t device) {
    return &context_of(device).fusions();
}

static void set_enabled(void * handle, bool on) {
    fusions_of(handle).enable(on);
}

static void reset_counts(void * handle) {
    fusions_of(handle).reset();
}

// Returns how many there are; `labels` and `counts` may be null.
static int get_counts(void * handle, const char ** labels, uint64_t * counts, int capacity) {
    const graph::fusions::counts counted = fusions_of(handle).counted();
    for (size_t i = 0; i < counted.size() && static_cast<int>(i) < capacity; i++) {
        if (labels != nullptr) {
            labels[i] = ops::fusion_name(i);
        }
        if (counts != nullptr) {
            counts[i] = counted[i];
        }
    }
    return static_cast<int>(counted.size());
}

void * fusion_function(const char * name) {
    const struct {
        const char * name;
        void *       function;
    } functions[] = {
        { "ggml_backend_fusion_get", reinterpret_cast<void *>(get) },
        { "ggml_backend_fusion_set_enabled", reinterpret_cast<void *>(set_enabled) },
        { "ggml_backend_fusion_stats_init", reinterpret_cast<void *>(reset_counts) },
        { "ggml_backend_fusion_stats_reset", reinterpret_cast<void *>(reset_counts) },
        { "ggml_backend_fusion_stats_get", reinterpret_cast<void *>(get_counts) },
    };
    for (const auto & f : functions) {
        if (std::strcmp(f.name, name) == 0) {
            return f.function;
        }
    }
    return nullptr;
}

}  // namespace backend
