#include "ops/fusion_graph.h"

#include "ops/plan.h"

#include <algorithm>
#include <ggml-impl.h>

namespace ops {

bool overlap(const ggml_tensor * a, const ggml_tensor * b) {
    const char * a_begin = static_cast<const char *>(a->data);
    const char * b_begin = static_cast<const char *>(b->data);
    return a_begin < b_begin + span(b) && b_begin < a_begin + span(a);
}

bool may_replace(const ggml_tensor * dst, const ggml_tensor * src) {
    return !overlap(dst, src) || (dst->data == src->data && ggml_are_same_layout(dst, src));
}

int next_node(const ggml_cgraph * graph, int i) {
    do {
        i++;
    } while (i < graph->n_nodes && ggml_op_is_empty(graph->nodes[i]->op));
    return i;
}

bool serves_within(const ggml_cgraph * graph, int i, int last) {
    const ggml_tensor * node = graph->nodes[i];
    int                 uses = 0;
    for (int j = i + 1; j <= last; j++) {
        uses += static_cast<int>(std::count(std::begin(graph->nodes[j]->src), std::end(graph->nodes[j]->src), node));
    }
    return (node->flags & GGML_TENSOR_FLAG_OUTPUT) == 0 && ggml_node_get_use_count(graph, i) == uses;
}

}  // namespace ops
