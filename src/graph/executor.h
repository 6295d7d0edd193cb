// Runs ggml graphs: one executor for each ggml backend (stream). A graph becomes a program; an unchanged graph is
// recognised and its program submitted again.
#pragma once

#include "gpu/profiler.h"
#include "gpu/program.h"
#include "ops/fusion.h"

#include <list>

struct ggml_cgraph;

namespace graph {

class executor {
public:
    explicit executor(std::shared_ptr<gpu::device> on);
    ~executor();

    // Submits the graph and returns without waiting. Fails if a node cannot run (its reason is in the text), if memory is
    // short, if the device is lost, or if an earlier graph met an index out of range.
    gpu::status compute(const ggml_cgraph * graph);

    // Waits for all graphs, and reports an index out of range met by one of them.
    gpu::status synchronize();

    gpu::device & device() { return *device_; }

    // One node, or several computed together.
    struct planned_node {
        const ggml_tensor * first;
        std::string         name;
        ops::plan           steps;
    };

private:
    using signature = std::vector<uint64_t>;
    struct kept {
        signature                     of;
        std::unique_ptr<gpu::program> runs;
        bool                          faults;  // has a kernel that checks indices
    };

    gpu::result<kept *>                     program_for(const ggml_cgraph * graph);
    gpu::result<std::vector<gpu::dispatch>> plan_graph(const ggml_cgraph * graph, bool & faults);
    gpu::status                             reserve_scratch(uint64_t bytes);
    gpu::status                             reserve_debug(const ops::plan & plan);
    gpu::status                             print_debug();
    gpu::dispatch                           resolve(const ops::step & s, const planned_node & of, bool & faults);

    std::shared_ptr<gpu::device>   device_;
    std::list<kept>                programs_;  // most recently used first
    gpu::buffer_ref                scratch_;
    gpu::buffer_ref                fault_;
    gpu::buffer_ref                debug_;  // made when a kernel first asks for it
    bool                           fault_pending_ = false;  // a submitted graph may have raised the fault word
    std::unique_ptr<gpu::profiler> profiler_;
};

}  // namespace graph
