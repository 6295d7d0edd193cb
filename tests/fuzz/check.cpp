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

static locate place_in(const world & w, const recipe & r, const bytes & all) {
    return [&](const ggml_tensor * t) -> const uint8_t * {
        for (size_t i = 0; i < r.size(); i++) {
            if (w.tensor(i) == t) {
                return w.in(all, i);
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

// The first byte that differs from `before` outside the results, in words.
static std::string stray_write(const recipe & r, size_t node, const world & host, const bytes & before, bytes after) {
    for (const size_t result : results_of(r, node)) {
        for_each_run(host.tensor(result), [&](size_t offset, size_t size) {
            std::memcpy(host.in(after, result) + offset, host.in(before, result) + offset, size);
        });
    }
    for (size_t b = 0; b < after.size(); b++) {
        const auto [a, unused] = std::mismatch(after[b].begin(), after[b].end(), before[b].begin());
        if (a != after[b].end()) {
            return "byte " + std::to_string(a - after[b].begin()) + " of buffer " + std::to_string(b) + ", outside its result, was changed";
        }
    }
    return "";
}

// Compares one node on both, after both computed it from `before`.
static std::string compare_node(const recipe & r, size_t node, const world & host, const bytes & before, const bytes & expected, const bytes & found) {
    const auto sources = place_in(host, r, before), cpu = place_in(host, r, expected), device = place_in(host, r, found);
    for (const size_t result : results_of(r, node)) {
        std::string text = difference(r[node], host.tensor(node), host.tensor(result), sources, cpu, device);
        if (!text.empty()) {
            return (result == node ? "" : "its source t" + std::to_string(result) + ": ") + text;
        }
    }
    return stray_write(r, node, host, before, found);
}

// Leaves the last state of the CPU's memory in `final`.
static std::optional<failure> check_nodes(const recipe & r, world & host, world & gpu, const bytes & start, tally & seen,
                                          bytes & final) {
    bytes before = start;
    host.set(before);
    gpu.set(before);
    for (size_t i = 0; i < r.size(); i++) {
        if (is_view(host.tensor(i))) {
            continue;
        }
        const std::string name = ggml_op_desc(host.tensor(i));
        if (const std::string why = host.compute(i); !why.empty()) {
            return failure{ i, "CPU: " + why };
        }
        bytes expected = host.get();
        if (const std::string text = stray_write(r, i, host, before, expected); !text.empty()) {
            return failure{ i, "CPU: " + text };
        }
        if (!supports(gpu.backend(), gpu.tensor(i))) {
            seen.unsupported[name]++;
            gpu.set(expected);
        } else {
            seen.computed[name]++;
            if (const std::string why = gpu.compute(i); !why.empty()) {
                return failure{ i, why };
            }
            const bytes found = gpu.get();
            if (found != expected) {
                if (std::string text = compare_node(r, i, host, before, expected, found); !text.empty()) {
                    return failure{ i, text };
                }
                gpu.set(expected);
            }
        }
        before = std::move(expected);
    }
    final = std::move(before);
    return std::nullopt;
}

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

static std::optional<failure> check_whole(const recipe & r, uint64_t seed, world & gpu, const bytes & start, const bytes & cpu) {
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
    const bytes alone = gpu.get();

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
            const double allowed = std::max(1e-4, 10.0 * error_of(t, gpu.in(cpu, o), gpu.in(alone, o)));
            if (const std::string text = difference(t, gpu.in(alone, o), results[i].data(), allowed); !text.empty()) {
                return failure{ o, time + text };
            }
        }
    }
    return std::nullopt;
}

std::optional<failure> check(const recipe & r, uint64_t seed, ggml_backend_t cpu, ggml_backend_t device, tally & seen) {
    const memory_plan plan = plan_memory(build(r), seed, { ggml_backend_get_default_buffer_type(cpu), ggml_backend_get_default_buffer_type(device) });
    world             host(cpu, r, plan), gpu(device, r, plan);
    bytes             start = host.get(), final;
    fill_leaves(r, host, seed, start);
    if (auto failed = check_nodes(r, host, gpu, start, seen, final)) {
        return failed;
    }
    return check_whole(r, seed, gpu, start, final);
}

}  // namespace fuzz
