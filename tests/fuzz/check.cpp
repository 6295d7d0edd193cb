#include "check.h"

#include "compare.h"
#include "memory.h"

#include <algorithm>
#include <cstring>

namespace fuzz {

// Whether the device computes a node; else the CPU does, as ggml's scheduler would have it.
static bool supports(ggml_backend_t device, const ggml_tensor * node) {
    return ggml_backend_dev_supports_op(ggml_backend_get_device(device), node);
}

static locate place_in(const bytes & all, const memory_plan & plan, const recipe & r, const world & w) {
    return [&](const ggml_tensor * t) -> const uint8_t * {
        for (size_t i = 0; i < r.size(); i++) {
            if (w.tensor(i) == t) {
                return in(all, plan, i);
            }
        }
        return nullptr;
    };
}

// What the node writes: itself and, for some ops, sources.
static std::vector<size_t> results_of(const recipe & r, size_t node) {
    std::vector<size_t> results = { node };
    for (const int s : r[node].made_by->writes) {
        results.push_back(static_cast<size_t>(r[node].sources[static_cast<size_t>(s)]));
    }
    return results;
}

namespace {

class node_check {
public:
    node_check(const recipe & r, const memory_plan & plan, const bytes & start, ggml_backend_t cpu, ggml_backend_t device)
        : before(start), r_(r), plan_(plan), memory_(start), found_(start), host_(cpu, r, plan, &memory_), gpu_(device, r, plan) {
        gpu_.set(before);
    }

    // Empty, or what is wrong with the node.
    std::string run(size_t node, tally & seen) {
        if (is_view(host_.tensor(node))) {
            return "";
        }
        const std::string name = ggml_op_desc(host_.tensor(node));
        if (const std::string why = host_.compute(node); !why.empty()) {
            return "CPU: " + why;
        }
        if (!supports(gpu_.backend(), gpu_.tensor(node))) {
            seen.unsupported[name]++;
            gpu_.set(memory_);
        } else {
            seen.computed[name]++;
            if (const std::string why = compare_device(node, name, seen); !why.empty()) {
                return why;
            }
        }
        const std::string stray = stray_write(node, before, memory_);
        return stray.empty() ? "" : "CPU: " + stray;
    }

    bytes before;  // the CPU's memory after the last node

private:
    std::string compare_device(size_t node, const std::string & name, tally & seen) {
        if (const std::string why = gpu_.compute(node); !why.empty()) {
            return why;
        }
        gpu_.get(found_);
        if (found_ == memory_) {
            return "";
        }
        const auto sources = place_in(before, plan_, r_, host_), cpu = place_in(memory_, plan_, r_, host_), device = place_in(found_, plan_, r_, host_);
        for (const size_t result : results_of(r_, node)) {
            const verdict v = compare(r_[node], host_.tensor(node), host_.tensor(result), sources, cpu, device);
            seen.unjudged[name] += !v.judged;
            if (!v.difference.empty()) {
                return (result == node ? "" : "its source t" + std::to_string(result) + ": ") + v.difference;
            }
        }
        gpu_.set(memory_);
        return stray_write(node, found_, memory_);
    }

    // Takes the node's results over; the first byte that differs elsewhere, in words.
    std::string stray_write(size_t node, bytes & into, const bytes & from) const {
        for (const size_t result : results_of(r_, node)) {
            for_each_run(host_.tensor(result), [&](size_t offset, size_t size) {
                std::memcpy(in(into, plan_, result) + offset, in(from, plan_, result) + offset, size);
            });
        }
        for (size_t b = 0; b < into.size(); b++) {
            if (into[b] != from[b]) {
                const auto at = std::mismatch(into[b].begin(), into[b].end(), from[b].begin()).first - into[b].begin();
                return "byte " + std::to_string(at) + " of buffer " + std::to_string(b) + ", outside its result, was changed";
            }
        }
        return "";
    }

    const recipe &      r_;
    const memory_plan & plan_;
    bytes               memory_, found_;  // the CPU's, a copy of the device's
    world               host_, gpu_;
};

}  // namespace

//
// the whole graph at once
//

// Results that nothing in the graph reads, and some others.
static std::vector<size_t> outputs_of(const recipe & r, const graph & g, uint64_t seed) {
    std::vector<bool> read(r.size());
    for (const line & l : r) {
        for (const int s : l.sources) {
            if (s >= 0) {
                read[static_cast<size_t>(s)] = true;
            }
        }
    }
    std::vector<size_t> outputs;
    for (size_t i = 0; i < r.size(); i++) {
        // What is overwritten in place later has no value of its own.
        const auto in_its_memory = [root = root_of(g.tensors[i])](const ggml_tensor * t) { return root_of(t) == root; };
        const bool apart         = std::count_if(g.tensors.begin(), g.tensors.end(), in_its_memory) == 1;
        if (!is_leaf(r[i]) && !is_view(g.tensors[i]) && (!read[i] || (apart && mixed(seed + i) % 4 == 0))) {
            outputs.push_back(i);
        }
    }
    return outputs;
}

// The same graph with other numbers where its nodes have some.
static recipe with_other_arguments(recipe r) {
    for (line & l : r) {
        for (float & x : l.x) {
            x *= 0.75f;
        }
    }
    return r;
}

namespace {

class whole_check {
public:
    whole_check(const recipe & r, const memory_plan & plan, uint64_t seed, ggml_backend_t cpu, ggml_backend_t device)
        : plan_(plan), seed_(seed), device_(device), outputs_(outputs_of(r, build(r), seed)), scheduler_(make_scheduler(r, cpu, device)) {}

    std::optional<failure> run(const recipe & r, const bytes & start, const bytes & cpu) {
        // ggml's allocator cannot do without memory.
        const graph g = build(r);
        if (std::all_of(g.tensors.begin(), g.tensors.end(), ggml_is_empty)) {
            return std::nullopt;
        }
        bytes alone = start;
        if (auto failed = run_alone(r, alone); failed || !supported_) {
            return failed;
        }
        // Where rounding makes a difference, nodes that were fused may round as differently as another device.
        for (const size_t o : outputs_) {
            allowed_.push_back(std::max(1e-4, 10.0 * error_of(g.tensors[o], in(cpu, plan_, o), in(alone, plan_, o))));
        }
        for (const char * time : { "at once: ", "at once, again: " }) {
            if (auto failed = run_at_once(r, alone, time)) {
                return failed;
            }
        }
        const bool has_arguments = std::any_of(r.begin(), r.end(), [](const line & l) { return !l.x.empty(); });
        if (!has_arguments || seed_ % 3 != 0) {
            return std::nullopt;
        }
        const recipe other = with_other_arguments(r);
        alone              = start;
        if (auto failed = run_alone(other, alone)) {
            return failed;
        }
        return run_at_once(other, alone, "at once, with other arguments: ");
    }

private:
    // ggml wants a CPU backend at the end.
    static ggml_backend_sched_t make_scheduler(const recipe & r, ggml_backend_t cpu, ggml_backend_t device) {
        ggml_backend_t backends[] = { device, cpu };
        return ggml_backend_sched_new(backends, nullptr, 2, static_cast<size_t>(ggml_graph_size(build(r).all)), false, false);
    }

    // Nodes alone, in memory of their own, from the device's own results. Takes `memory` from first to last.
    std::optional<failure> run_alone(const recipe & r, bytes & memory) {
        world gpu(device_, r, plan_);
        gpu.set(memory);
        for (size_t i = 0; i < r.size(); i++) {
            if (is_view(gpu.tensor(i))) {
                continue;
            }
            supported_ = supported_ && supports(device_, gpu.tensor(i));
            if (!supported_) {
                return std::nullopt;
            }
            if (const std::string why = gpu.compute(i); !why.empty()) {
                return failure{ i, "after the device's own results: " + why };
            }
        }
        gpu.get(memory);
        return std::nullopt;
    }

    // All nodes as a program computes them: ggml's scheduler has the device optimise the graph, and its allocator lets results
    // share memory, the same for graphs of the same shapes.
    std::optional<failure> run_at_once(const recipe & r, const bytes & alone, const std::string & time) {
        graph g = build(r);
        for (size_t i = 0; i < r.size(); i++) {
            if (is_leaf(r[i])) {
                ggml_set_input(g.tensors[i]);
            }
        }
        for (const size_t o : outputs_) {
            ggml_set_output(g.tensors[o]);
        }
        ggml_backend_sched_reset(scheduler_.get());
        for (ggml_tensor * t : g.tensors) {
            ggml_backend_sched_set_tensor_backend(scheduler_.get(), t, device_);
        }
        if (!ggml_backend_sched_alloc_graph(scheduler_.get(), g.all)) {
            return failure{ 0, time + "ggml_backend_sched_alloc_graph failed" };
        }
        for (size_t i = 0; i < r.size(); i++) {
            if (is_leaf(r[i]) && g.tensors[i]->buffer != nullptr) {
                const auto values = leaf_bytes(r[i], mixed(seed_ + i));
                ggml_backend_tensor_set_async(device_, g.tensors[i], values.data(), 0, values.size());
            }
        }
        const ggml_status status = ggml_backend_sched_graph_compute_async(scheduler_.get(), g.all);
        if (status != GGML_STATUS_SUCCESS) {
            return failure{ 0, time + "graph_compute: " + ggml_status_to_string(status) };
        }
        std::vector<std::vector<uint8_t>> results;
        for (const size_t o : outputs_) {
            results.emplace_back(ggml_nbytes(g.tensors[o]));
            ggml_backend_tensor_get_async(device_, g.tensors[o], results.back().data(), 0, results.back().size());
        }
        ggml_backend_synchronize(device_);
        for (size_t i = 0; i < outputs_.size(); i++) {
            const size_t      o    = outputs_[i];
            const std::string text = difference(g.tensors[o], in(alone, plan_, o), results[i].data(), allowed_[i]);
            if (!text.empty()) {
                return failure{ o, time + text };
            }
        }
        return std::nullopt;
    }

    const memory_plan &    plan_;
    uint64_t               seed_;
    ggml_backend_t         device_;
    std::vector<size_t>    outputs_;
    std::vector<double>    allowed_;  // for each output, see rule::tolerance
    ggml_backend_sched_ptr scheduler_;
    bool                   supported_ = true;  // all nodes
};

}  // namespace

std::optional<failure> check(const recipe & r, uint64_t seed, ggml_backend_t cpu, ggml_backend_t device, tally & seen) {
    const memory_plan plan  = plan_memory(build(r), seed, { ggml_backend_get_default_buffer_type(cpu), ggml_backend_get_default_buffer_type(device) });
    const bytes       start = first_bytes(r, plan, seed);
    node_check        nodes(r, plan, start, cpu, device);
    for (size_t i = 0; i < r.size(); i++) {
        if (const std::string what = nodes.run(i, seen); !what.empty()) {
            return failure{ i, what };
        }
    }
    return whole_check(r, plan, seed, cpu, device).run(r, start, nodes.before);
}

}  // namespace fuzz
