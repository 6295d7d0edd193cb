// GPU time of every dispatch by label, from WebGPU's timestamp queries. Slows a run: each dispatch gets its own pass and
// each submission is waited for.
#pragma once

#include "gpu/device.h"

#include <map>

namespace gpu {

class profiler {
public:
    explicit profiler(std::shared_ptr<device> on);
    ~profiler();

    // Fills `times` for the next pass; false when the device has no timestamps.
    bool mark(WGPUPassTimestampWrites & times, const std::string & label);
    // Copies the queries of the marked passes out, at the end of their encoder.
    void resolve(WGPUCommandEncoder encoder);
    // Reads them back and adds them up.
    status collect();

    // A table, the most expensive label first.
    std::string report() const;

private:
    struct total {
        uint64_t nanoseconds = 0;
        uint64_t count       = 0;
    };

    static constexpr uint32_t capacity = 128;  // passes of one submission

    std::shared_ptr<device>      device_;
    WGPUQuerySet                 queries_ = nullptr;
    WGPUBuffer                   resolved_ = nullptr;
    buffer_ref                   times_;
    std::vector<std::string>     labels_;
    std::map<std::string, total> totals_;
};

}  // namespace gpu
