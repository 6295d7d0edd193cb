// The order of a graph's nodes, changed before ggml gives them memory: nodes that could run side by side (graph/beside.h) follow each
// other, so that none gets memory which another has just given up.
#pragma once

#include <functional>

struct ggml_cgraph;
struct ggml_tensor;

namespace graph {

// Permutes the nodes; each still comes after all that it reads, also where only memory connects them (a row written to a cache
// and a view of that cache). `keep` is told of tensors whose memory must not be given to others before `until` is computed.
void order_for_side_by_side(ggml_cgraph * graph, const std::function<void(ggml_tensor * tensor, ggml_tensor * until)> & keep);

}  // namespace graph
