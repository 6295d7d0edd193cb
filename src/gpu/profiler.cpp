#include "gpu/profiler.h"

#include "gpu/log.h"

#include <algorithm>

namespace gpu {

profiler::profiler(std::shared_ptr<device> on) : device_(std::move(on)) {
    if (!device_->caps().timestamps) {
        log(log_level::warn, "GGML_WEBGPU_PROFILE is set, but this device has no timestamps: nothing is timed");
        return;
    }
    auto memory = device_->create_buffer(capacity * 2 * sizeof(uint64_t), "timestamps");
    if (!memory.ok()) {
        return;
    }
    times_ = *memory;
    WGPUBufferDescriptor resolved = {};
    resolved.size                 = capacity * 2 * sizeof(uint64_t);
    resolved.usage                = WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc;
    resolved_                     = wgpu().DeviceCreateBuffer(device_->handle(), &resolved);
    WGPUQuerySetDescriptor queries = {};
    queries.type                   = WGPUQueryType_Timestamp;
    queries.count                  = capacity * 2;
    queries_                       = wgpu().DeviceCreateQuerySet(device_->handle(), &queries);
}

profiler::~profiler() {
    if (queries_ != nullptr) {
        wgpu().QuerySetRelease(queries_);
        wgpu().BufferRelease(resolved_);
    }
}

status profiler::begin(size_t passes) {
    const size_t first = (labels_.size() + aligned - 1) / aligned * aligned;
    if (first + passes > capacity) {
        status collected = collect();
        first_           = 0;
        return collected;
    }
    labels_.resize(first);
    first_ = first;
    return {};
}

bool profiler::mark(WGPUPassTimestampWrites & times, const std::string & label) {
    if (queries_ == nullptr || labels_.size() == capacity) {
        return false;
    }
    const uint32_t first            = static_cast<uint32_t>(2 * labels_.size());
    times.querySet                  = queries_;
    times.beginningOfPassWriteIndex = first;
    times.endOfPassWriteIndex       = first + 1;
    labels_.push_back(label);
    return true;
}

void profiler::resolve(WGPUCommandEncoder encoder) {
    const uint32_t first = static_cast<uint32_t>(2 * first_);
    const uint32_t count = static_cast<uint32_t>(2 * labels_.size()) - first;
    if (count == 0) {
        return;
    }
    const uint64_t at = first * sizeof(uint64_t);
    wgpu().CommandEncoderResolveQuerySet(encoder, queries_, first, count, resolved_, at);
    wgpu().CommandEncoderCopyBufferToBuffer(encoder, resolved_, at, times_->handle(), at, count * sizeof(uint64_t));
}

status profiler::collect() {
    std::vector<uint64_t> times(2 * labels_.size());
    if (times.empty()) {
        return {};
    }
    if (status read = device_->read(times_, 0, times.data(), times.size() * sizeof(uint64_t)); !read.ok()) {
        return read;
    }
    uint64_t begin = UINT64_MAX, end = 0;
    for (size_t i = 0; i < labels_.size(); i++) {
        if (labels_[i].empty()) {
            continue;
        }
        total & t = totals_[labels_[i]];
        t.count++;
        t.nanoseconds += times[2 * i + 1] > times[2 * i] ? times[2 * i + 1] - times[2 * i] : 0;
        begin = std::min(begin, times[2 * i]);
        end   = std::max(end, times[2 * i + 1]);
    }
    span_ns_ += end > begin ? end - begin : 0;
    labels_.clear();
    return {};
}

std::string profiler::report() const {
    std::vector<std::pair<std::string, total>> rows(totals_.begin(), totals_.end());
    std::sort(rows.begin(), rows.end(), [](const auto & a, const auto & b) { return a.second.nanoseconds > b.second.nanoseconds; });
    uint64_t sum = 0;
    for (const auto & row : rows) {
        sum += row.second.nanoseconds;
    }
    std::string table = format("The GPU worked for %.1f us and idled for %.1f us between the dispatches of a graph (%.1f%%)\n", sum / 1e3,
                               span_ns_ > sum ? (span_ns_ - sum) / 1e3 : 0.0, span_ns_ > sum ? 100.0 * (span_ns_ - sum) / span_ns_ : 0.0);
    table += format("%10s %6s %8s %9s  kernel\n", "us", "%", "count", "us each");
    for (const auto & [label, t] : rows) {
        table += format("%10.1f %6.1f %8llu %9.2f  %s\n", t.nanoseconds / 1e3, sum > 0 ? 100.0 * t.nanoseconds / sum : 0.0,
                        (unsigned long long) t.count, t.nanoseconds / 1e3 / t.count, label.c_str());
    }
    return table;
}

}  // namespace gpu
