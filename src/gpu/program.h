// Dispatches turned into WebGPU commands once, to be submitted any number of times: pipelines resolved, bind groups made,
// parameters uploaded. Submitting a program again costs a few calls a dispatch and no memory.
//
// A program may be run while it is still being made: what was added is submitted, then more is added.
#pragma once

#include "gpu/kernel.h"

namespace gpu {

class profiler;

// Of all parameters of a dispatch; kernel_cache::params_bytes at most.
size_t params_bytes(const dispatch & d);

class program {
public:
    explicit program(std::shared_ptr<device> on) : device_(std::move(on)) {}
    ~program();

    // All dispatches added, and their kernels compiled.
    static result<std::unique_ptr<program>> build(std::shared_ptr<device> on, std::vector<dispatch> dispatches);

    // Appends dispatches and starts to compile what is missing, without waiting.
    status add(std::vector<dispatch> dispatches);
    // Whether nothing that was added waits for a compilation.
    bool is_compiled();

    // How many dispatches the batch of that number should have when a graph starts. A small first one: the GPU idles until it arrives.
    // Measured on an H200: docs/performance.md.
    static size_t batch(size_t number);
    // Submits what was added since the last call, for the first time; waits for compilations alone.
    status submit_added();
    // Submits all dispatches, in growing batches so that the GPU starts early; waits for compilations alone.
    status submit(profiler * timing);

    size_t size() const { return commands_.size(); }

private:
    struct command {
        kernel *      code;
        WGPUBindGroup group;
        uint32_t      arena;      // which
        uint32_t      params_at;  // byte offset there
        uint32_t      x, y;       // grid
        std::string   label;
    };

    // Parameters of some commands, and what binds them to the memory of each.
    struct arena {
        buffer_ref                                     memory;
        std::vector<uint32_t>                          words;
        uint64_t                                       uploaded = 0;  // so many bytes of the words
        std::map<std::vector<uint64_t>, WGPUBindGroup> groups;        // by what else they bind
    };

    status        reserve(size_t dispatches);
    status        add(dispatch & d);
    status        await(size_t end);
    status        make_ready(size_t end);
    WGPUBindGroup bind_group(arena & of, const binding_plan & plan);
    status        submit(size_t begin, size_t end, profiler * timing);
    void          encode(WGPUCommandEncoder encoder, size_t begin, size_t end, profiler * timing);

    std::shared_ptr<device>   device_;
    std::vector<command>      commands_;
    std::vector<arena>        arenas_;
    std::vector<binding_plan> bindings_;       // of the commands that are not ready, from the `ready_`th on
    size_t                    compiled_  = 0;  // so many commands' kernels are compiled,
    size_t                    ready_     = 0;  // so many have their parameters uploaded and their bind groups made,
    size_t                    submitted_ = 0;  // and so many were submitted by submit_added
};

}  // namespace gpu
