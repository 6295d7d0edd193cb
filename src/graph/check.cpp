#include "graph/check.h"

namespace graph {

gpu::status kernels_compile(gpu::device & device, const ops::plan & plan) {
    std::vector<gpu::kernel *> kernels;
    for (const ops::step & s : plan.steps) {
        gpu::dispatch     d;
        gpu::binding_plan bindings;
        d.kernel = s.kernel;
        d.values = s.params;
        for (const ops::operand & o : s.operands) {
            d.operands.push_back({ o.name, nullptr, 0, 0, o.type, o.wide, o.atomic, o.pairs });
            bindings.slot.push_back(static_cast<uint32_t>(bindings.bindings.size()));
            bindings.residual.push_back(0);
            bindings.bindings.push_back({ nullptr, 0, 0, o.wide && !o.atomic, o.atomic, o.pairs });
        }
        kernels.push_back(device.kernels().request(d, bindings));
    }
    for (gpu::kernel * k : kernels) {
        if (gpu::status s = device.kernels().await(*k); !s.ok()) {
            return s;
        }
    }
    return {};
}

}  // namespace graph
