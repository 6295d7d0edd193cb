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
    std::string key = s.kernel.text();
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

static ops::operand * prepared_operand(ops::step & s, bool written) {
    const auto found = std::find_if(s.operands.begin(), s.operands.end(),
                                    [=](const ops::operand & o) { return o.where == ops::operand::kind::prepared && o.written == written; });
    return found != s.operands.end() ? &*found : nullptr;
}

static void read_from(ops::plan & plan, uint64_t offset) {
    for (ops::step & s : plan.steps) {
        if (ops::operand * o = prepared_operand(s, false)) {
            o->offset = offset;
        }
    }
}

// What the plan's last step prepares goes where it does not read what others have prepared.
static uint64_t place_result(ops::plan & plan) {
    static constexpr uint64_t alignment = 256;  // the coarsest of bindings
    ops::operand *            result    = prepared_operand(plan.steps.back(), true);
    const ops::operand *      source    = prepared_operand(plan.steps.back(), false);
    if (source != nullptr && source->offset < (result->size + alignment - 1) / alignment * alignment) {
        result->offset = (source->offset + source->size + alignment - 1) / alignment * alignment;
    }
    return result->offset;
}

void shared_preparation::share(ops::plan & plan, ggml_tensor * const * begin, ggml_tensor * const * end) {
    if (plan.steps.empty()) {
        return;  // a view writes nothing
    }
    const bool prepares = plan.steps.size() > 1 && plan.steps.front().prepares;
    if (prepares) {
        const ops::step & first = plan.steps.front();
        held              now{ key_of(first), source_of(first), uses(first, ops::operand::kind::scratch), 0 };
        if (held_.has_value() && held_->key == now.key) {
            now.offset = held_->offset;
            plan.steps.erase(plan.steps.begin());
            read_from(plan, now.offset);
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
        held_ = { key_of(*plan.prepared), source_of(*plan.prepared), false, place_result(plan) };
    }
}

}  // namespace graph
