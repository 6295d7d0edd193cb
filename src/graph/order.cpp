#include "graph/order.h"

#include <algorithm>
#include <ggml-impl.h>
#include <vector>

namespace graph {

static constexpr int reach = 24;  // nodes, views among them, over which one is brought forward

// The tensor whose memory `t` lies in.
static const ggml_tensor * root_of(const ggml_tensor * t) {
    while (t->view_src != nullptr) {
        t = t->view_src;
    }
    return t;
}

static bool is_view(const ggml_tensor * t) {
    return t->op == GGML_OP_VIEW || t->op == GGML_OP_RESHAPE || t->op == GGML_OP_PERMUTE || t->op == GGML_OP_TRANSPOSE || t->op == GGML_OP_NONE;
}

static bool reads(const ggml_tensor * node, const ggml_tensor * root) {
    return std::any_of(std::begin(node->src), std::end(node->src), [=](const ggml_tensor * s) { return s != nullptr && root_of(s) == root; });
}

// The two may not change places.
static bool depend(const ggml_tensor * a, const ggml_tensor * b) {
    return root_of(a) == root_of(b) || reads(a, root_of(b)) || reads(b, root_of(a));
}

// Worth having side by side: products of one tensor, rotations by the same positions, rows stored, norms.
static bool similar(const ggml_tensor * a, const ggml_tensor * b) {
    if (a->op != b->op) {
        return false;
    }
    switch (a->op) {
        case GGML_OP_MUL_MAT:
        case GGML_OP_MUL_MAT_ID:
        case GGML_OP_ROPE:     return a->src[1] == b->src[1];
        case GGML_OP_SET_ROWS:
        case GGML_OP_RMS_NORM: return true;
        default:               return false;
    }
}

using keep_function = std::function<void(ggml_tensor *, ggml_tensor *)>;

namespace {

class ordering {
public:
    explicit ordering(ggml_cgraph * graph) : nodes_(graph->nodes, graph->nodes + graph->n_nodes), placed_(nodes_.size()) {}

    std::vector<ggml_tensor *> run(const keep_function & keep) {
        for (size_t i = 0; i < nodes_.size(); i++) {
            if (placed_[i]) {
                continue;
            }
            const size_t        end   = unit_end(i);
            std::vector<size_t> group = { i };
            place(i, end);
            for (size_t j = end; j < std::min(i + reach, nodes_.size()); j++) {
                if (!placed_[j] && similar(nodes_[i], nodes_[j]) && may_move_to(i, j)) {
                    place_views(j);
                    place(j, unit_end(j));
                    group.push_back(j);
                }
            }
            // Else a result could lie where the one before it had its source.
            ggml_tensor * last = gated(group);
            for (const size_t member : group) {
                keep_sources(nodes_[member], last, keep);
            }
            if (nodes_[i]->op == GGML_OP_ARGSORT) {
                keep_logits(i, keep);
            }
        }
        return std::move(order_);
    }

private:
    // A norm and the product that is computed with it stay together.
    size_t unit_end(size_t i) const {
        const bool with_next = nodes_[i]->op == GGML_OP_RMS_NORM && i + 1 < nodes_.size() && nodes_[i + 1]->op == GGML_OP_MUL && !placed_[i + 1] &&
                               (nodes_[i + 1]->src[0] == nodes_[i] || nodes_[i + 1]->src[1] == nodes_[i]);
        return i + (with_next ? 2 : 1);
    }

    // The last of the group: the unit that gates its products, if one follows, since they may be made in one dispatch (ops/fusion.h).
    ggml_tensor * gated(const std::vector<size_t> & group) const {
        const bool products = nodes_[group.front()]->op == GGML_OP_MUL_MAT || nodes_[group.front()]->op == GGML_OP_MUL_MAT_ID;
        const auto made     = [&](const ggml_tensor * root) {
            return std::any_of(group.begin(), group.end(), [&](size_t member) { return nodes_[member] == root; });
        };
        for (size_t j = group.back() + 1; products && j < std::min(group.back() + reach, nodes_.size()); j++) {
            if (nodes_[j]->op == GGML_OP_GLU && made(root_of(nodes_[j]->src[0]))) {
                return nodes_[j];
            }
        }
        return nodes_[group.back()];
    }

    // The gate of a mixture of experts may be one dispatch (ops/experts.h), which then reads what its first node does: its last node's
    // result must not lie there.
    void keep_logits(size_t argsort, const keep_function & keep) const {
        size_t last = argsort;
        for (size_t j = argsort + 1; j < nodes_.size() && (is_view(nodes_[j]) || follows_choice(nodes_[j]->op)); j++) {
            last = is_view(nodes_[j]) ? last : j;
        }
        ggml_tensor * read = nodes_[argsort]->src[0];
        for (int depth = 0; last != argsort && read != nullptr && depth < 4; depth++) {
            keep(read, nodes_[last]);
            read = precedes_choice(read->op) ? read->src[0] : nullptr;
        }
    }

    static bool precedes_choice(ggml_op op) { return op == GGML_OP_ADD || op == GGML_OP_SQRT || op == GGML_OP_UNARY || op == GGML_OP_SOFT_MAX; }

    static bool follows_choice(ggml_op op) {
        return op == GGML_OP_GET_ROWS || op == GGML_OP_SOFT_MAX || op == GGML_OP_SUM_ROWS || op == GGML_OP_CLAMP || op == GGML_OP_DIV || op == GGML_OP_SCALE;
    }

    static void keep_sources(const ggml_tensor * node, ggml_tensor * until, const keep_function & keep) {
        for (ggml_tensor * s : node->src) {
            if (s != nullptr && node != until) {
                keep(s, until);
            }
        }
    }

    void place(size_t begin, size_t end) {
        for (size_t i = begin; i < end; i++) {
            placed_[i] = true;
            order_.push_back(nodes_[i]);
        }
    }

    // The nodes that j would pass compute nothing that its unit needs, and need nothing that it writes.
    bool may_move_to(size_t i, size_t j) const {
        for (size_t k = i + 1; k < j; k++) {
            for (size_t u = j; u < unit_end(j); u++) {
                if (!placed_[k] && !is_view(nodes_[k]) && depend(nodes_[k], nodes_[u])) {
                    return false;
                }
            }
        }
        return true;
    }

    // The views that node j and those after it in its unit read.
    void place_views(size_t j) {
        for (size_t u = j; u < unit_end(j); u++) {
            for (const ggml_tensor * s : nodes_[u]->src) {
                place_view(s, j);
            }
        }
    }

    void place_view(const ggml_tensor * t, size_t before) {
        if (t == nullptr || !is_view(t)) {
            return;
        }
        for (const ggml_tensor * s : t->src) {
            place_view(s, before);
        }
        const auto found = std::find(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(before), t);
        const auto at    = static_cast<size_t>(found - nodes_.begin());
        if (at < before && !placed_[at]) {
            place(at, at + 1);
        }
    }

    std::vector<ggml_tensor *> nodes_;
    std::vector<bool>          placed_;
    std::vector<ggml_tensor *> order_;
};

}  // namespace

void order_for_side_by_side(ggml_cgraph * graph, const keep_function & keep) {
    const std::vector<ggml_tensor *> order = ordering(graph).run(keep);
    std::copy(order.begin(), order.end(), graph->nodes);
}

}  // namespace graph
