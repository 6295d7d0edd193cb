#include "graph/check.h"

#include <algorithm>
#include <iterator>

namespace graph {

static bool binds(const ops::step & s, const ggml_tensor * t) {
    return std::any_of(s.operands.begin(), s.operands.end(), [=](const ops::operand & o) { return o.tensor == t; });
}

// Parts of a node's result are copies of it with another shape.
static bool is_part(const ggml_tensor * t, const ggml_tensor * node) {
    return t != nullptr && t->op == node->op && std::equal(std::begin(t->src), std::end(t->src), std::begin(node->src));
}

// The tensors have no addresses yet. They are taken to lie apart, but for parts of a result that is an operand as a whole.
static gpu::binding_plan bind_apart(const ops::step & s, const ggml_tensor * node) {
    static constexpr uint32_t none = UINT32_MAX;
    gpu::binding_plan         plan;
    const bool                whole  = binds(s, node);
    uint32_t                  result = none;  // its binding
    for (const ops::operand & o : s.operands) {
        const bool   shares = whole && is_part(o.tensor, node);
        gpu::binding own{ nullptr, 0, 0, o.wide && !o.atomic, o.atomic, o.pairs, o.floats };
        plan.residual.push_back(0);
        if (shares && result != none) {
            gpu::binding & b = plan.bindings[result];
            b.wide           = b.wide && own.wide;
            b.atomic         = b.atomic || own.atomic;
            b.pairs          = b.pairs && own.pairs;
            b.floats         = b.floats && own.floats;
            plan.slot.push_back(result);
            continue;
        }
        plan.slot.push_back(static_cast<uint32_t>(plan.bindings.size()));
        plan.bindings.push_back(own);
        result = shares ? plan.slot.back() : result;
    }
    return plan;
}

gpu::status kernels_compile(gpu::device & device, const ops::plan & plan, const ggml_tensor * node) {
    std::vector<gpu::kernel *> kernels;
    for (const ops::step & s : plan.steps) {
        gpu::dispatch d;
        d.kernel = s.kernel;
        d.values = s.params;
        for (const ops::operand & o : s.operands) {
            d.operands.push_back({ o.name, nullptr, 0, 0, o.type, o.wide, o.atomic, o.pairs, o.floats });
        }
        kernels.push_back(device.kernels().request(d, bind_apart(s, node)));
    }
    for (gpu::kernel * k : kernels) {
        if (gpu::status s = device.kernels().await(*k); !s.ok()) {
            return s;
        }
    }
    return {};
}

}  // namespace graph
