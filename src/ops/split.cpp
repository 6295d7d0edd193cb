#include "ops/split.h"

#include "gpu/log.h"

#include <algorithm>
#include <iterator>

namespace ops {

// The last words of op_params, which GET_ROWS, SET_ROWS, MUL_MAT_ID and SOFT_MAX do not use, carry a slice's window.
static constexpr int window_begin = 14;
static constexpr int window_whole = 15;

static table_window bound_window(const ggml_tensor * node, int64_t size) {
    const uint32_t whole = static_cast<uint32_t>(param_i32(node, window_whole));
    const uint32_t n     = static_cast<uint32_t>(size);
    return whole == 0 ? table_window{ 0, n, n } : table_window{ static_cast<uint32_t>(param_i32(node, window_begin)), n, whole };
}

table_window window_of(const ggml_tensor * node, const ggml_tensor * table, int d) {
    return bound_window(node, table->ne[d]);
}

table_window heads_of(const ggml_tensor * node) {
    return bound_window(node, node->ne[2]);
}

uint32_t rows_of_whole(const ggml_tensor * node) {
    return bound_window(node, ggml_nrows(node)).whole;
}

bool fits(const gpu::capabilities & caps, const ggml_tensor * t) {
    return t == nullptr || span(t) + 2 * caps.storage_alignment <= caps.max_binding;
}

bool exceeds_binding(const gpu::capabilities & caps, const ggml_tensor * node) {
    return !fits(caps, node) || std::any_of(std::begin(node->src), std::end(node->src), [&](const ggml_tensor * t) { return !fits(caps, t); });
}

ggml_tensor * part_of(const ggml_tensor * t, int d, int64_t begin, int64_t end, std::list<ggml_tensor> & keep) {
    ggml_tensor & p = keep.emplace_back(*t);
    p.ne[d]         = end - begin;
    p.data          = static_cast<char *>(t->data) + (d == 0 ? begin / ggml_blck_size(t->type) : begin) * t->nb[d];
    return &p;
}

// The dimension that spreads the tensor the widest, or -1. Rows of blocks stay whole.
static int widest_dimension(const ggml_tensor * t) {
    int widest = -1;
    for (int d = ggml_is_quantized(t->type) ? 1 : 0; d < GGML_MAX_DIMS; d++) {
        if (t->ne[d] > 1 && (widest < 0 || t->nb[d] >= t->nb[widest])) {
            widest = d;
        }
    }
    return widest;
}

std::vector<window> windows_that_fit(const gpu::capabilities & caps, const ggml_tensor * t, std::list<ggml_tensor> & keep) {
    std::vector<window> windows = { { t, {} } };
    for (size_t i = 0; i < windows.size();) {
        if (fits(caps, windows[i].tensor)) {
            i++;
            continue;
        }
        const window both = windows[i];
        const int    d    = widest_dimension(both.tensor);
        if (d < 0) {
            return {};
        }
        const int64_t size = both.tensor->ne[d], half = size > 8 ? size / 8 * 4 : size / 2;  // where quads meet
        window        rest{ part_of(both.tensor, d, half, size, keep), both.first };
        rest.first[d] += static_cast<uint32_t>(half);
        windows[i].tensor = part_of(both.tensor, d, 0, half, keep);
        windows.insert(windows.begin() + static_cast<ptrdiff_t>(i) + 1, rest);
    }
    return windows;
}

const ggml_tensor * matching_part(const ggml_tensor * t, const window & of, std::list<ggml_tensor> & keep) {
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        if (of.tensor->ne[d] != t->ne[d]) {
            t = part_of(t, d, of.first[d], of.first[d] + of.tensor->ne[d], keep);
        }
    }
    return t;
}

std::vector<const ggml_tensor *> parts_that_fit(const gpu::capabilities & caps, const ggml_tensor * t, std::list<ggml_tensor> & keep) {
    std::vector<const ggml_tensor *> parts = { t };
    for (size_t i = 0; i < parts.size();) {
        int d = GGML_MAX_DIMS - 1;
        while (d > 0 && parts[i]->ne[d] == 1) {
            d--;
        }
        const int64_t size = parts[i]->ne[d];
        if (fits(caps, parts[i]) || size < 2) {
            i++;
            continue;
        }
        const ggml_tensor * both = parts[i];
        parts[i]                 = part_of(both, d, 0, size / 2, keep);
        parts.insert(parts.begin() + static_cast<ptrdiff_t>(i) + 1, part_of(both, d, size / 2, size, keep));
    }
    return parts;
}

namespace {

// For split_rule::listed: dimension `d` of dst, and for each source the dimension that is cut with it.
struct listed_cut {
    static constexpr int whole    = -1;  // the source stays whole
    static constexpr int repeated = -2;  // the same, if its size in dimension d is 1

    ggml_op op;
    int     d;
    int     along[4];
};

constexpr listed_cut listed_cuts[] = {
    { GGML_OP_LIGHTNING_INDEXER, 3, { 3, 3, 3, 3 } },
    { GGML_OP_LIGHTNING_INDEXER, 3, { 3, 3, 3, listed_cut::repeated } },
    { GGML_OP_LIGHTNING_INDEXER, 1, { 2, listed_cut::whole, 1, 1 } },
    { GGML_OP_LIGHTNING_INDEXER, 0, { listed_cut::whole, 2, listed_cut::whole, 0 } },
    { GGML_OP_DSV4_HC_COMB, 2, { 1, listed_cut::whole, listed_cut::whole, listed_cut::whole } },
    { GGML_OP_DSV4_HC_PRE, 1, { 2, 2, listed_cut::whole, listed_cut::whole } },  // weights for each value
    { GGML_OP_DSV4_HC_PRE, 1, { 2, 1, listed_cut::whole, listed_cut::whole } },  // weights for each stream
    { GGML_OP_DSV4_HC_POST, 2, { 1, 2, 1, 2 } },
};

class slicer {
public:
    slicer(const gpu::capabilities & caps, split_rule rule, plan_function make) : caps_(caps), rule_(rule), make_(make) {}

    // Appends the steps of `node`, cutting it in two as long as something does not fit.
    void add(const ggml_tensor & node) {
        if (!whole.why.empty()) {
            return;
        }
        if (!exceeds_binding(caps_, &node)) {
            append(whole, make_(caps_, &node));
            return;
        }
        if (!halve(node)) {
            whole.why = gpu::format("a tensor of %s is larger than the binding limit of %llu bytes and cannot be cut", ggml_op_name(node.op),
                                    (unsigned long long) caps_.max_binding);
        }
    }

    plan whole;

private:
    static constexpr int first_source_along_2[GGML_MAX_SRC] = { 2, -1, -1, -1, -1, -1, -1, -1, -1, -1 };

    ggml_tensor * part(const ggml_tensor * t, int d, int64_t begin, int64_t end) { return part_of(t, d, begin, end, whole.slices); }

    // Cuts `node` at half of dst's dimension `d`. `along[i]` is the dimension of source i that goes with it, -1 for none.
    bool cut(const ggml_tensor & node, int d, const int (&along)[GGML_MAX_SRC]) {
        return cut_at(node, d, node.ne[d] / 2, along, [](ggml_tensor &, int64_t) {});
    }

    // The same at `half`; `adjust(part, begin)` does what else distinguishes the parts.
    template <typename F> bool cut_at(const ggml_tensor & node, int d, int64_t half, const int (&along)[GGML_MAX_SRC], F && adjust) {
        for (int side = 0; side < 2; side++) {
            const int64_t begin = side == 0 ? 0 : half, end = side == 0 ? half : node.ne[d];
            ggml_tensor * p = part(&node, d, begin, end);
            for (int i = 0; i < GGML_MAX_SRC; i++) {
                if (node.src[i] != nullptr && along[i] >= 0) {
                    p->src[i] = part(node.src[i], along[i], begin, end);
                }
            }
            adjust(*p, begin);
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
        if (d > 0) {
            return node.ne[d] > 1 && cut(node, d, along);
        }
        const bool    quantised = ggml_is_quantized(node.type) || std::any_of(std::begin(node.src), std::end(node.src), is_quantised);
        const int64_t unit      = quantised ? 256 : node.ne[0] > 4 ? 4 : 1;  // all types' blocks divide 256
        return node.ne[0] > unit && cut_at(node, 0, (node.ne[0] / unit + 1) / 2 * unit, along, [](ggml_tensor &, int64_t) {});
    }

    static bool is_quantised(const ggml_tensor * t) { return t != nullptr && ggml_is_quantized(t->type); }

    // As cut_shared, along that dimension which spreads a tensor that does not fit the widest.
    bool cut_widest(const ggml_tensor & node) {
        const ggml_tensor * wide = &node;
        for (int i = 0; i < GGML_MAX_SRC && fits(caps_, wide); i++) {
            wide = node.src[i] != nullptr ? node.src[i] : wide;
        }
        int by_stride[GGML_MAX_DIMS] = { 3, 2, 1, 0 };
        std::stable_sort(std::begin(by_stride), std::end(by_stride), [&](int a, int b) { return wide->nb[a] > wide->nb[b]; });
        return std::any_of(std::begin(by_stride), std::end(by_stride), [&](int d) { return wide->ne[d] > 1 && cut_shared(node, d); });
    }

    // A window of half the table's entries along `d` each; the table is dst or source 0.
    bool cut_table(const ggml_tensor & node, bool table_is_dst, int d) {
        const ggml_tensor * table = table_is_dst ? &node : node.src[0];
        if (table->ne[d] < 2) {
            return false;
        }
        const table_window now  = window_of(&node, table, d);
        const int64_t      half = table->ne[d] / 2;
        for (int side = 0; side < 2; side++) {
            const int64_t begin = side == 0 ? 0 : half, end = side == 0 ? half : table->ne[d];
            ggml_tensor * p = table_is_dst ? part(&node, d, begin, end) : &whole.slices.emplace_back(node);
            if (!table_is_dst) {
                p->src[0] = part(table, d, begin, end);
            } else if (p->src[2] != nullptr) {
                p->src[2] = part(p->src[2], d, begin, end);  // SET_ROWS: what dst is a view of
            }
            p->op_params[window_begin] = static_cast<int32_t>(now.begin + begin);
            p->op_params[window_whole] = static_cast<int32_t>(now.whole);
            add(*p);
        }
        return true;
    }

    // GET_ROWS and SET_ROWS along dimension `d`, 2 or 3, of dst, table and rows: it is dimension d - 1 of the indices, which
    // may be repeated over it.
    bool cut_indexed(const ggml_tensor & node, int d) {
        const int64_t size = node.ne[d], turn = node.src[1]->ne[d - 1];
        if (size < 2) {
            return false;
        }
        int along[GGML_MAX_SRC] = { d, turn == size ? d - 1 : -1, d, -1, -1, -1, -1, -1, -1, -1 };
        const int64_t unit = turn == size ? 1 : turn;
        return cut_at(node, d, (size / unit + 1) / 2 * unit, along, [](ggml_tensor &, int64_t) {});
    }

    // SET_ROWS: the rows to be set.
    bool cut_source_rows(const ggml_tensor & node) {
        const ggml_tensor * rows = node.src[0];
        const int64_t       half = rows->ne[1] / 2;
        if (half == 0) {
            return false;
        }
        for (int side = 0; side < 2; side++) {
            const int64_t begin = side == 0 ? 0 : half, end = side == 0 ? half : rows->ne[1];
            ggml_tensor & p = whole.slices.emplace_back(node);
            p.src[0]        = part(rows, 1, begin, end);
            p.src[1]        = part(node.src[1], 0, begin, end);
            add(p);
        }
        return true;
    }

    // CPY between different shapes, one of them contiguous: that one takes the other's shape.
    bool reshape_copy(const ggml_tensor & node) {
        const ggml_tensor * src = node.src[0];
        if (ggml_are_same_shape(src, &node)) {
            return false;
        }
        ggml_tensor & to   = whole.slices.emplace_back(node);
        ggml_tensor & copy = whole.slices.emplace_back(*src);
        if (ggml_is_contiguous(src)) {
            take_shape(copy, node);
        } else if (ggml_is_contiguous(&node)) {
            take_shape(to, *src);
        } else {
            return false;
        }
        to.src[0] = &copy;
        to.src[1] = nullptr;
        add(to);
        return true;
    }

    static void take_shape(ggml_tensor & t, const ggml_tensor & shape) {
        std::copy(std::begin(shape.ne), std::end(shape.ne), t.ne);
        t.nb[1] = ggml_row_size(t.type, t.ne[0]);
        t.nb[2] = t.nb[1] * t.ne[1];
        t.nb[3] = t.nb[2] * t.ne[2];
    }

    // SOFT_MAX between heads: the slope of a head and its sink depend on its number.
    bool cut_heads(const ggml_tensor & node) {
        const ggml_tensor * mask = node.src[1];
        if (node.ne[2] < 2 || (mask != nullptr && mask->ne[2] != 1 && mask->ne[2] != node.ne[2])) {
            return false;
        }
        int along[GGML_MAX_SRC];
        std::fill(std::begin(along), std::end(along), -1);
        along[0] = 2;
        along[1] = mask != nullptr && mask->ne[2] > 1 ? 2 : -1;
        const table_window now = heads_of(&node);
        return cut_at(node, 2, node.ne[2] / 2, along, [now](ggml_tensor & p, int64_t begin) {
            p.op_params[window_begin] = static_cast<int32_t>(now.begin + begin);
            p.op_params[window_whole] = static_cast<int32_t>(now.whole);
        });
    }

    // ROPE between tokens. There may be four runs of positions; dropping the same number at both ends of the whole keeps
    // the distance between runs: (size - tokens) / 3.
    bool cut_tokens(const ggml_tensor & node) {
        return node.ne[2] > 1 && cut_at(node, 2, node.ne[2] / 2, first_source_along_2, [&](ggml_tensor & p, int64_t begin) {
                   const int64_t after = node.ne[2] - begin - p.ne[2];
                   p.src[1]            = part(node.src[1], 0, begin, node.src[1]->ne[0] - after);
               });
    }

    // GROUP_NORM between groups of channels, all of one size.
    bool cut_channels(const ggml_tensor & node) {
        const int32_t groups = param_i32(&node, 0);
        if (groups < 2 || node.ne[2] % groups != 0) {
            return false;
        }
        const int64_t per_group = node.ne[2] / groups;
        return cut_at(node, 2, groups / 2 * per_group, first_source_along_2,
                      [&](ggml_tensor & p, int64_t) { p.op_params[0] = static_cast<int32_t>(p.ne[2] / per_group); });
    }

    // The first cut of those listed that makes something smaller which does not fit.
    bool cut_listed(const ggml_tensor & node) {
        for (const listed_cut & c : listed_cuts) {
            if (c.op != node.op || node.ne[c.d] < 2) {
                continue;
            }
            bool possible = true, helps = !fits(caps_, &node);
            int  along[GGML_MAX_SRC];
            std::fill(std::begin(along), std::end(along), -1);
            for (size_t i = 0; i < std::size(c.along); i++) {
                const ggml_tensor * src = node.src[i];
                if (src == nullptr || c.along[i] == listed_cut::whole) {
                    continue;
                }
                if (c.along[i] == listed_cut::repeated) {
                    possible = possible && src->ne[c.d] == 1;
                    continue;
                }
                along[i] = c.along[i];
                possible = possible && src->ne[along[i]] == node.ne[c.d];
                helps    = helps || !fits(caps_, src);
            }
            if (possible && helps) {
                return cut(node, c.d, along);
            }
        }
        return false;
    }

    bool halve(const ggml_tensor & node) {
        static constexpr int columns[GGML_MAX_SRC] = { -1, 1, -1, -1, -1, -1, -1, -1, -1, -1 };
        static constexpr int rows[GGML_MAX_SRC]    = { 1, -1, -1, -1, -1, -1, -1, -1, -1, -1 };
        static constexpr int tokens[GGML_MAX_SRC]    = { -1, 2, 1, -1, -1, -1, -1, -1, -1, -1 };
        static constexpr int looked_up[GGML_MAX_SRC] = { -1, 0, -1, -1, -1, -1, -1, -1, -1, -1 };
        switch (rule_) {
            case split_rule::none:
            case split_rule::own:
                return false;
            case split_rule::listed:
                return cut_listed(node);
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
                if (cut_indexed(node, 3) || cut_indexed(node, 2)) {
                    return true;
                }
                return fits(caps_, node.src[0]) ? node.ne[1] > 1 && cut(node, 1, looked_up) : cut_table(node, false, 1);
            case split_rule::scatter:
                if (cut_indexed(node, 3) || cut_indexed(node, 2)) {
                    return true;
                }
                return fits(caps_, node.src[0]) ? cut_table(node, true, 1) : cut_source_rows(node);
            case split_rule::copy:
                return reshape_copy(node) || cut_widest(node);
            case split_rule::routed:
                if (node.ne[2] > 1 && (!fits(caps_, node.src[1]) || !fits(caps_, &node))) {
                    return cut(node, 2, tokens);
                }
                return cut_table(node, false, 2);
            case split_rule::planes:
                return cut_shared(node, 3) || cut_shared(node, 2);
            case split_rule::heads:
                return cut_shared(node, 3) || cut_heads(node) || cut_shared(node, 1);
            case split_rule::tokens:
                return cut_shared(node, 3) || cut_tokens(node) || cut_shared(node, 1);
            case split_rule::channels:
                return cut_shared(node, 3) || cut_channels(node);
            case split_rule::results:
                return node.ne[0] > 1 && cut(node, 0, rows);
            case split_rule::mean: {
                ggml_tensor & told           = whole.slices.emplace_back(node);
                told.op_params[window_whole] = static_cast<int32_t>(rows_of_whole(&node));
                return cut_shared(told, 3) || cut_shared(told, 2) || cut_shared(told, 1);
            }
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
