// Dispatches turned into WebGPU commands once, to be submitted any number of times: pipelines resolved, bind groups made,
// parameters uploaded. Submitting a program again costs a few calls a dispatch and no memory.
#pragma once

#include "gpu/kernel.h"

namespace gpu {

class profiler;

// Of all parameters of a dispatch; kernel_cache::params_bytes at most.
size_t params_bytes(const dispatch & d);

class program {
public:
    // Compiles what is missing (all kernels at once) and uploads the parameters.
    static result<std::unique_ptr<program>> build(std::shared_ptr<device> on, const std::vector<dispatch> & dispatches);
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

    explicit program(std::shared_ptr<device> on) : device_(std::move(on)) {}
    status add(const dispatch & d, std::vector<uint8_t> & arena, std::vector<binding_plan> & plans);
    status make_bind_groups(const std::vector<binding_plan> & plans);
    void   encode(WGPUCommandEncoder encoder, size_t begin, size_t end, profiler * timing);

    std::shared_ptr<device>    device_;
    std::vector<command>       commands_;
    std::vector<WGPUBindGroup> groups_;  // each distinct one once
    buffer_ref                 arena_;
};

}  // namespace gpu
