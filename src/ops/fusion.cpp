#include "ops/fusion.h"

#include "ops/columns.h"
#include "ops/experts.h"
#include "ops/fusion_graph.h"
#include "ops/matmul.h"
#include "ops/norm.h"
#include "ops/rope.h"
#include "ops/split.h"

#include <algorithm>
#include <ggml-impl.h>

namespace ops {

static const ggml_backend_buffer * buffer_of(const ggml_tensor * t) {
    return t->view_src != nullptr ? t->view_src->buffer : t->buffer;
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
    const int next = next_node(graph, first);
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

//
// gated linear units
//

static bool is_product(const ggml_tensor * node) {
    return node->op == GGML_OP_MUL_MAT || node->op == GGML_OP_MUL_MAT_ID;
}

// An input of a gated unit: rows of a product from `first` on, by itself or by a view of it. None: it is nothing like that.
struct product_rows {
    const ggml_tensor * product = nullptr;
    int64_t             first   = 0;
};

static product_rows rows_of_product(const ggml_tensor * t, int64_t first, const ggml_tensor * glu) {
    const ggml_tensor * product = t->view_src != nullptr ? t->src[0] : t;
    const int64_t       row     = first + static_cast<int64_t>(t->view_offs / sizeof(float));
    const bool          rows    = product != nullptr && is_product(product) && ggml_are_same_stride(t, product) && row + glu->ne[0] <= product->ne[0] &&
                      std::equal(t->ne + 1, t->ne + GGML_MAX_DIMS, product->ne + 1);
    return rows ? product_rows{ product, row } : product_rows();
}

// Its value and its gate.
static std::pair<product_rows, product_rows> inputs_of(const ggml_tensor * glu) {
    if (glu->src[1] != nullptr) {
        return { rows_of_product(glu->src[0], 0, glu), rows_of_product(glu->src[1], 0, glu) };
    }
    const bool swapped = param_i32(glu, 1) != 0;
    return { rows_of_product(glu->src[0], swapped ? glu->ne[0] : 0, glu), rows_of_product(glu->src[0], swapped ? 0 : glu->ne[0], glu) };
}

// Nobody else reads `product`, nor the views by which the unit at `end` does.
static bool serves_only(const ggml_cgraph * graph, int begin, int end, const ggml_tensor * product) {
    for (int i = begin; i < end; i++) {
        const ggml_tensor * node = graph->nodes[i];
        const bool          its  = node == product || (ggml_op_is_empty(node->op) && node->src[0] == product);
        if (its && !serves_within(graph, i, end)) {
            return false;
        }
    }
    return (product->flags & GGML_TENSOR_FLAG_COMPUTE) != 0;
}

static bool same_but_for_weights(const ggml_tensor * a, const ggml_tensor * b) {
    return a->op == b->op && a->src[1] == b->src[1] && a->src[2] == b->src[2] && std::equal(std::begin(a->op_params), std::end(a->op_params), b->op_params);
}

static const ggml_tensor * weights_of(const product_rows & of, int64_t rows, std::list<ggml_tensor> & keep) {
    const ggml_tensor * all = of.product->src[0];
    return rows == all->ne[1] ? all : part_of(all, 1, of.first, of.first + rows, keep);
}

// Ranges whose ends lie askew share a binding, which then has room for both.
static bool bindable(const gpu::capabilities & caps, const ggml_tensor * a, const ggml_tensor * b) {
    const uint64_t addresses = reinterpret_cast<uintptr_t>(a->data) | reinterpret_cast<uintptr_t>(b->data);
    return addresses % caps.storage_alignment == 0 || span(a) + span(b) + 2 * caps.storage_alignment <= caps.max_binding;
}

// The step that writes `dst` reads nothing from there.
static bool reads_apart(const step & s, const ggml_tensor * dst) {
    return std::none_of(s.operands.begin(), s.operands.end(), [=](const operand & o) { return o.tensor != nullptr && o.tensor != dst && overlap(dst, o.tensor); });
}

// y = f(a x) * (b x), of two products or of rows of one
static fused mul_mat_glu(const gpu::capabilities & caps, const ggml_cgraph * graph, int first) {
    const ggml_tensor * one  = graph->nodes[first];
    int                 last = next_node(graph, first);
    if (!is_product(one) || last == graph->n_nodes) {
        return {};
    }
    const ggml_tensor * other = is_product(graph->nodes[last]) ? graph->nodes[last] : one;
    last                      = other != one ? next_node(graph, last) : last;
    if (last == graph->n_nodes || graph->nodes[last]->op != GGML_OP_GLU || (graph->nodes[last]->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) {
        return {};
    }
    const ggml_tensor * glu = graph->nodes[last];
    const auto [x, g]       = inputs_of(glu);
    const bool both         = (x.product == one && g.product == other) || (x.product == other && g.product == one);
    if (!both || !same_but_for_weights(one, other) || !serves_only(graph, first, last, one) || !serves_only(graph, first, last, other) ||
        exceeds_binding(caps, one) || exceeds_binding(caps, other) || exceeds_binding(caps, glu)) {
        return {};
    }
    std::list<ggml_tensor> parts;
    const ggml_tensor *    x_weights = weights_of(x, glu->ne[0], parts);
    const ggml_tensor *    g_weights = weights_of(g, glu->ne[0], parts);
    if (!bindable(caps, x_weights, g_weights)) {
        return {};
    }
    plan p = plan_mul_mat_glu(caps, one, x_weights, g_weights, glu);
    if (!p.supported() || !reads_apart(p.steps.back(), glu)) {
        return {};
    }
    p.slices = std::move(parts);
    return { last + 1 - first, std::move(p) };
}

// Longest first.
static constexpr struct {
    const char * name;
    fused (*plan)(const gpu::capabilities &, const ggml_cgraph *, int);
} patterns[] = {
    { "ADD+RMS_NORM+MUL", add_rms_norm_mul },
    { "RMS_NORM+MUL", rms_norm_mul },
    { "ROPE+SET_ROWS", rope_set_rows },
    { "MUL_MAT+GLU", mul_mat_glu },
    { "TOPK_MOE", experts_gate },
    { "MUL+ADD", experts_sum },
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
    if (!is_product(node) || node->src[1]->data != t->data || buffer_of(node->src[1]) != buffer_of(t) || !is_by_matvec(caps, node)) {
        return {};
    }
    plan p = plan_node(caps, node);
    if (!p.supported() || p.steps.empty() || !quantises_tensor(p.steps.front(), node->src[1])) {
        return {};
    }
    return std::move(p.steps.front());
}

// All of it, not a slice.
static bool writes(const step & s, const ggml_tensor * dst) {
    return std::any_of(s.operands.begin(), s.operands.end(), [=](const operand & o) { return o.tensor == dst; });
}

void quantise_for_product(const gpu::capabilities & caps, const ggml_cgraph * graph, int last, plan & p) {
    static constexpr int reach = 8;
    const ggml_tensor *  dst   = graph->nodes[last];
    if (p.steps.empty() || !p.steps.back().quantises || !writes(p.steps.back(), dst)) {
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
