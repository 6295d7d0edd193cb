#include "ops/fusion.h"

#include "ops/norm.h"
#include "ops/split.h"

#include <ggml-impl.h>

namespace ops {

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
    return { 2, plan_rms_norm_fused(norm, with, dst), "RMS_NORM+MUL" };
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
    return { 3, plan_rms_norm_fused(norm, with, dst), "ADD+RMS_NORM+MUL" };
}

fused plan_fused(const gpu::capabilities & caps, const ggml_cgraph * graph, int first) {
    // Longest first.
    static constexpr fused (*patterns[])(const gpu::capabilities &, const ggml_cgraph *, int) = {
        add_rms_norm_mul,
        rms_norm_mul,
    };
    for (const auto pattern : patterns) {
        fused found = pattern(caps, graph, first);
        if (found.nodes != 0 && found.steps.supported()) {
            return found;
        }
    }
    return {};
}

}  // namespace ops
