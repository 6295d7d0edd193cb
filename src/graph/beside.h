// Puts dispatches that do not depend on each other side by side. A dispatch waits for the one before it, so a small one
// costs less beside another: the products of q, k and v, gate and up, the rotations of q and k.
#pragma once

#include "gpu/kernel.h"

namespace graph {

// Dispatches in the order of their results. Those that may join (gpu::dispatch::joins) move forward to one of the few before them
// where nothing in between reads what they write or writes what they touch.
std::vector<gpu::dispatch> put_side_by_side(std::vector<gpu::dispatch> in_order, const gpu::capabilities & caps);

}  // namespace graph
