#include "graph/executor.h"

#include "gpu/log.h"
#include "graph/memory.h"
#include "graph/sharing.h"

#include <cstdio>
#include <ggml-impl.h>

namespace graph {

static constexpr size_t   max_kept_programs = 32;
static constexpr uint32_t debug_slots       = 256;

executor::executor(std::shared_ptr<gpu::device> on) : device_(std::move(on)) {
    if (device_->user().profile) {
        profiler_ = std::make_unique<gpu::profiler>(device_);
    }
}

executor::~executor() {
    (void) synchronize();
    gpu::log(gpu::log_level::debug, "kernels compiled: %zu", device_->kernels().compiled());
    if (profiler_ != nullptr) {
        // Asked for by the user, so it does not go through the host's log, which many programs silence.
        std::fputs(profiler_->report().c_str(), stderr);
    }
}

//
// recognising a graph
//

static uint64_t memory_id(const ggml_tensor * t) {
    const gpu::buffer_ref & memory = memory_of(t);
    return memory != nullptr ? memory->id() : 0;
}

static void describe(std::vector<uint64_t> & into, const ggml_tensor * t) {
    into.push_back(reinterpret_cast<uintptr_t>(t->data));
    into.push_back(memory_id(t));
    into.push_back(t->type);
    into.insert(into.end(), t->ne, t->ne + GGML_MAX_DIMS);
    into.insert(into.end(), t->nb, t->nb + GGML_MAX_DIMS);
}

static bool computes(const ggml_tensor * node) {
    return (node->flags & GGML_TENSOR_FLAG_COMPUTE) != 0 && !ggml_is_empty(node);
}

// Everything a plan depends on. Equal signatures mean equal programs.
static std::vector<uint64_t> signature_of(const ggml_cgraph * graph) {
    std::vector<uint64_t> words;
    words.reserve(static_cast<size_t>(graph->n_nodes) * 48);
    for (int i = 0; i < graph->n_nodes; i++) {
        const ggml_tensor * node = graph->nodes[i];
        if (!computes(node)) {
            continue;
        }
        words.push_back(node->op);
        describe(words, node);
        const auto * op_params = reinterpret_cast<const uint64_t *>(node->op_params);
        words.insert(words.end(), op_params, op_params + GGML_MAX_OP_PARAMS / sizeof(uint64_t));
        for (const ggml_tensor * src : node->src) {
            if (src != nullptr) {
                describe(words, src);
            }
        }
    }
    return words;
}

//
// planning
//

gpu::status executor::reserve_scratch(uint64_t bytes) {
    if (bytes == 0 || (scratch_ != nullptr && scratch_->size() >= bytes)) {
        return {};
    }
    programs_.clear();  // they are bound to the old scratch memory
    auto memory = device_->create_buffer(bytes, "scratch");
    if (memory.ok()) {
        scratch_ = *memory;
    }
    return memory.why();
}

// Memory for kernels that print, if the plan has one.
gpu::status executor::reserve_debug(const ops::plan & plan) {
    for (const ops::step & s : plan.steps) {
        for (const ops::operand & o : s.operands) {
            if (o.where == ops::operand::kind::debug && debug_ == nullptr) {
                auto memory = device_->create_buffer(debug_slots * sizeof(float), "debug");
                if (!memory.ok()) {
                    return memory.why();
                }
                debug_ = *memory;
            }
        }
    }
    return {};
}

gpu::status executor::print_debug() {
    float values[debug_slots];
    if (gpu::status s = device_->read(debug_, 0, values, sizeof values); !s.ok()) {
        return s;
    }
    for (uint32_t i = 0; i < debug_slots; i++) {
        if (values[i] != 0.0f) {
            gpu::log(gpu::log_level::debug, "debug value %u: %.9g", i, values[i]);
        }
    }
    return device_->fill(debug_, 0, 0, sizeof values);
}

gpu::dispatch executor::resolve(const ops::step & s, const planned_node & of, bool & faults) {
    gpu::dispatch d;
    d.kernel = s.kernel;
    d.values = s.params;
    d.groups = s.groups;
    d.label  = of.name + " " + s.kernel.shader();
    for (const ops::operand & o : s.operands) {
        gpu::operand bound{ o.name, nullptr, o.offset, o.size, o.type, o.wide, o.atomic, o.pairs };
        switch (o.where) {
            case ops::operand::kind::tensor:
                bound.memory = memory_of(o.tensor);
                bound.offset = offset_of(o.tensor);
                bound.size   = ops::span(o.tensor);
                break;
            case ops::operand::kind::scratch:
                bound.memory = scratch_;
                break;
            case ops::operand::kind::fault:
                bound.memory = fault_;
                bound.size   = sizeof(uint32_t);
                faults       = true;
                break;
            case ops::operand::kind::debug:
                bound.memory = debug_;
                bound.size   = debug_slots * sizeof(float);
                break;
        }
        d.operands.push_back(std::move(bound));
    }
    return d;
}

// Null, or the operand that lies outside the device.
static const ggml_tensor * outside(const ops::plan & plan) {
    for (const ops::step & s : plan.steps) {
        for (const ops::operand & o : s.operands) {
            if (o.where == ops::operand::kind::tensor && memory_of(o.tensor) == nullptr) {
                return o.tensor;
            }
        }
    }
    return nullptr;
}

static void log_step(const executor::planned_node & of, const ops::step & s) {
    std::string line = gpu::format("%s '%s' %s groups=%llu", of.name.c_str(), of.first->name, s.kernel.shader().c_str(), (unsigned long long) s.groups);
    for (const ops::operand & o : s.operands) {
        line += std::string(" ") + o.name + ":" + o.type;
        if (o.tensor != nullptr) {
            line += gpu::format("[%lld,%lld,%lld,%lld]", (long long) o.tensor->ne[0], (long long) o.tensor->ne[1], (long long) o.tensor->ne[2],
                                (long long) o.tensor->ne[3]);
        }
    }
    gpu::log(gpu::log_level::debug, "%s", line.c_str());
}

gpu::result<std::vector<gpu::dispatch>> executor::plan_graph(const ggml_cgraph * graph, bool & faults) {
    std::vector<planned_node> plans;
    shared_preparation        sharing;
    uint64_t                  scratch = 0;
    for (int i = 0; i < graph->n_nodes;) {
        const ggml_tensor * node = graph->nodes[i];
        if (!computes(node)) {
            i++;
            continue;
        }
        ops::fused together;
        if (!device_->user().no_fusion) {
            together = ops::plan_fused(device_->caps(), graph, i);
        }
        if (together.nodes == 0) {
            together = { 1, ops::plan_node(device_->caps(), node), ggml_op_desc(node) };
        }
        if (!together.steps.supported()) {
            return gpu::status::failure(gpu::format("%s '%s' cannot run: %s", together.name.c_str(), node->name, together.steps.why.c_str()));
        }
        if (const ggml_tensor * t = outside(together.steps)) {
            return gpu::status::failure(
                gpu::format("%s '%s' uses '%s', which is not in this device's memory", together.name.c_str(), node->name, t->name));
        }
        if (gpu::status s = reserve_debug(together.steps); !s.ok()) {
            return s;
        }
        scratch = std::max(scratch, together.steps.scratch);
        if (!device_->user().no_fusion) {
            sharing.share(together.steps, graph->nodes + i, graph->nodes + i + together.nodes);
        }
        i += together.nodes;
        plans.push_back({ node, std::move(together.name), std::move(together.steps) });
    }
    if (fault_ == nullptr) {
        auto memory = device_->create_buffer(sizeof(uint32_t), "fault");
        if (!memory.ok()) {
            return memory.why();
        }
        fault_ = *memory;
    }
    if (gpu::status s = reserve_scratch(scratch); !s.ok()) {
        return s;
    }
    std::vector<gpu::dispatch> dispatches;
    for (const planned_node & p : plans) {
        for (const ops::step & s : p.steps.steps) {
            if (device_->user().debug) {
                log_step(p, s);
            }
            dispatches.push_back(resolve(s, p, faults));
        }
    }
    return dispatches;
}

gpu::result<executor::kept *> executor::program_for(const ggml_cgraph * graph) {
    signature of = signature_of(graph);
    for (auto it = programs_.begin(); it != programs_.end(); ++it) {
        if (it->of == of) {
            programs_.splice(programs_.begin(), programs_, it);
            return &programs_.front();
        }
    }
    bool faults     = false;
    auto dispatches = plan_graph(graph, faults);
    if (!dispatches.ok()) {
        return dispatches.why();
    }
    auto made = gpu::program::build(device_, *dispatches);
    if (!made.ok()) {
        return made.why();
    }
    programs_.push_front({ std::move(of), std::move(*made), faults });
    if (programs_.size() > max_kept_programs) {
        programs_.pop_back();
    }
    return &programs_.front();
}

//
// running
//

gpu::status executor::compute(const ggml_cgraph * graph) {
    if (gpu::status s = device_->health(); !s.ok()) {
        return s;
    }
    auto found = program_for(graph);
    if (!found.ok()) {
        return found.why();
    }
    fault_pending_ = fault_pending_ || (*found)->faults;
    return (*found)->runs->submit(profiler_.get());
}

gpu::status executor::synchronize() {
    if (debug_ != nullptr) {
        if (gpu::status s = print_debug(); !s.ok()) {
            return s;
        }
    }
    if (!fault_pending_) {
        return device_->wait_idle();
    }
    fault_pending_  = false;
    uint32_t    met = 0;
    gpu::status s   = device_->read(fault_, 0, &met, sizeof met);
    if (!s.ok() || met == 0) {
        return s;
    }
    (void) device_->fill(fault_, 0, 0, sizeof met);
    return gpu::status::failure(gpu::format("%s met a row index out of range; that row was neither read nor written",
                                            ggml_op_name(static_cast<ggml_op>(met - 1))));
}

}  // namespace graph
