#include "graph/beside.h"

#include "gpu/program.h"

#include <algorithm>
#include <iterator>

namespace graph {

static constexpr size_t reach    = 6;  // a dispatch moves over so many others at most
static constexpr size_t max_jobs = 4;  // the kernel's text grows with each

static bool conflict(const gpu::operand & a, const gpu::operand & b) {
    return (a.written || b.written) && a.memory == b.memory && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

static bool conflict(const gpu::dispatch & a, const gpu::dispatch & b) {
    const auto with = [&](const gpu::dispatch & job) {
        return std::any_of(a.operands.begin(), a.operands.end(), [&](const gpu::operand & mine) {
            return std::any_of(job.operands.begin(), job.operands.end(), [&](const gpu::operand & other) { return conflict(mine, other); });
        });
    };
    return with(b) || std::any_of(b.beside.begin(), b.beside.end(), with);
}

// Bound together, every operand is read as it is alone: a binding that two kernels share can be wide for both or for none.
static bool bound_as_alone(const gpu::dispatch & all, const gpu::binding_plan & together, const gpu::capabilities & caps) {
    size_t at = 0;
    for (const gpu::dispatch * job : gpu::jobs_of(all)) {
        auto       alone = gpu::plan_bindings(job->operands, caps);
        for (size_t i = 0; alone.ok() && i < job->operands.size(); i++, at++) {
            const gpu::binding & a = alone->bindings[alone->slot[i]];
            const gpu::binding & b = together.bindings[together.slot[at]];
            if (a.wide != b.wide || a.atomic != b.atomic || a.pairs != b.pairs || a.floats != b.floats) {
                return false;
            }
        }
    }
    return true;
}

// Takes `d` away if the two can run side by side.
static bool join(gpu::dispatch & to, gpu::dispatch & d, const gpu::capabilities & caps) {
    if (!to.joins || to.beside.size() + 1 >= max_jobs || to.kernel.threads() != d.kernel.threads()) {
        return false;
    }
    to.beside.push_back(std::move(d));
    auto bindings = gpu::plan_bindings(gpu::operands_of(to), caps);
    if (!bindings.ok() || gpu::params_bytes(to) > gpu::kernel_cache::params_bytes || !bound_as_alone(to, *bindings, caps)) {
        d = std::move(to.beside.back());
        to.beside.pop_back();
        return false;
    }
    to.label += " | " + to.beside.back().label;
    return true;
}

// Joins the earliest dispatch that it can reach: what depends on it can then join earlier ones too.
bool side_by_side::join_one(gpu::dispatch & d) {
    size_t first = placed_.size();  // of those that it may pass
    while (first > 0 && placed_.size() - first < reach && !conflict(d, placed_[first - 1])) {
        first--;
    }
    return std::any_of(placed_.begin() + static_cast<std::ptrdiff_t>(first), placed_.end(), [&](gpu::dispatch & other) { return join(other, d, caps_); });
}

void side_by_side::add(gpu::dispatch d) {
    if (d.groups != 0 && (!d.joins || !join_one(d))) {
        placed_.push_back(std::move(d));
    }
}

std::vector<gpu::dispatch> side_by_side::take(bool all) {
    const size_t kept = all ? 0 : std::min(reach, placed_.size());
    const auto   end  = placed_.end() - static_cast<std::ptrdiff_t>(kept);
    std::vector<gpu::dispatch> taken(std::make_move_iterator(placed_.begin()), std::make_move_iterator(end));
    placed_.erase(placed_.begin(), end);
    return taken;
}

}  // namespace graph
