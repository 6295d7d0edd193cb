#include "graph/sharing.h"

#include "graph/memory.h"

#include <algorithm>
#include <cstring>

namespace graph {

static void append(std::string & key, const void * data, size_t size) {
    key.append(static_cast<const char *>(data), size);
}

// All that decides what a step writes: equal keys write equal bytes as long as the source is unchanged.
static std::string key_of(const ops::step & s) {
    std::string key = s.kernel.shader();
    for (const auto & [name, value] : s.kernel.defined()) {
        key += std::string(" ") + name + "=" + value;
    }
    append(key, s.params.words().data(), s.params.words().size() * sizeof(uint32_t));
    for (const ops::operand & o : s.operands) {
        append(key, &o.offset, sizeof o.offset);
        append(key, &o.size, sizeof o.size);
        if (o.tensor != nullptr) {
            const gpu::buffer * memory = memory_of(o.tensor).get();
            append(key, &memory, sizeof memory);
            append(key, &o.tensor->data, sizeof o.tensor->data);
        }
    }
    return key;
}

static const ggml_tensor * source_of(const ops::step & s) {
    const auto found = std::find_if(s.operands.begin(), s.operands.end(), [](const ops::operand & o) { return o.tensor != nullptr; });
    return found->tensor;
}

static bool uses(const ops::step & s, ops::operand::kind where) {
    return std::any_of(s.operands.begin(), s.operands.end(), [=](const ops::operand & o) { return o.where == where; });
}

static bool uses_scratch(const ops::plan & plan) {
    return std::any_of(plan.steps.begin(), plan.steps.end(), [](const ops::step & s) { return uses(s, ops::operand::kind::scratch); });
}

void shared_preparation::share(ops::plan & plan, ggml_tensor * const * begin, ggml_tensor * const * end) {
    if (plan.steps.empty()) {
        return;  // a view writes nothing
    }
    const bool prepares = plan.steps.size() > 1 && plan.steps.front().prepares;
    if (prepares) {
        const ops::step & first = plan.steps.front();
        held              now{ key_of(first), source_of(first), uses(first, ops::operand::kind::scratch) };
        if (held_.has_value() && held_->key == now.key) {
            plan.steps.erase(plan.steps.begin());
        }
        held_ = std::move(now);
    } else if (held_.has_value() && held_->in_scratch && uses_scratch(plan)) {
        held_.reset();
    }
    // The nodes' own results may lie where the source was.
    if (held_.has_value() && std::any_of(begin, end, [&](const ggml_tensor * node) { return overlap(node, held_->source); })) {
        held_.reset();
    }
    if (plan.prepared.has_value()) {
        held_ = { key_of(*plan.prepared), source_of(*plan.prepared), false };
    }
}

}  // namespace graph
