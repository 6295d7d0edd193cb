#include "gpu/program.h"

#include "gpu/log.h"
#include "gpu/profiler.h"

#include <algorithm>

namespace gpu {

// Bytes of parameters that share a buffer, at most.
static constexpr size_t arena_bytes = 64u << 10;

program::~program() {
    for (arena & a : arenas_) {
        for (auto & [key, group] : a.groups) {
            wgpu().BindGroupRelease(group);
        }
    }
}

result<std::unique_ptr<program>> program::build(std::shared_ptr<device> on, std::vector<dispatch> dispatches) {
    std::unique_ptr<program> made(new program(std::move(on)));
    status                   done = made->add(std::move(dispatches));
    if (done.ok()) {
        done = made->await(made->size());
    }
    if (!done.ok()) {
        return done;
    }
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

status program::add(std::vector<dispatch> dispatches) {
    for (size_t i = 0; i < dispatches.size(); i++) {
        if (dispatches[i].groups == 0) {
            continue;
        }
        status done = reserve(dispatches.size() - i);
        if (done.ok()) {
            done = add(dispatches[i]);
        }
        if (!done.ok()) {
            return done;
        }
    }
    return {};
}

// Makes room for the parameters of a dispatch, if there is none for those of `dispatches`.
status program::reserve(size_t dispatches) {
    static constexpr size_t most = kernel_cache::params_bytes;  // of one, and every binding reaches so far past its offset
    if (!arenas_.empty() && arenas_.back().words.size() * sizeof(uint32_t) + 2 * most <= arenas_.back().memory->size()) {
        return {};
    }
    auto memory = device_->create_buffer(std::min((dispatches + 1) * most, arena_bytes), "parameters");
    if (memory.ok()) {
        arenas_.emplace_back().memory = *memory;
    }
    return memory.why();
}

status program::add(dispatch & d) {
    auto plan = d.beside.empty() ? plan_bindings(d.operands, device_->caps()) : plan_bindings(operands_of(d), device_->caps());
    if (!plan.ok()) {
        return status::failure(d.label + ": " + plan.why().text());
    }
    std::vector<uint32_t> & words = arenas_.back().words;
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
    commands_.push_back({
        .code      = device_->kernels().request(d, *plan),
        .group     = nullptr,
        .arena     = static_cast<uint32_t>(arenas_.size() - 1),
        .params_at = static_cast<uint32_t>(params_at * sizeof(uint32_t)),
        .x         = static_cast<uint32_t>(x),
        .y         = static_cast<uint32_t>(y),
        .label     = std::move(d.label),
    });
    bindings_.push_back(std::move(*plan));
    return {};
}

bool program::is_compiled() {
    while (compiled_ < commands_.size() && device_->kernels().is_compiled(*commands_[compiled_].code)) {
        compiled_++;
    }
    return compiled_ == commands_.size();
}

status program::await(size_t end) {
    for (; compiled_ < end; compiled_++) {
        if (status compiled = device_->kernels().await(*commands_[compiled_].code); !compiled.ok()) {
            return compiled;
        }
    }
    return {};
}

// Uploads the parameters of the commands before `end` and binds their memory.
status program::make_ready(size_t end) {
    if (ready_ >= end) {
        return {};
    }
    for (arena & a : arenas_) {
        const uint64_t bytes = a.words.size() * sizeof(uint32_t);
        if (a.uploaded < bytes) {
            if (status written = device_->write(a.memory, a.uploaded, a.words.data() + a.uploaded / sizeof(uint32_t), bytes - a.uploaded); !written.ok()) {
                return written;
            }
            a.uploaded = bytes;
        }
    }
    const size_t first = commands_.size() - bindings_.size();
    for (; ready_ < end; ready_++) {
        commands_[ready_].group = bind_group(arenas_[commands_[ready_].arena], bindings_[ready_ - first]);
    }
    if (ready_ == commands_.size()) {
        bindings_.clear();
    }
    return device_->health();
}

WGPUBindGroup program::bind_group(arena & of, const binding_plan & plan) {
    std::vector<uint64_t> key;
    for (const binding & b : plan.bindings) {
        key.insert(key.end(), { b.memory->id(), b.offset, b.size });
    }
    WGPUBindGroup & group = of.groups[key];
    if (group != nullptr) {
        return group;
    }
    std::vector<WGPUBindGroupEntry> entries(plan.bindings.size() + 1);
    entries[0]        = {};
    entries[0].buffer = of.memory->handle();
    entries[0].size   = kernel_cache::params_bytes;
    for (size_t b = 0; b < plan.bindings.size(); b++) {
        const binding & bound  = plan.bindings[b];
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
    return group                       = wgpu().DeviceCreateBindGroup(device_->handle(), &descriptor);
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

status program::submit(size_t begin, size_t end, profiler * timing) {
    status done = await(end);
    if (done.ok()) {
        done = make_ready(end);
    }
    if (done.ok() && timing != nullptr) {
        done = timing->begin(end - begin);
    }
    if (!done.ok()) {
        return done;
    }
    return device_->encode("graph", [&](WGPUCommandEncoder encoder) {
        encode(encoder, begin, end, timing);
        if (timing != nullptr) {
            timing->resolve(encoder);
        }
    });
}

size_t program::batch(size_t number) {
    static constexpr size_t ramp[] = { 8, 32, 60, 100 };
    return ramp[std::min(number, std::size(ramp) - 1)];
}

status program::submit_added() {
    while (submitted_ < commands_.size()) {
        const size_t end = std::min(commands_.size(), submitted_ + batch(SIZE_MAX));
        if (status sent = submit(submitted_, end, nullptr); !sent.ok()) {
            return sent;
        }
        submitted_ = end;
    }
    return {};
}

status program::submit(profiler * timing) {
    for (size_t begin = 0, number = 0; begin < commands_.size(); number++) {
        const size_t end = std::min(commands_.size(), begin + batch(number));
        if (status sent = submit(begin, end, timing); !sent.ok()) {
            return sent;
        }
        begin = end;
    }
    return timing != nullptr ? timing->collect() : status();
}

}  // namespace gpu
