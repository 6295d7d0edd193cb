// Runs ggml graphs: one executor for each ggml backend (stream). A graph becomes a program; an unchanged graph is
// recognised and its program submitted again.
#pragma once

#include "gpu/profiler.h"
#include "gpu/program.h"
#include "graph/fusions.h"

#include <list>

struct ggml_cgraph;

namespace graph {

class executor {
public:
    executor(std::shared_ptr<gpu::device> on, fusions & of_device);
    ~executor();

    // Submits the graph and returns without waiting. Fails if a node cannot run (its reason is in the text), if memory is
    // short, if the device is lost, or if an earlier graph met an index out of range. Nodes before one that cannot run may be computed.
    gpu::status compute(const ggml_cgraph * graph);

    // Waits for all graphs, and reports an index out of range met by one of them.
    gpu::status synchronize();

    // Bytes of a tensor of this device, after all graphs. Reports nothing of the graphs; synchronize does.
    gpu::status read(const ggml_tensor * tensor, void * data, uint64_t offset, uint64_t size);

    gpu::device & device() { return *device_; }

    // One node, or several computed together.
    struct planned_node {
        std::vector<const ggml_tensor *> nodes;
        std::string                      name;
        ops::plan                        steps;
    };

private:
    using signature = std::vector<uint64_t>;
    struct kept {
        uint64_t                      uid;  // of the ggml_cgraph last known by this signature, 0: none
        signature                     of;
        bool                          fuses;
        std::unique_ptr<gpu::program> runs;
        bool                          faults = false;  // has a kernel that checks indices
        fusions::counts               fused  = {};
    };

    struct planning;

    kept *        known(const ggml_cgraph * graph, signature & of);
    gpu::status   run_new(const ggml_cgraph * graph, signature of);
    gpu::status   plan_and_submit(planning & p);
    gpu::status   plan_next(planning & p, int & i);
    gpu::status   submit_planned(planning & p, bool all);
    gpu::status   reserve(gpu::buffer_ref & memory, uint64_t bytes, const char * name, planning & p);
    gpu::status   reserve(planning & p);
    gpu::status   make_once(gpu::buffer_ref & memory, uint64_t bytes, const char * name);
    gpu::status   reserve_debug(const ops::plan & plan);
    gpu::status   print_debug();
    gpu::status   report_fault(uint32_t met);
    gpu::dispatch resolve(ops::step && s, const planned_node & of, bool & faults);

    std::shared_ptr<gpu::device>   device_;
    fusions &                      fusions_;
    std::list<kept>                programs_;  // most recently used first
    gpu::buffer_ref                scratch_;
    gpu::buffer_ref                prepared_;
    gpu::buffer_ref                fault_;
    gpu::buffer_ref                debug_;  // made when a kernel first asks for it
    bool                           fault_pending_ = false;  // a submitted graph may have raised the fault word
    uint32_t                       fault_met_     = 0;      // the fault word, once read
    std::unique_ptr<gpu::profiler> profiler_;
};

}  // namespace graph
