// Puts dispatches that do not depend on each other side by side. A dispatch waits for the one before it, so a small one
// costs less beside another: the products of q, k and v, gate and up, the rotations of q and k.
#pragma once

#include "gpu/kernel.h"

namespace graph {

// Takes dispatches in the order of their results. Those that may join (gpu::dispatch::joins) move forward to one of the few before
// them where nothing in between reads what they write or writes what they touch.
class side_by_side {
public:
    explicit side_by_side(const gpu::capabilities & caps) : caps_(caps) {}

    void add(gpu::dispatch d);
    // The first of those added, which none that follows can join; with `all`, none follows.
    std::vector<gpu::dispatch> take(bool all);

private:
    bool join_one(gpu::dispatch & d);

    const gpu::capabilities &  caps_;
    std::vector<gpu::dispatch> placed_;
};

}  // namespace graph
