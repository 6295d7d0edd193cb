// GPU time of every dispatch by label, and how long the GPU idled within graphs, from WebGPU's timestamp queries. Slows a
// run: each dispatch gets its own pass and each graph is waited for.
#pragma once

#include "gpu/device.h"

#include <map>

namespace gpu {

class profiler {
public:
    explicit profiler(std::shared_ptr<device> on);
    ~profiler();

    // Makes room for the passes of one encoder. Collects first when there is none left.
    status begin(size_t passes);
    // Fills `times` for the next pass; false when the device has no timestamps.
    bool mark(WGPUPassTimestampWrites & times, const std::string & label);
    // Copies the queries of the encoder's passes out, at its end.
    void resolve(WGPUCommandEncoder encoder);
    // Waits for what was submitted, reads its times back and adds them up. The time from the first pass to the last is
    // taken for one graph's.
    status collect();

    // A table, the most expensive label first.
    std::string report() const;

private:
    struct total {
        uint64_t nanoseconds = 0;
        uint64_t count       = 0;
    };

    static constexpr size_t capacity = 2048;  // passes: a query set's 4,096 timestamps
    static constexpr size_t aligned  = 16;    // passes: 256 bytes of timestamps, where they may be resolved to

    std::shared_ptr<device>      device_;
    WGPUQuerySet                 queries_ = nullptr;
    WGPUBuffer                   resolved_ = nullptr;
    buffer_ref                   times_;
    std::vector<std::string>     labels_;      // by pass; empty for one that was not used
    size_t                       first_ = 0;  // the encoder's first pass
    std::map<std::string, total> totals_;
    uint64_t                     span_ns_ = 0;  // from each graph's first pass to its last
};

}  // namespace gpu
