// Whether a device's streams may fuse nodes, and how often they computed each pattern of ops/fusion.h: for hosts that test
// fusions, from any thread.
#pragma once

#include "ops/fusion.h"

#include <array>
#include <atomic>
#include <mutex>

namespace graph {

class fusions {
public:
    using counts = std::array<uint64_t, ops::fusion_patterns>;

    explicit fusions(bool allowed) : allowed_(allowed) {}

    void enable(bool on) { wanted_ = on; }
    bool enabled() const { return allowed_ && wanted_; }

    void add(const counts & more) {
        std::lock_guard guard(lock_);
        for (size_t i = 0; i < more.size(); i++) {
            counted_[i] += more[i];
        }
    }
    void reset() {
        std::lock_guard guard(lock_);
        counted_ = {};
    }
    counts counted() const {
        std::lock_guard guard(lock_);
        return counted_;
    }

private:
    const bool         allowed_;  // by GGML_WEBGPU_DISABLE
    std::atomic<bool>  wanted_ = true;
    mutable std::mutex lock_;
    counts             counted_ = {};
};

}  // namespace graph
