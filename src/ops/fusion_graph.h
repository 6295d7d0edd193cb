// Questions about a graph that decide whether nodes can be computed together.
#pragma once

struct ggml_cgraph;
struct ggml_tensor;

namespace ops {

bool overlap(const ggml_tensor * a, const ggml_tensor * b);

// `dst` may be written while `src` is still read: they are apart, or the same values in the same places. Memory that a skipped
// node would have freed can be dst's. Addresses of different buffers may look alike; then a fusion is missed, nothing more.
bool may_replace(const ggml_tensor * dst, const ggml_tensor * src);

// The next node that computes; the graph's end if there is none.
int next_node(const ggml_cgraph * graph, int i);

// Node `i` is no output, and nothing reads it but the nodes after it up to `last`.
bool serves_within(const ggml_cgraph * graph, int i, int last);

}  // namespace ops
