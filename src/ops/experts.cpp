#include "ops/experts.h"

#include "ops/fusion_graph.h"
#include "ops/split.h"

#include <algorithm>
#include <ggml-impl.h>

namespace ops {

static constexpr uint32_t gate_threads = 32;
static constexpr uint32_t most_items   = 16;  // experts of a thread
static constexpr uint32_t sum_threads  = 256;

//
// the gate
//

namespace {

// Reads the nodes of a gate one after the other: as llama.cpp builds them.
class gate_reader {
public:
    gate_reader(const ggml_cgraph * graph, int first) : graph_(graph), first_(first), at_(first) {}

    // Whether there is a gate; `last` is then its last node.
    bool read() {
        return read_probabilities() && read_choice() && read_weights() && serves_itself();
    }

    uint32_t used() const { return static_cast<uint32_t>(chosen_->ne[0]); }

    const ggml_tensor * logits  = nullptr;
    const ggml_tensor * bias    = nullptr;
    const ggml_tensor * sorted  = nullptr;
    const ggml_tensor * weights = nullptr;
    uint32_t            gate    = 0;  // see experts/gate.wgsl
    bool                softmax_weights = false;
    bool                norm            = false;
    float               logits_scale = 1.0f, least_sum = 0.0f, most_sum = 0.0f, weight_scale = 1.0f, weight_bias = 0.0f;
    int                 last = 0;

private:
    const ggml_tensor * node() const { return at_ < graph_->n_nodes ? graph_->nodes[at_] : nullptr; }
    bool                is(ggml_op op) const { return node() != nullptr && node()->op == op; }
    bool                is(ggml_unary_op op) const { return is(GGML_OP_UNARY) && ggml_get_unary_op(node()) == op; }
    const ggml_tensor * take() {
        last_read_ = at_;
        at_        = next_node(graph_, at_);
        return graph_->nodes[last_read_];
    }

    // The same values, perhaps in another shape.
    static bool same(const ggml_tensor * a, const ggml_tensor * b) {
        return a != nullptr && a->data == b->data && ggml_nelements(a) == ggml_nelements(b) && ggml_is_contiguous(a) && ggml_is_contiguous(b);
    }

    bool read_probabilities() {
        if (is(GGML_OP_SOFT_MAX) && node()->src[1] == nullptr && node()->src[2] == nullptr) {
            gate         = 1;
            logits_scale = param_f32(node(), 0);
            logits       = node()->src[0];
            probabilities_ = take();
        } else if (is(GGML_UNARY_OP_SIGMOID)) {
            gate           = 2;
            logits         = node()->src[0];
            probabilities_ = take();
        } else if (is(GGML_UNARY_OP_SOFTPLUS)) {
            gate   = 3;
            logits = node()->src[0];
            const ggml_tensor * softplus = take();
            if (!is(GGML_OP_SQRT) || node()->src[0] != softplus) {
                return false;
            }
            probabilities_ = take();
        } else if (is(GGML_OP_ARGSORT)) {
            logits = probabilities_ = node()->src[0];
        } else {
            return false;
        }
        return logits->type == GGML_TYPE_F32 && logits->ne[2] == 1 && logits->ne[3] == 1 && ggml_is_contiguous(logits) &&
               logits->ne[0] <= gate_threads * most_items && logits_scale > 0.0f;
    }

    bool read_choice() {
        const ggml_tensor * selection = probabilities_;
        if (is(GGML_OP_ADD) && node()->src[0] == selection && gate != 0) {
            bias = node()->src[1];
            if (bias->type != GGML_TYPE_F32 || ggml_nelements(bias) != logits->ne[0] || !ggml_is_contiguous(bias)) {
                return false;
            }
            selection = take();
        }
        if (!is(GGML_OP_ARGSORT) || node()->src[0] != selection || param_i32(node(), 0) != GGML_SORT_ORDER_DESC) {
            return false;
        }
        sorted = take();
        if (!is(GGML_OP_GET_ROWS)) {
            return false;
        }
        const ggml_tensor * from = node()->src[0];
        chosen_                  = node()->src[1];
        const int64_t experts = logits->ne[0], tokens = logits->ne[1];
        return same(from, probabilities_) && from->ne[0] == 1 && from->ne[1] == experts && from->ne[2] == tokens && chosen_->src[0] == sorted &&
               chosen_->data == sorted->data && chosen_->nb[0] == sizeof(int32_t) && chosen_->nb[1] == sorted->nb[1] && chosen_->ne[1] == tokens &&
               chosen_->ne[0] <= gate_threads;
    }

    bool read_weights() {
        weights = take();
        if (is(GGML_OP_SOFT_MAX) && same(node()->src[0], weights) && node()->src[0]->ne[0] == chosen_->ne[0] && node()->src[1] == nullptr &&
            node()->src[2] == nullptr && param_f32(node(), 0) == 1.0f) {
            softmax_weights = true;
            weights         = take();
        }
        if (is(GGML_OP_SUM_ROWS) && same(node()->src[0], weights) && node()->src[0]->ne[0] == chosen_->ne[0]) {
            const ggml_tensor * sum = take();
            if (!is(GGML_OP_CLAMP) || node()->src[0] != sum) {
                return false;
            }
            norm      = true;
            least_sum = param_f32(node(), 0);
            most_sum  = std::min(param_f32(node(), 1), 3e38f);
            const ggml_tensor * clamped = take();
            if (!is(GGML_OP_DIV) || !same(node()->src[0], weights) || node()->src[1] != clamped) {
                return false;
            }
            weights = take();
        }
        if (is(GGML_OP_SCALE) && same(node()->src[0], weights)) {
            weight_scale = param_f32(node(), 0);
            weight_bias  = param_f32(node(), 1);
            weights      = take();
        }
        last = last_read_;
        return ggml_is_contiguous(weights);
    }

    // Nothing else reads what will not be there: all but the choice and the weights.
    bool serves_itself() const {
        for (int i = first_; i < last; i++) {
            if (graph_->nodes[i] != chosen_ && !serves_within(graph_, i, last)) {
                return false;
            }
        }
        return (sorted->flags & GGML_TENSOR_FLAG_COMPUTE) != 0 && (weights->flags & GGML_TENSOR_FLAG_COMPUTE) != 0;
    }

    const ggml_cgraph * graph_;
    const int           first_;
    int                 at_;
    int                 last_read_     = 0;
    const ggml_tensor * probabilities_ = nullptr;
    const ggml_tensor * chosen_        = nullptr;  // the view of `sorted`
};

}  // namespace

fused experts_gate(const gpu::capabilities & caps, const ggml_cgraph * graph, int first) {
    gate_reader g(graph, first);
    if (!g.read()) {
        return {};
    }
    const bool apart = may_replace(g.sorted, g.logits) && !overlap(g.weights, g.logits) && !overlap(g.weights, g.sorted) &&
                       (g.bias == nullptr || (!overlap(g.bias, g.sorted) && !overlap(g.bias, g.weights)));
    if (!apart || exceeds_binding(caps, g.sorted) || exceeds_binding(caps, g.weights) || !fits(caps, g.logits)) {
        return {};
    }
    const uint32_t experts = static_cast<uint32_t>(g.logits->ne[0]);
    step           s;
    s.kernel = gpu::kernel_name("experts/gate").threads(gate_threads).define("ITEMS", groups_for(experts, gate_threads)).define("GATE", g.gate);
    s.operands = { bind("logits", g.logits), bind("experts", g.sorted), bind("weights", g.weights) };
    if (g.bias != nullptr) {
        s.kernel.define("BIAS");
        s.operands.push_back(bind("bias", g.bias));
    }
    if (g.softmax_weights) {
        s.kernel.define("SOFTMAX_WEIGHTS");
    }
    if (g.norm) {
        s.kernel.define("NORM");
    }
    s.params.add("experts", experts).add("used", g.used());
    s.params.add("logits_scale", g.logits_scale).add("least_sum", g.least_sum).add("most_sum", g.most_sum);
    s.params.add("weight_scale", g.weight_scale).add("weight_bias", g.weight_bias);
    s.groups = static_cast<uint64_t>(g.logits->ne[1]);
    return { g.last + 1 - first, plan(std::move(s)) };
}

//
// the sum
//

// Part `n` of the second dimension, for all of the third.
static bool is_part(const ggml_tensor * view, const ggml_tensor * of, int64_t n) {
    return view->op == GGML_OP_VIEW && view->src[0] == of && view->data == static_cast<char *>(of->data) + n * of->nb[1] && view->ne[0] == of->ne[0] &&
           view->ne[1] == of->ne[2] && view->ne[2] == 1 && view->ne[3] == 1 && view->nb[0] == of->nb[0] && view->nb[1] == of->nb[2];
}

fused experts_sum(const gpu::capabilities & caps, const ggml_cgraph * graph, int first) {
    const ggml_tensor * product = graph->nodes[first];
    if (product->op != GGML_OP_MUL || product->type != GGML_TYPE_F32 || product->ne[1] < 2 || product->ne[3] != 1) {
        return {};
    }
    const ggml_tensor * results = product->src[0];
    const ggml_tensor * weights = product->src[1];
    if (!ggml_are_same_shape(product, results) || results->type != GGML_TYPE_F32 || results->nb[0] != sizeof(float) || weights->type != GGML_TYPE_F32 ||
        weights->ne[0] != 1 || weights->ne[1] != product->ne[1] || weights->ne[2] != product->ne[2] || !ggml_is_contiguous(weights)) {
        return {};
    }
    const ggml_tensor * dst  = nullptr;
    int                 last = first;
    for (int64_t n = 1; n < product->ne[1]; n++) {
        last = next_node(graph, last);
        if (last == graph->n_nodes || graph->nodes[last]->op != GGML_OP_ADD) {
            return {};
        }
        const ggml_tensor * add     = graph->nodes[last];
        const bool          follows = n == 1 ? is_part(add->src[0], product, 0) : add->src[0] == dst;
        if (!follows || !is_part(add->src[1], product, n)) {
            return {};
        }
        dst = add;
    }
    for (int i = first; i < last; i++) {
        if (!serves_within(graph, i, last)) {
            return {};
        }
    }
    if ((dst->flags & GGML_TENSOR_FLAG_COMPUTE) == 0 || dst->type != GGML_TYPE_F32 || !ggml_is_contiguous(dst) || overlap(dst, results) ||
        overlap(dst, weights) || exceeds_binding(caps, product) || exceeds_binding(caps, dst)) {
        return {};
    }
    const bool in_quads = quads(results) && quads(dst);
    step       s;
    s.kernel = gpu::kernel_name("experts/sum").threads(sum_threads);
    if (in_quads) {
        s.kernel.define("QUADS");
    }
    s.operands = { bind_source("results", results, in_quads), bind("weights", weights), bind_source("dst", dst, in_quads) };
    s.params.add("results_nb", nb(results)).add("values", static_cast<uint32_t>(dst->ne[0]));
    s.params.add("used", static_cast<uint32_t>(product->ne[1])).add("tokens", static_cast<uint32_t>(product->ne[2]));
    s.groups = groups_for(uint64_t(count(dst)) / (in_quads ? 4 : 1), sum_threads);
    s.joins  = true;
    return { last + 1 - first, plan(std::move(s)) };
}

}  // namespace ops
