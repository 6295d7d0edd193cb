#include "graph/executor.h"

#include "gpu/log.h"
#include "graph/beside.h"
#include "graph/memory.h"
#include "graph/sharing.h"

#include <algorithm>
#include <cstdio>
#include <ggml-impl.h>

namespace graph {

static constexpr size_t   max_kept_programs = 32;
static constexpr uint32_t debug_slots       = 256;

executor::executor(std::shared_ptr<gpu::device> on, fusions & of_device) : device_(std::move(on)), fusions_(of_device) {
    if (device_->user().profile) {
        profiler_ = std::make_unique<gpu::profiler>(device_);
    }
}

executor::~executor() {
    (void) synchronize();
    gpu::log(gpu::log_level::debug, "kernels compiled: %zu", device_->kernels().compiled());
    if (device_->user().list_kernels) {
        for (const std::string & key : device_->kernels().keys()) {
            std::fprintf(stderr, "ggml-webgpu: kernel %s\n", key.c_str());
        }
    }
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
    words.reserve(static_cast<size_t>(graph->n_nodes) * 52);
    for (int i = 0; i < graph->n_nodes; i++) {
        const ggml_tensor * node = graph->nodes[i];
        if (!computes(node)) {
            continue;
        }
        words.push_back(node->op);
        // An output is never fused away, nor what another part of the host's graph reads.
        words.push_back(static_cast<uint64_t>(node->flags));
        words.push_back(static_cast<uint64_t>(ggml_node_get_use_count(graph, i)));
        describe(words, node);
        const auto * op_params = reinterpret_cast<const uint64_t *>(node->op_params);
        words.insert(words.end(), op_params, op_params + GGML_MAX_OP_PARAMS / sizeof(uint64_t));
        for (uint64_t s = 0; s < GGML_MAX_SRC; s++) {
            if (node->src[s] != nullptr) {
                words.push_back(s);
                describe(words, node->src[s]);
            }
        }
    }
    return words;
}

//
// planning
//

// A graph that is seen for the first time. What was planned of it goes to the GPU while the rest is planned.
struct executor::planning {
    const ggml_cgraph *       graph;
    kept &                    into;
    side_by_side              placing;
    shared_preparation        sharing  = {};
    std::vector<planned_node> waiting  = {};  // planned, not in the program yet
    size_t                    steps    = 0;   // of these
    uint64_t                  scratch  = 0;   // bytes that plans take, so far
    uint64_t                  prepared = 0;
    bool                      early;          // parts are submitted before the rest is planned
    bool                      moves = false;  // memory that parts are bound to is replaced
};

static bool holds(const gpu::buffer_ref & memory, uint64_t bytes) {
    return bytes == 0 || (memory != nullptr && memory->size() >= bytes);
}

// Memory that all programs share, grown to `bytes`. What parts of the graph left there stays.
gpu::status executor::reserve(gpu::buffer_ref & memory, uint64_t bytes, const char * name, planning & p) {
    if (holds(memory, bytes)) {
        return {};
    }
    programs_.clear();  // they are bound to the old memory
    auto made = device_->create_buffer(bytes, name);
    if (!made.ok()) {
        return made.why();
    }
    if (memory != nullptr && p.moves) {
        if (gpu::status s = device_->copy(memory, 0, *made, 0, memory->size()); !s.ok()) {
            return s;
        }
    }
    memory = *made;
    return {};
}

// Memory for all plans. Parts that are bound to what is too small are submitted before.
gpu::status executor::reserve(planning & p) {
    if (holds(scratch_, p.scratch) && holds(prepared_, p.prepared)) {
        return {};
    }
    gpu::status done = p.into.runs->add(p.placing.take(true));
    if (done.ok()) {
        done = p.into.runs->submit_added();
    }
    p.moves = p.into.runs->size() > 0;
    if (done.ok()) {
        done = reserve(scratch_, p.scratch, "scratch", p);
    }
    return done.ok() ? reserve(prepared_, p.prepared, "prepared", p) : done;
}

// Memory of a fixed size, made when it is first needed.
gpu::status executor::make_once(gpu::buffer_ref & memory, uint64_t bytes, const char * name) {
    if (memory != nullptr) {
        return {};
    }
    auto made = device_->create_buffer(bytes, name);
    if (made.ok()) {
        memory = *made;
    }
    return made.why();
}

// Memory for kernels that print, if the plan has one.
gpu::status executor::reserve_debug(const ops::plan & plan) {
    for (const ops::step & s : plan.steps) {
        for (const ops::operand & o : s.operands) {
            if (o.where == ops::operand::kind::debug) {
                return make_once(debug_, debug_slots * sizeof(float), "debug");
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

// ADAMW updates its moments too, which are sources; all other ops write their results alone.
static bool writes_sources(const ggml_tensor * node) {
    return node->op == GGML_OP_OPT_STEP_ADAMW;
}

static bool written_by(const std::vector<const ggml_tensor *> & nodes, const ggml_tensor * t) {
    return std::any_of(nodes.begin(), nodes.end(), [=](const ggml_tensor * node) { return writes_sources(node) || overlap(node, t); });
}

gpu::dispatch executor::resolve(ops::step && s, const planned_node & of, bool & faults) {
    gpu::dispatch d;
    d.label  = of.name + " " + s.kernel.shader();
    d.kernel = std::move(s.kernel);
    d.values = std::move(s.params);
    d.groups = s.groups;
    d.operands.reserve(s.operands.size());
    d.joins  = s.joins;
    for (const ops::operand & o : s.operands) {
        gpu::operand bound{ o.name, nullptr, o.offset, o.size, o.type, o.wide, o.atomic, o.pairs, o.floats };
        switch (o.where) {
            case ops::operand::kind::tensor:
                bound.memory  = memory_of(o.tensor);
                bound.offset  = offset_of(o.tensor);
                bound.size    = ops::span(o.tensor);
                bound.written = written_by(of.nodes, o.tensor);
                break;
            case ops::operand::kind::scratch:
                bound.memory = scratch_;
                break;
            case ops::operand::kind::prepared:
                bound.memory  = prepared_;
                bound.written = o.written;
                break;
            case ops::operand::kind::fault:
                bound.memory  = fault_;
                bound.size    = sizeof(uint32_t);
                bound.written = false;  // atomically, in any order
                faults        = true;
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

static uint64_t prepared_bytes(const ops::plan & plan) {
    uint64_t bytes = 0;
    for (const ops::step & s : plan.steps) {
        for (const ops::operand & o : s.operands) {
            bytes = std::max(bytes, o.where == ops::operand::kind::prepared ? o.offset + o.size : 0);
        }
    }
    return bytes;
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
    std::string line = gpu::format("%s '%s' %s groups=%llu", of.name.c_str(), of.nodes[0]->name, s.kernel.shader().c_str(), (unsigned long long) s.groups);
    for (const ops::operand & o : s.operands) {
        line += std::string(" ") + o.name + ":" + o.type;
        if (o.tensor != nullptr) {
            line += gpu::format("[%lld,%lld,%lld,%lld]@%llu+%llx", (long long) o.tensor->ne[0], (long long) o.tensor->ne[1], (long long) o.tensor->ne[2],
                                (long long) o.tensor->ne[3], (unsigned long long) memory_id(o.tensor), (unsigned long long) offset_of(o.tensor));
        }
    }
    gpu::log(gpu::log_level::debug, "%s", line.c_str());
}

static void log_joined(const std::vector<gpu::dispatch> & dispatches) {
    for (const gpu::dispatch & d : dispatches) {
        if (!d.beside.empty()) {
            gpu::log(gpu::log_level::debug, "side by side: %s", d.label.c_str());
        }
    }
}

// Plans the node at `i`, and those computed with it; moves on.
gpu::status executor::plan_next(planning & p, int & i) {
    const ggml_tensor * node     = p.graph->nodes[i];
    ops::fused          together = p.into.fuses ? ops::plan_fused(device_->caps(), p.graph, i) : ops::fused();
    std::string         name;
    if (together.nodes != 0) {
        name = ops::fusion_name(together.pattern);
        p.into.fused[together.pattern]++;
    } else {
        name     = ggml_op_desc(node);
        together = { 1, ops::plan_node(device_->caps(), node) };
    }
    if (!together.steps.supported()) {
        return gpu::status::failure(gpu::format("%s '%s' cannot run: %s", name.c_str(), node->name, together.steps.why.c_str()));
    }
    if (const ggml_tensor * t = outside(together.steps)) {
        return gpu::status::failure(gpu::format("%s '%s' uses '%s', which is not in this device's memory", name.c_str(), node->name, t->name));
    }
    if (gpu::status s = reserve_debug(together.steps); !s.ok()) {
        return s;
    }
    ggml_tensor * const * first = p.graph->nodes + i;
    i += together.nodes;
    if (p.into.fuses) {
        ops::quantise_for_product(device_->caps(), p.graph, i - 1, together.steps);
        p.sharing.share(together.steps, first, first + together.nodes);
    }
    p.steps += together.steps.steps.size();
    p.scratch  = std::max(p.scratch, together.steps.scratch);
    p.prepared = std::max(p.prepared, prepared_bytes(together.steps));
    p.waiting.push_back({ { first, first + together.nodes }, std::move(name), std::move(together.steps) });
    return {};
}

// Moves what was planned into the program and submits it: if that is not all, only as long as every kernel is there. Where some are
// missing, the rest is planned first, so that they are compiled together.
gpu::status executor::submit_planned(planning & p, bool all) {
    std::vector<gpu::dispatch> dispatches;
    for (planned_node & node : p.waiting) {
        for (ops::step & s : node.steps.steps) {
            if (device_->user().debug) {
                log_step(node, s);
            }
            gpu::dispatch d = resolve(std::move(s), node, p.into.faults);
            if (p.into.fuses) {
                p.placing.add(std::move(d));
            } else {
                dispatches.push_back(std::move(d));
            }
        }
    }
    p.waiting.clear();
    p.steps = 0;
    if (p.into.fuses) {
        dispatches = p.placing.take(all);
        if (device_->user().debug) {
            log_joined(dispatches);
        }
    }
    if (gpu::status added = p.into.runs->add(std::move(dispatches)); !added.ok()) {
        return added;
    }
    p.early = p.early && p.into.runs->is_compiled();
    return p.early || (all && profiler_ == nullptr) ? p.into.runs->submit_added() : gpu::status();
}

gpu::status executor::plan_and_submit(planning & p) {
    size_t parts = 0;
    for (int i = 0; i < p.graph->n_nodes;) {
        if (!computes(p.graph->nodes[i])) {
            i++;
            continue;
        }
        if (gpu::status s = plan_next(p, i); !s.ok()) {
            return s;
        }
        if (p.early && p.steps >= gpu::program::batch(parts) && holds(scratch_, p.scratch) && holds(prepared_, p.prepared)) {
            if (gpu::status s = submit_planned(p, false); !s.ok()) {
                return s;
            }
            parts++;
        }
    }
    gpu::status done = reserve(p);
    if (done.ok()) {
        done = submit_planned(p, true);
    }
    return done.ok() && profiler_ != nullptr ? p.into.runs->submit(profiler_.get()) : done;
}

gpu::status executor::run_new(const ggml_cgraph * graph, signature of) {
    if (gpu::status s = make_once(fault_, sizeof(uint32_t), "fault"); !s.ok()) {
        return s;
    }
    kept     fresh{ .uid = graph->uid, .of = std::move(of), .fuses = fusions_.enabled(), .runs = std::make_unique<gpu::program>(device_) };
    planning p{ .graph = graph, .into = fresh, .placing = side_by_side(device_->caps()), .early = profiler_ == nullptr };
    const gpu::status done = plan_and_submit(p);
    fault_pending_ = fault_pending_ || fresh.faults;
    fusions_.add(fresh.fused);
    if (done.ok() && !p.moves) {
        programs_.push_front(std::move(fresh));
        if (programs_.size() > max_kept_programs) {
            programs_.pop_back();
        }
    }
    return done;
}

// The program of an equal graph, or null and the graph's signature.
executor::kept * executor::known(const ggml_cgraph * graph, signature & of) {
    const bool fuse = fusions_.enabled();
    const auto find = [&](auto matches) {
        const auto found = std::find_if(programs_.begin(), programs_.end(), [&](const kept & k) { return k.fuses == fuse && matches(k); });
        if (found != programs_.end()) {
            programs_.splice(programs_.begin(), programs_, found);
        }
        return found != programs_.end();
    };
    // ggml's scheduler numbers the graphs that it prepares: equal numbers mean equal graphs.
    if (graph->uid != 0 && find([&](const kept & k) { return k.uid == graph->uid; })) {
        return &programs_.front();
    }
    of = signature_of(graph);
    if (find([&](const kept & k) { return k.of == of; })) {
        programs_.front().uid = graph->uid;
        return &programs_.front();
    }
    return nullptr;
}

//
// running
//

gpu::status executor::compute(const ggml_cgraph * graph) {
    if (gpu::status s = device_->health(); !s.ok()) {
        return s;
    }
    signature of;
    kept *    found = known(graph, of);
    if (found == nullptr) {
        return run_new(graph, std::move(of));
    }
    fault_pending_ = fault_pending_ || found->faults;
    fusions_.add(found->fused);
    return found->runs->submit(profiler_.get());
}

gpu::status executor::synchronize() {
    if (debug_ != nullptr) {
        if (gpu::status s = print_debug(); !s.ok()) {
            return s;
        }
    }
    const uint32_t met = std::exchange(fault_met_, 0);
    if (fault_pending_ || met != 0) {
        return report_fault(met);
    }
    return device_->wait_idle();
}

gpu::status executor::report_fault(uint32_t met) {
    if (fault_pending_) {
        fault_pending_ = false;
        if (gpu::status s = device_->read(fault_, 0, &met, sizeof met); !s.ok()) {
            return s;
        }
    }
    if (met == 0) {
        return {};
    }
    (void) device_->fill(fault_, 0, 0, sizeof met);
    return gpu::status::failure(gpu::format("%s met a row index out of range; that row was neither read nor written",
                                            ggml_op_name(static_cast<ggml_op>(met - 1))));
}

gpu::status executor::read(const ggml_tensor * tensor, void * data, uint64_t offset, uint64_t size) {
    std::vector<gpu::device::range> ranges = { { memory_of(tensor), offset_of(tensor) + offset, data, size } };
    if (fault_pending_) {  // saves synchronize a round trip
        ranges.push_back({ fault_, 0, &fault_met_, sizeof fault_met_ });
    }
    gpu::status s  = device_->read(ranges);
    fault_pending_ = fault_pending_ && !s.ok();
    return s;
}

}  // namespace graph
