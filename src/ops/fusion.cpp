#include "ops/fusion.h"

#include "ops/columns.h"
#include "ops/norm.h"
#include "ops/rope.h"
#include "ops/split.h"

#include <algorithm>
#include <ggml-impl.h>

namespace ops {

static const ggml_backend_buffer * buffer_of(const ggml_tensor * t) {
    return t->view_src != nullptr ? t->view_src->buffer : t->buffer;
}

static bool overlap(const ggml_tensor * a, const ggml_tensor * b) {
    const char * a_begin = static_cast<const char *>(a->data);
    const char * b_begin = static_cast<const char *>(b->data);
    return a_begin < b_begin + span(b) && b_begin < a_begin + span(a);
}

// `dst` may be written while `src` is still read: they are apart, or the same values in the same places. Memory that a skipped
// node would have freed can be dst's. Addresses of different buffers may look alike; then a fusion is missed, nothing more.
static bool may_replace(const ggml_tensor * dst, const ggml_tensor * src) {
    return !overlap(dst, src) || (dst->data == src->data && ggml_are_same_layout(dst, src));
}

static const ggml_tensor * other_source(const ggml_tensor * node, const ggml_tensor * one) {
    return node->src[0] == one ? node->src[1] : node->src[0];
}

// y = rms_norm(x) * weight
static fused rms_norm_mul(const gpu::capabilities & caps, const ggml_cgraph * graph, int first) {
    if (!ggml_can_fuse(graph, first, { GGML_OP_RMS_NORM, GGML_OP_MUL })) {
        return {};
    }
    const ggml_tensor * norm = graph->nodes[first];
    const ggml_tensor * dst  = graph->nodes[first + 1];
    norm_fusion         with{ .weight = other_source(dst, norm) };
    if (overlap(dst, with.weight) || !may_replace(dst, norm->src[0]) || exceeds_binding(caps, norm) || exceeds_binding(caps, dst)) {
        return {};
    }
    return { 2, plan_rms_norm_fused(caps, norm, with, dst) };
}

// sum = a + b (kept, for the residual stream); y = rms_norm(sum) * weight
static fused add_rms_norm_mul(const gpu::capabilities & caps, const ggml_cgraph * graph, int first) {
    if (first + 3 > graph->n_nodes || !ggml_can_fuse(graph, first + 1, { GGML_OP_RMS_NORM, GGML_OP_MUL })) {
        return {};
    }
    const ggml_tensor * sum  = graph->nodes[first];
    const ggml_tensor * norm = graph->nodes[first + 1];
    const ggml_tensor * dst  = graph->nodes[first + 2];
    if (sum->op != GGML_OP_ADD || norm->src[0] != sum || (sum->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) {
        return {};
    }
    const ggml_tensor * a = sum->src[0];
    const ggml_tensor * b = sum->src[1];
    norm_fusion         with{ .weight = other_source(dst, norm), .addend = b, .sum = sum };
    const bool          safe = ggml_are_same_shape(a, b) && may_replace(sum, a) && may_replace(sum, b) && may_replace(dst, a) && may_replace(dst, b) &&
                      !overlap(dst, sum) && !overlap(dst, with.weight) && !overlap(sum, with.weight);
    if (!safe || exceeds_binding(caps, sum) || exceeds_binding(caps, dst)) {
        return {};
    }
    return { 3, plan_rms_norm_fused(caps, norm, with, dst) };
}

// k = rope(k), and stored in the cache
static fused rope_set_rows(const gpu::capabilities & caps, const ggml_cgraph * graph, int first) {
    const ggml_tensor * rope = graph->nodes[first];
    if (rope->op != GGML_OP_ROPE) {
        return {};
    }
    int next = first + 1;
    while (next < graph->n_nodes && ggml_op_is_empty(graph->nodes[next]->op)) {
        next++;
    }
    if (next == graph->n_nodes || graph->nodes[next]->op != GGML_OP_SET_ROWS) {
        return {};
    }
    const ggml_tensor * set  = graph->nodes[next];
    const ggml_tensor * rows = set->src[0];
    const bool          safe = rows->data == rope->data && buffer_of(rows) == buffer_of(rope) && !overlap(set, rope) && !overlap(set, rope->src[0]) &&
                      !overlap(rope, set->src[1]);
    if (!safe || (set->flags & GGML_TENSOR_FLAG_COMPUTE) == 0 || exceeds_binding(caps, rope) || exceeds_binding(caps, set)) {
        return {};
    }
    return { next + 1 - first, plan_rope_set_rows(caps, rope, set) };
}

// Longest first.
static constexpr struct {
    const char * name;
    fused (*plan)(const gpu::capabilities &, const ggml_cgraph *, int);
} patterns[] = {
    { "ADD+RMS_NORM+MUL", add_rms_norm_mul },
    { "RMS_NORM+MUL", rms_norm_mul },
    { "ROPE+SET_ROWS", rope_set_rows },
};
static_assert(std::size(patterns) == fusion_patterns);

const char * fusion_name(size_t pattern) {
    return patterns[pattern].name;
}

fused plan_fused(const gpu::capabilities & caps, const ggml_cgraph * graph, int first) {
    for (size_t i = 0; i < fusion_patterns; i++) {
        fused found = patterns[i].plan(caps, graph, first);
        if (found.nodes != 0 && found.steps.supported()) {
            found.pattern = i;
            return found;
        }
    }
    return {};
}

//
// quantising within
//

// The step that quantises `t` for the product `node`; nothing if it does no such thing.
static std::optional<step> quantise_step_of(const gpu::capabilities & caps, const ggml_tensor * node, const ggml_tensor * t) {
    const bool product = node->op == GGML_OP_MUL_MAT || node->op == GGML_OP_MUL_MAT_ID;
    if (!product || node->src[1]->data != t->data || buffer_of(node->src[1]) != buffer_of(t)) {
        return {};
    }
    plan p = plan_node(caps, node);
    if (!p.supported() || p.steps.empty() || !quantises_tensor(p.steps.front(), node->src[1])) {
        return {};
    }
    return std::move(p.steps.front());
}

void quantise_for_product(const gpu::capabilities & caps, const ggml_cgraph * graph, int last, plan & p) {
    static constexpr int reach = 8;
    const ggml_tensor *  dst   = graph->nodes[last];
    if (p.steps.empty() || !p.steps.back().quantises || !p.slices.empty()) {
        return;
    }
    for (int i = last + 1; i < std::min(last + 1 + reach, graph->n_nodes); i++) {
        if (std::optional<step> quantise = quantise_step_of(caps, graph->nodes[i], dst)) {
            if (quantise_within(p.steps.back(), caps, dst, *quantise)) {
                p.prepared = std::move(quantise);
            }
            return;
        }
    }
}

}  // namespace ops
