#include "ops/split.h"

#include "gpu/log.h"

#include <algorithm>
#include <iterator>

namespace ops {

// The last words of op_params, which neither GET_ROWS nor SET_ROWS uses, carry a slice's window.
static constexpr int window_begin = 14;
static constexpr int window_whole = 15;

row_window window_of(const ggml_tensor * node, const ggml_tensor * table) {
    const uint32_t whole = static_cast<uint32_t>(param_i32(node, window_whole));
    const uint32_t n     = static_cast<uint32_t>(table->ne[1]);
    return whole == 0 ? row_window{ 0, n, n } : row_window{ static_cast<uint32_t>(param_i32(node, window_begin)), n, whole };
}

static bool fits(const gpu::capabilities & caps, const ggml_tensor * t) {
    return t == nullptr || span(t) + 2 * caps.storage_alignment <= caps.max_binding;
}

bool exceeds_binding(const gpu::capabilities & caps, const ggml_tensor * node) {
    return !fits(caps, node) || std::any_of(std::begin(node->src), std::end(node->src), [&](const ggml_tensor * t) { return !fits(caps, t); });
}

namespace {

class slicer {
public:
    slicer(const gpu::capabilities & caps, split_rule rule, plan_function make) : caps_(caps), rule_(rule), make_(make) {}

    // Appends the steps of `node`, cutting it in two as long as something does not fit.
    void add(const ggml_tensor & node) {
        if (!whole.why.empty()) {
            return;
        }
        if (!exceeds_binding(caps_, &node)) {
            plan part = make_(caps_, &node);
            whole.why = part.why;
            whole.scratch = std::max(whole.scratch, part.scratch);
            std::move(part.steps.begin(), part.steps.end(), std::back_inserter(whole.steps));
            std::move(part.slices.begin(), part.slices.end(), std::back_inserter(whole.slices));
            return;
        }
        if (!halve(node)) {
            whole.why = gpu::format("a tensor of %s is larger than the binding limit of %llu bytes and cannot be cut", ggml_op_name(node.op),
                                    (unsigned long long) caps_.max_binding);
        }
    }

    plan whole;

private:
    // Part [begin, end) of dimension `d`; lives as long as the plan.
    ggml_tensor * part(const ggml_tensor * t, int d, int64_t begin, int64_t end) {
        ggml_tensor & p = whole.slices.emplace_back(*t);
        p.ne[d]         = end - begin;
        p.data          = static_cast<char *>(t->data) + begin * t->nb[d];
        return &p;
    }

    // Cuts `node` at half of dst's dimension `d`. `along[i]` is the dimension of source i that goes with it, -1 for none.
    bool cut(const ggml_tensor & node, int d, const int (&along)[GGML_MAX_SRC]) {
        const int64_t half = node.ne[d] / 2;
        for (int side = 0; side < 2; side++) {
            const int64_t begin = side == 0 ? 0 : half, end = side == 0 ? half : node.ne[d];
            ggml_tensor * p = part(&node, d, begin, end);
            for (int i = 0; i < GGML_MAX_SRC; i++) {
                if (node.src[i] != nullptr && along[i] >= 0) {
                    p->src[i] = part(node.src[i], along[i], begin, end);
                }
            }
            add(*p);
        }
        return true;
    }

    // Along dimension `d` of dst, with every source that has the same size there; the others must be broadcast over it.
    bool cut_shared(const ggml_tensor & node, int d) {
        int along[GGML_MAX_SRC];
        for (int i = 0; i < GGML_MAX_SRC; i++) {
            along[i] = -1;
            if (node.src[i] == nullptr || node.src[i]->ne[d] == 1) {
                continue;
            }
            if (node.src[i]->ne[d] != node.ne[d]) {
                return false;
            }
            along[i] = d;
        }
        return node.ne[d] > 1 && cut(node, d, along);
    }

    // A window of half the table's rows each.
    bool cut_table(const ggml_tensor & node, bool table_is_dst) {
        const ggml_tensor * table = table_is_dst ? &node : node.src[0];
        if (table->ne[1] < 2) {
            return false;
        }
        const row_window now  = window_of(&node, table);
        const int64_t    half = table->ne[1] / 2;
        for (int side = 0; side < 2; side++) {
            const int64_t begin = side == 0 ? 0 : half, end = side == 0 ? half : table->ne[1];
            ggml_tensor * p = table_is_dst ? part(&node, 1, begin, end) : &whole.slices.emplace_back(node);
            if (!table_is_dst) {
                p->src[0] = part(table, 1, begin, end);
            }
            p->op_params[window_begin] = static_cast<int32_t>(now.begin + begin);
            p->op_params[window_whole] = static_cast<int32_t>(now.whole);
            add(*p);
        }
        return true;
    }

    bool halve(const ggml_tensor & node) {
        static constexpr int columns[GGML_MAX_SRC] = { -1, 1, -1, -1, -1, -1, -1, -1, -1, -1 };
        static constexpr int rows[GGML_MAX_SRC]    = { 1, -1, -1, -1, -1, -1, -1, -1, -1, -1 };
        static constexpr int looked_up[GGML_MAX_SRC] = { -1, 0, -1, -1, -1, -1, -1, -1, -1, -1 };
        switch (rule_) {
            case split_rule::none:
                return false;
            case split_rule::outer:
            case split_rule::any:
                return cut_shared(node, 3) || cut_shared(node, 2) || cut_shared(node, 1) || (rule_ == split_rule::any && cut_shared(node, 0));
            case split_rule::product:
                if (cut_shared(node, 3) || cut_shared(node, 2)) {
                    return true;
                }
                if (node.ne[1] > 1 && (!fits(caps_, node.src[1]) || !fits(caps_, &node))) {
                    return cut(node, 1, columns);
                }
                return node.ne[0] > 1 && cut(node, 0, rows);
            case split_rule::lookup:
                if (!fits(caps_, node.src[0]) && node.src[0]->ne[2] == 1 && node.src[0]->ne[3] == 1) {
                    return cut_table(node, false);
                }
                return cut_shared(node, 3) || cut_shared(node, 2) || (node.ne[1] > 1 && cut(node, 1, looked_up));
            case split_rule::scatter:
                return cut_table(node, true);
        }
        return false;
    }

    const gpu::capabilities & caps_;
    split_rule                rule_;
    plan_function             make_;
};

}  // namespace

plan plan_in_slices(const gpu::capabilities & caps, const ggml_tensor * node, split_rule rule, plan_function make) {
    slicer s(caps, rule, make);
    s.add(*node);
    return std::move(s.whole);
}

}  // namespace ops
