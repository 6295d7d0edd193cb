#include "gpu/program.h"

#include "gpu/log.h"
#include "gpu/profiler.h"

#include <algorithm>

namespace gpu {

program::~program() {
    for (WGPUBindGroup group : groups_) {
        wgpu().BindGroupRelease(group);
    }
}

result<std::unique_ptr<program>> program::build(std::shared_ptr<device> on, std::vector<dispatch> dispatches) {
    std::unique_ptr<program> made(new program(on));
    for (dispatch & d : dispatches) {
        if (d.groups == 0) {
            continue;
        }
        if (status added = made->add(d); !added.ok()) {
            return added;
        }
    }
    for (const command & c : made->commands_) {
        if (status compiled = on->kernels().await(*c.code); !compiled.ok()) {
            return compiled;
        }
    }
    if (made->commands_.empty()) {
        return made;
    }
    const uint64_t bytes  = made->pending_->params.size() * sizeof(uint32_t);
    auto           memory = on->create_buffer(bytes + kernel_cache::params_bytes, "parameters");  // every binding reaches so far past its offset
    if (!memory.ok()) {
        return memory.why();
    }
    made->arena_ = *memory;
    return made;
}

static void align(std::vector<uint32_t> & words, size_t alignment) {
    words.resize((words.size() + alignment - 1) / alignment * alignment);
}

// A job's Params, at a multiple of 16 bytes: `groups` and the operands' offsets, then d.values with its vec4 fields aligned to 16 bytes.
static void append_params(std::vector<uint32_t> & words, const dispatch & d, const uint32_t * offsets) {
    align(words, 4);
    words.push_back(static_cast<uint32_t>(d.groups));
    words.insert(words.end(), offsets, offsets + d.operands.size());
    const uint32_t * value = d.values.words().data();
    size_t           at    = 0;  // within d.values.words(), which is aligned from its own start
    for (const params::field & f : d.values.fields()) {
        at = (at + f.words - 1) / f.words * f.words;
        align(words, f.words);
        words.insert(words.end(), value + at, value + at + f.words);
        at += f.words;
    }
}

size_t params_bytes(const dispatch & d) {
    const std::vector<uint32_t> offsets(operands_of(d).size());
    std::vector<uint32_t>       words;
    for (const dispatch * job : jobs_of(d)) {
        append_params(words, *job, offsets.data());
    }
    return words.size() * sizeof(uint32_t);
}

status program::add(dispatch & d) {
    auto plan = d.beside.empty() ? plan_bindings(d.operands, device_->caps()) : plan_bindings(operands_of(d), device_->caps());
    if (!plan.ok()) {
        return status::failure(d.label + ": " + plan.why().text());
    }
    std::vector<uint32_t> & words = pending_->params;
    align(words, std::max<size_t>(device_->caps().uniform_alignment, 16) / sizeof(uint32_t));
    const size_t     params_at = words.size();
    uint64_t         groups    = 0;
    const uint32_t * offsets   = plan->residual.data();
    for (const dispatch * job : jobs_of(d)) {
        append_params(words, *job, offsets);
        groups += job->groups;
        offsets += job->operands.size();
    }
    if ((words.size() - params_at) * sizeof(uint32_t) > kernel_cache::params_bytes) {
        return status::failure(d.label + ": too many parameters");
    }
    const uint32_t limit = device_->caps().max_groups;
    const uint64_t x     = std::min<uint64_t>(groups, limit);
    const uint64_t y     = (groups + x - 1) / x;
    if (y > limit || groups > UINT32_MAX) {
        return status::failure(d.label + ": more workgroups than this device can run");
    }
    kernel * code = device_->kernels().request(d, *plan);
    commands_.push_back({ code, nullptr, static_cast<uint32_t>(params_at * sizeof(uint32_t)), static_cast<uint32_t>(x), static_cast<uint32_t>(y), std::move(d.label) });
    pending_->bindings.push_back(std::move(*plan));
    return {};
}

// Uploads the parameters of the commands before `end` and binds their memory.
status program::make_ready(size_t end) {
    if (pending_ == nullptr || pending_->ready >= end) {
        return {};
    }
    const auto     at    = [&](size_t command) { return command < commands_.size() ? commands_[command].params_at / sizeof(uint32_t) : pending_->params.size(); };
    const size_t   begin = pending_->ready, first = at(begin);
    const uint64_t bytes = (at(end) - first) * sizeof(uint32_t);
    if (status written = device_->write(arena_, first * sizeof(uint32_t), pending_->params.data() + first, bytes); !written.ok()) {
        return written;
    }
    for (size_t i = begin; i < end; i++) {
        commands_[i].group = bind_group(pending_->bindings[i]);
    }
    pending_->ready = end;
    if (end == commands_.size()) {
        pending_.reset();
    }
    return device_->health();
}

WGPUBindGroup program::bind_group(const binding_plan & plan) {
    std::vector<uint64_t> key;
    for (const binding & b : plan.bindings) {
        key.insert(key.end(), { b.memory->id(), b.offset, b.size });
    }
    WGPUBindGroup & group = pending_->groups[key];
    if (group != nullptr) {
        return group;
    }
    std::vector<WGPUBindGroupEntry> entries(plan.bindings.size() + 1);
    entries[0]        = {};
    entries[0].buffer = arena_->handle();
    entries[0].size   = kernel_cache::params_bytes;
    for (size_t b = 0; b < plan.bindings.size(); b++) {
        const binding & bound = plan.bindings[b];
        entries[b + 1]         = {};
        entries[b + 1].binding = static_cast<uint32_t>(b + 1);
        entries[b + 1].buffer  = bound.memory->handle();
        entries[b + 1].offset  = bound.offset;
        entries[b + 1].size    = bound.size;
    }
    WGPUBindGroupDescriptor descriptor = {};
    descriptor.layout                  = device_->kernels().group_layout(plan.bindings.size());
    descriptor.entryCount              = entries.size();
    descriptor.entries                 = entries.data();
    group                              = wgpu().DeviceCreateBindGroup(device_->handle(), &descriptor);
    groups_.push_back(group);
    return group;
}

void program::encode(WGPUCommandEncoder encoder, size_t begin, size_t end, profiler * timing) {
    WGPUComputePassEncoder pass = nullptr;
    for (size_t i = begin; i < end; i++) {
        const command & c = commands_[i];
        if (pass == nullptr) {
            WGPUPassTimestampWrites   times      = {};
            WGPUComputePassDescriptor descriptor = {};
            if (timing != nullptr && timing->mark(times, c.label)) {
                descriptor.timestampWrites = &times;
            }
            pass = wgpu().CommandEncoderBeginComputePass(encoder, &descriptor);
        }
        wgpu().ComputePassEncoderSetPipeline(pass, c.code->pipeline);
        wgpu().ComputePassEncoderSetBindGroup(pass, 0, c.group, 1, &c.params_at);
        wgpu().ComputePassEncoderDispatchWorkgroups(pass, c.x, c.y, 1);
        // A timestamp belongs to a pass, so a profiled dispatch has its own.
        if (timing != nullptr || i + 1 == end) {
            wgpu().ComputePassEncoderEnd(pass);
            wgpu().ComputePassEncoderRelease(pass);
            pass = nullptr;
        }
    }
}

status program::submit(profiler * timing) {
    // A small first batch: the GPU idles until it arrives. Measured on an H200: 8, 32, 60, then 100 (docs/performance.md).
    static constexpr size_t ramp[] = { 8, 32, 60, 100 };
    size_t                  step   = 0;
    for (size_t begin = 0; begin < commands_.size();) {
        const size_t end = std::min(commands_.size(), begin + ramp[std::min(step++, std::size(ramp) - 1)]);
        if (status ready = make_ready(end); !ready.ok()) {
            return ready;
        }
        if (timing != nullptr) {
            if (status room = timing->begin(end - begin); !room.ok()) {
                return room;
            }
        }
        status sent = device_->encode("graph", [&](WGPUCommandEncoder encoder) {
            encode(encoder, begin, end, timing);
            if (timing != nullptr) {
                timing->resolve(encoder);
            }
        });
        if (!sent.ok()) {
            return sent;
        }
        begin = end;
    }
    return timing != nullptr ? timing->collect() : status();
}

}  // namespace gpu
