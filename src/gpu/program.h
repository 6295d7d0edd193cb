// Dispatches turned into WebGPU commands once, to be submitted any number of times: pipelines resolved, and with the first
// submission, while the GPU runs what was submitted before, parameters uploaded and bind groups made. Submitting a program again
// costs a few calls a dispatch and no memory.
#pragma once

#include "gpu/kernel.h"

namespace gpu {

class profiler;

// Of all parameters of a dispatch; kernel_cache::params_bytes at most.
size_t params_bytes(const dispatch & d);

class program {
public:
    // Compiles what is missing (all kernels at once).
    static result<std::unique_ptr<program>> build(std::shared_ptr<device> on, std::vector<dispatch> dispatches);
    ~program();

    // Submits all dispatches, in growing batches so that the GPU starts early; returns without waiting.
    status submit(profiler * timing);

    size_t size() const { return commands_.size(); }

private:
    struct command {
        kernel *      code;
        WGPUBindGroup group;
        uint32_t      params_at;  // byte offset in the arena
        uint32_t      x, y;       // grid
        std::string   label;
    };

    // What the commands from the `ready`th on still wait for.
    struct pending {
        std::vector<uint32_t>     params;    // of all commands, as they will lie in the arena
        std::vector<binding_plan> bindings;  // of all commands
        size_t                    ready = 0;
        std::map<std::vector<uint64_t>, WGPUBindGroup> groups;  // by what they bind
    };

    explicit program(std::shared_ptr<device> on) : device_(std::move(on)), pending_(new pending) {}
    status        add(dispatch & d);
    status        make_ready(size_t end);
    WGPUBindGroup bind_group(const binding_plan & plan);
    void          encode(WGPUCommandEncoder encoder, size_t begin, size_t end, profiler * timing);

    std::shared_ptr<device>    device_;
    std::vector<command>       commands_;
    std::vector<WGPUBindGroup> groups_;   // each distinct one once
    buffer_ref                 arena_;    // the parameters of all commands
    std::unique_ptr<pending>   pending_;  // null when all commands are ready
};

}  // namespace gpu
