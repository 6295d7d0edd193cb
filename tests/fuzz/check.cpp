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
    node_check(const recipe & r, const memory_plan & plan, const bytes & start, ggml_backend_t cpu, world & gpu)
        : before(start), r_(r), plan_(plan), memory_(start), found_(start), host_(cpu, r, plan, &memory_), gpu_(gpu) {
        gpu_.set(before);
    }

    // Empty, or what is wrong with the node.
    std::string run(size_t node, tally & seen) {
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
    world               host_;
    world &             gpu_;
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
        const bool apart = root_of(g.tensors[i]) == g.tensors[i] && std::count_if(g.tensors.begin() + static_cast<ptrdiff_t>(i), g.tensors.end(), [&](const ggml_tensor * t) {
                               return root_of(t) == root_of(g.tensors[i]);
                           }) == 1;
        if (!is_leaf(r[i]) && !is_view(g.tensors[i]) && (!read[i] || (apart && mixed(seed + i) % 4 == 0))) {
            outputs.push_back(i);
        }
    }
    return outputs;
}

static std::vector<std::vector<uint8_t>> run_whole(const recipe & r, graph & g, uint64_t seed, ggml_backend_t device, const std::vector<size_t> & outputs,
                                                   std::string & why) {
    for (size_t i = 0; i < r.size(); i++) {
        if (is_leaf(r[i]) && g.tensors[i]->buffer != nullptr) {
            const auto values = leaf_bytes(r[i], mixed(seed + i));
            ggml_backend_tensor_set_async(device, g.tensors[i], values.data(), 0, values.size());
        }
    }
    const ggml_status status = ggml_backend_graph_compute_async(device, g.all);
    if (status != GGML_STATUS_SUCCESS) {
        why = std::string("graph_compute: ") + ggml_status_to_string(status);
        return {};
    }
    std::vector<std::vector<uint8_t>> results;
    for (const size_t o : outputs) {
        results.emplace_back(ggml_nbytes(g.tensors[o]));
        ggml_backend_tensor_get_async(device, g.tensors[o], results.back().data(), 0, results.back().size());
    }
    ggml_backend_synchronize(device);
    return results;
}

static std::optional<failure> check_whole(const recipe & r, uint64_t seed, world & gpu, const memory_plan & plan, const bytes & start, const bytes & cpu) {
    // Nodes alone, in memory of their own.
    gpu.set(start);
    for (size_t i = 0; i < r.size(); i++) {
        if (is_view(gpu.tensor(i))) {
            continue;
        }
        if (!supports(gpu.backend(), gpu.tensor(i))) {
            return std::nullopt;
        }
        if (const std::string why = gpu.compute(i); !why.empty()) {
            return failure{ i, "after the device's own results: " + why };
        }
    }
    bytes alone = start;
    gpu.get(alone);

    graph                     g       = build(r);
    const std::vector<size_t> outputs = outputs_of(r, g, seed);
    for (size_t i = 0; i < r.size(); i++) {
        if (is_leaf(r[i])) {
            ggml_set_input(g.tensors[i]);
        }
    }
    for (const size_t o : outputs) {
        ggml_set_output(g.tensors[o]);
    }
    // ggml's allocator cannot do without memory.
    if (std::all_of(g.tensors.begin(), g.tensors.end(), ggml_is_empty)) {
        return std::nullopt;
    }
    const ggml_gallocr_ptr memory(ggml_gallocr_new(ggml_backend_get_default_buffer_type(gpu.backend())));
    if (!ggml_gallocr_alloc_graph(memory.get(), g.all)) {
        return failure{ 0, "ggml_gallocr_alloc_graph failed" };
    }
    for (const char * time : { "at once: ", "at once, again: " }) {
        std::string why;
        const auto  results = run_whole(r, g, seed, gpu.backend(), outputs, why);
        if (!why.empty()) {
            return failure{ 0, time + why };
        }
        for (size_t i = 0; i < outputs.size(); i++) {
            const size_t        o = outputs[i];
            const ggml_tensor * t = gpu.tensor(o);
            // Where rounding makes a difference, nodes that were fused may round as differently as another device.
            const double allowed = std::max(1e-4, 10.0 * error_of(t, in(cpu, plan, o), in(alone, plan, o)));
            if (const std::string text = difference(t, in(alone, plan, o), results[i].data(), allowed); !text.empty()) {
                return failure{ o, time + text };
            }
        }
    }
    return std::nullopt;
}

std::optional<failure> check(const recipe & r, uint64_t seed, ggml_backend_t cpu, ggml_backend_t device, tally & seen) {
    const memory_plan plan  = plan_memory(build(r), seed, { ggml_backend_get_default_buffer_type(cpu), ggml_backend_get_default_buffer_type(device) });
    const bytes       start = first_bytes(r, plan, seed);
    world             gpu(device, r, plan);
    node_check        nodes(r, plan, start, cpu, gpu);
    for (size_t i = 0; i < r.size(); i++) {
        if (is_view(gpu.tensor(i))) {
            continue;
        }
        if (const std::string what = nodes.run(i, seen); !what.empty()) {
            return failure{ i, what };
        }
    }
    return check_whole(r, seed, gpu, plan, start, nodes.before);
}

}  // namespace fuzz
