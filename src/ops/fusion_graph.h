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

// `t`, one of the nodes [begin, end), is no output and is read so often.
bool has_uses(const ggml_cgraph * graph, int begin, int end, const ggml_tensor * t, int uses);

// Node `i` is computed and read by those after it, up to `last`, alone.
bool serves_within(const ggml_cgraph * graph, int i, int last);

}  // namespace ops
