#include "maker.h"

#include <algorithm>
#include <cstring>

namespace fuzz {

static constexpr int64_t most_values = 16000;  // of an ordinary tensor
static constexpr size_t  recent      = 6;      // results among which a source is looked for first
static constexpr size_t  most_nodes  = 30;

static const op reshape   = { "RESHAPE", 0, nullptr, CALL(ggml_reshape_4d(ctx, t[0], n[0], n[1], n[2], n[3])) };
static const op permute   = { "PERMUTE", 0, nullptr, CALL(ggml_permute(ctx, t[0], n[0], n[1], n[2], n[3])) };
static const op view_part = { "VIEW", 0, nullptr, CALL(ggml_view_4d(ctx, t[0], n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7])) };

shape shape_of(const ggml_tensor * t) {
    return { t->ne[0], t->ne[1], t->ne[2], t->ne[3] };
}

static int64_t values_of(const shape & s) {
    return s[0] * s[1] * s[2] * s[3];
}

// Stricter than ggml, which does not look at the strides of dimensions of size one: the CPU backend uses some of them.
bool has_layout(const ggml_tensor * t, layout at_least) {
    const bool rows = t->nb[0] == ggml_type_size(t->type);
    const bool even = rows && t->nb[2] == t->nb[1] * static_cast<size_t>(t->ne[1]) && t->nb[3] == t->nb[2] * static_cast<size_t>(t->ne[2]);
    switch (at_least) {
        case layout::any:        return rows || !ggml_is_quantized(t->type);
        case layout::rows:       return rows;
        case layout::even:       return even;
        case layout::contiguous: return even && t->nb[1] == ggml_row_size(t->type, t->ne[0]);
    }
    return false;
}

//
// sizes and types
//

int64_t maker::size() {
    return decide.of<int64_t>({ 1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 200, 255, 256, 257, 300 });
}

shape maker::any_shape(int64_t unit) {
    shape ne = { (size() + unit - 1) / unit * unit, 1, 1, 1 };
    if (unit > 1) {
        ne[0] = unit * between(1, 5);
    }
    int64_t    room       = std::max<int64_t>(most_values / ne[0], 1);
    const auto dimensions = decide.of({ 1, 2, 2, 2, 3, 3, 4 });
    for (int d = 1; d < dimensions; d++) {
        ne[d] = std::min(d == 1 ? size() : decide.of<int64_t>({ 1, 2, 3, 4, 6, 9 }), room);
        room /= ne[d];
    }
    switch (decide.below(100)) {
        case 97: return { between(1000, most_values) / unit * unit, decide.of<int64_t>({ 1, 2, 3 }), 1, 1 };
        case 98: return { unit * decide.of<int64_t>({ 1, 2, 3 }), between(65530, 70000), 1, 1 };  // more than workgroups of a dimension
        case 99: ne[unit > 1 ? 1 : static_cast<size_t>(between(0, 3))] = 0; break;
        default: break;
    }
    return ne;
}

shape maker::part_of(const shape & whole) {
    shape ne = whole;
    for (int64_t & n : ne) {
        switch (decide.below(4)) {
            case 0: break;
            case 1: n = std::min<int64_t>(n, 1); break;
            case 2: n = n % 2 == 0 ? n / 2 : n; break;
            case 3: n = n % 3 == 0 ? n / 3 : n; break;
        }
    }
    // Nothing is only repeated to nothing.
    return values_of(whole) == 0 ? whole : ne;
}

ggml_type maker::block_type() {
    return decide.of({ GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K, GGML_TYPE_Q2_K,
                       GGML_TYPE_Q3_K, GGML_TYPE_Q5_K, GGML_TYPE_IQ4_NL, GGML_TYPE_IQ4_XS, GGML_TYPE_MXFP4, GGML_TYPE_TQ1_0, GGML_TYPE_TQ2_0,
                       GGML_TYPE_IQ1_S, GGML_TYPE_IQ1_M, GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S, GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S });
}

ggml_type maker::weight_type() {
    return decide.chance(50) ? block_type() : decide.of({ F32, F16, BF16 });
}

//
// lines
//

int maker::add(line l) {
    tensors_.push_back(build_line(context_, l, tensors_));
    lines_.push_back(std::move(l));
    kept_.push_back(false);
    return static_cast<int>(tensors_.size()) - 1;
}

int maker::leaf(ggml_type type, const shape & ne, fill values) {
    line l;
    l.made_by     = &fuzz::leaf;
    l.n           = { type, ne[0], ne[1], ne[2], ne[3] };
    l.values      = values;
    const int at  = add(std::move(l));
    kept_.back()  = true;
    return at;
}

int maker::derived(const op & o, int of, std::vector<int64_t> n) {
    line l;
    l.made_by = &o;
    l.sources = { of };
    l.n       = std::move(n);
    return add(std::move(l));
}

bool maker::is_kept(int at) const {
    const ggml_tensor * root = root_of((*this)[at]);
    for (size_t i = 0; i < tensors_.size(); i++) {
        if (tensors_[i] == root) {
            return kept_[i];
        }
    }
    return false;
}

// One of the latest lines that fit; -1: none does, or a new tensor was decided on.
int maker::found(auto fits) {
    if (decide.chance(30)) {
        return -1;
    }
    std::vector<int> candidates;
    for (int i = static_cast<int>(tensors_.size()) - 1; i >= 0 && candidates.size() < recent; i--) {
        if (fits(i)) {
            candidates.push_back(i);
        }
    }
    if (candidates.empty()) {
        return -1;
    }
    // Often the very last, as in a model.
    return decide.chance(50) ? candidates.front() : candidates[decide.below(static_cast<uint32_t>(candidates.size()))];
}

static bool is_one_of(ggml_type type, types list) {
    return std::find(list.begin(), list.end(), type) != list.end();
}

int maker::source(types of, layout at_least) {
    const int at = found([&](int i) { return is_one_of((*this)[i]->type, of) && has_layout((*this)[i], at_least) && !is_kept(i); });
    if (at >= 0) {
        return at;
    }
    const ggml_type type = decide.of(of);
    fill            values;
    switch (decide.below(12)) {
        case 9: values = { fill::kind::uniform, -100.0f, 100.0f }; break;
        case 10: values = { fill::kind::uniform, 0.0f, 10.0f }; break;
        case 11: values.is = decide.chance(30) ? fill::kind::special : fill::kind::uniform; break;
        default: break;
    }
    if (type == I32) {
        values = { fill::kind::index, 0.0f, 1000.0f };
    }
    return fresh(type, any_shape(ggml_blck_size(type)), at_least, values);
}

int maker::operand(ggml_type type, const shape & ne, layout at_least, fill values) {
    const int at = values.is != fill::kind::uniform ? -1 : found([&](int i) {
        return (*this)[i]->type == type && shape_of((*this)[i]) == ne && has_layout((*this)[i], at_least) && !is_kept(i);
    });
    return at >= 0 ? at : fresh(type, ne, at_least, values);
}

// A new leaf, or a part, permutation or reshape of one.
int maker::fresh(ggml_type type, const shape & ne, layout at_least, fill values) {
    const auto    kind  = decide.below(8);
    const int64_t unit  = ggml_blck_size(type);
    const auto    whole = [&](const shape & s) {
        const int at = leaf(type, s, values);
        kept_.back() = false;
        return at;
    };
    // Rows of a longer leaf, of which each is a part of a longer row.
    if (kind == 5 || (kind == 6 && at_least == layout::contiguous)) {
        shape larger = ne, start = {};
        for (int d = 0; d < GGML_MAX_DIMS; d++) {
            const bool    outermost = std::all_of(ne.begin() + d + 1, ne.end(), [](int64_t n) { return n == 1; });
            const int64_t step      = d == 0 ? unit : 1;
            if (at_least < layout::even || (d == 0 && at_least < layout::contiguous) || outermost) {
                start[static_cast<size_t>(d)] = step * decide.of<int64_t>({ 0, 1, 3, 4 });
                larger[static_cast<size_t>(d)] += start[static_cast<size_t>(d)] + step * decide.of<int64_t>({ 0, 1, 2, 4 });
            }
        }
        if (values_of(larger) <= 8 * most_values) {
            const int           of     = whole(larger);
            const ggml_tensor * l      = (*this)[of];
            int64_t             offset = start[0] / unit * static_cast<int64_t>(l->nb[0]);
            for (int d = 1; d < GGML_MAX_DIMS; d++) {
                offset += start[static_cast<size_t>(d)] * static_cast<int64_t>(l->nb[d]);
            }
            // Where the rest is one, strides are as if there were more.
            std::array<int64_t, GGML_MAX_DIMS> nb = { static_cast<int64_t>(l->nb[0]) };
            for (size_t d = 1; d < nb.size(); d++) {
                const bool rest = std::all_of(ne.begin() + d, ne.end(), [](int64_t n) { return n == 1; });
                if (rest && at_least >= (d == 1 ? layout::contiguous : layout::even)) {
                    nb[d] = d == 1 ? static_cast<int64_t>(ggml_row_size(type, ne[0])) : nb[d - 1] * ne[d - 1];
                } else {
                    nb[d] = static_cast<int64_t>(l->nb[d]);
                }
            }
            return derived(view_part, of, { ne[0], ne[1], ne[2], ne[3], nb[1], nb[2], nb[3], offset });
        }
    }
    if (kind == 6 && at_least <= layout::rows) {
        std::array<int64_t, GGML_MAX_DIMS> axes = { 0, 1, 2, 3 };
        const int                          last = at_least == layout::any && unit == 1 ? 0 : 1;
        for (int d = 3; d > last; d--) {
            std::swap(axes[static_cast<size_t>(d)], axes[static_cast<size_t>(between(last, d))]);
        }
        // Dimension d of the leaf becomes dimension axes[d] of the result.
        shape before;
        for (size_t d = 0; d < axes.size(); d++) {
            before[d] = ne[static_cast<size_t>(axes[d])];
        }
        return derived(permute, whole(before), { axes[0], axes[1], axes[2], axes[3] });
    }
    if (kind == 7) {
        return derived(reshape, whole({ ne[0], ne[1] * ne[2], ne[3], 1 }), { ne[0], ne[1], ne[2], ne[3] });
    }
    return whole(ne);
}

//
// graphs
//

bool maker::add_node(const op & o, ggml_backend_dev_t reference) {
    line l;
    l.made_by = &o;
    if (!o.choose(*this, l)) {
        return false;
    }
    const ggml_tensor * node = build_line(context_, l, tensors_);
    if (!ggml_backend_dev_supports_op(reference, node)) {
        return false;
    }
    add(std::move(l));
    return true;
}

static const std::vector<const op *> & all_ops() {
    static const auto ops = [] {
        std::vector<const op *> all;
        for (const auto & family : { elementwise_ops, row_ops, product_ops, copy_ops, image_ops, sequence_ops }) {
            for (const op & o : family) {
                all.push_back(&o);
            }
        }
        return all;
    }();
    return ops;
}

static const op & choose_op(choices & decide, const op * before) {
    uint32_t total = 0;
    for (const op * o : all_ops()) {
        total += o->weight;
    }
    const bool follow = decide.chance(35);
    uint32_t   at     = decide.below(total);
    if (follow && before != nullptr && before->next != nullptr) {
        for (const op * o : all_ops()) {
            if (std::strcmp(o->name, before->next) == 0) {
                return *o;
            }
        }
    }
    for (const op * o : all_ops()) {
        if (at < o->weight) {
            return *o;
        }
        at -= o->weight;
    }
    return *all_ops().front();
}

// Lines that no node uses go.
static recipe without_unused(const recipe & all) {
    std::vector<bool> used(all.size());
    for (size_t i = all.size(); i-- > 0;) {
        if (all[i].made_by->choose != nullptr) {
            used[i] = true;
        }
        for (const int s : all[i].sources) {
            if (used[i] && s >= 0) {
                used[static_cast<size_t>(s)] = true;
            }
        }
    }
    recipe           rest;
    std::vector<int> place(all.size());
    for (size_t i = 0; i < all.size(); i++) {
        if (used[i]) {
            place[i] = static_cast<int>(rest.size());
            rest.push_back(all[i]);
            for (int & s : rest.back().sources) {
                s = s < 0 ? s : place[static_cast<size_t>(s)];
            }
        }
    }
    return rest;
}

recipe make_graph(genome & g, uint64_t * random, ggml_backend_dev_t reference) {
    recipe           lines;
    ggml_context_ptr context(ggml_init({ 4096 * ggml_tensor_overhead(), nullptr, true }));
    const op *       before = nullptr;
    maker            m(lines, context.get());
    for (auto & gene : g.genes) {
        m.decide     = choices(gene, random);
        const op & o = choose_op(m.decide, before);
        if (m.add_node(o, reference)) {
            before = &o;
        }
    }
    return without_unused(lines);
}

genome random_genome(uint64_t seed, ggml_backend_dev_t reference) {
    genome   g;
    uint64_t random = mixed(seed);
    g.seed          = seed;
    // Short graphs are the quicker to look through, long ones meet more of each other's memory.
    const uint64_t most = mixed(random) % 4 == 0 ? most_nodes : most_nodes / 4;
    g.genes.resize(1 + mixed(random + 1) % most);
    (void) make_graph(g, &random, reference);
    return g;
}

}  // namespace fuzz
