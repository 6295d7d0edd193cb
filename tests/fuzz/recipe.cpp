#include "recipe.h"

#include "choices.h"

#include <charconv>
#include <cstdio>
#include <sstream>
#include <string_view>

namespace fuzz {

const op leaf = { "NONE", 0, nullptr, CALL(ggml_new_tensor_4d(ctx, (ggml_type) n[0], n[1], n[2], n[3], n[4])) };

bool is_leaf(const line & l) {
    return l.made_by == &leaf;
}

bool is_view(const ggml_tensor * t) {
    return t->op == GGML_OP_NONE || t->op == GGML_OP_VIEW || t->op == GGML_OP_RESHAPE || t->op == GGML_OP_PERMUTE || t->op == GGML_OP_TRANSPOSE;
}

const ggml_tensor * root_of(const ggml_tensor * t) {
    return t->view_src != nullptr ? t->view_src : t;
}

ggml_tensor * build_line(ggml_context * ctx, const line & l, const std::vector<ggml_tensor *> & earlier) {
    std::vector<ggml_tensor *> sources;
    for (const int s : l.sources) {
        sources.push_back(s < 0 ? nullptr : earlier[static_cast<size_t>(s)]);
    }
    return l.made_by->build(ctx, sources.data(), l.n.data(), l.x.data());
}

graph build(const recipe & r) {
    graph g;
    // An expression may make a tensor or two on the way to its result.
    const size_t tensors = 4 * r.size() + 8;
    g.context.reset(ggml_init({ tensors * ggml_tensor_overhead() + ggml_graph_overhead_custom(tensors, false), nullptr, true }));
    for (const line & l : r) {
        g.tensors.push_back(build_line(g.context.get(), l, g.tensors));
    }
    g.all = ggml_new_graph_custom(g.context.get(), tensors, false);
    for (ggml_tensor * t : g.tensors) {
        ggml_build_forward_expand(g.all, t);
    }
    return g;
}

//
// text
//

std::string to_text(const genome & g) {
    std::string text = std::to_string(g.seed) + ":";
    for (const auto & gene : g.genes) {
        text += &gene == &g.genes.front() ? "" : "/";
        for (size_t i = 0; i < gene.size(); i++) {
            text += (i == 0 ? "" : ",") + std::to_string(gene[i]);
        }
    }
    return text;
}

template <typename T> static bool read_number(std::string_view & text, T & value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return error == std::errc();
}

bool from_text(const std::string & whole, genome & g) {
    std::string_view text = whole;
    if (!read_number(text, g.seed) || text.empty() || text[0] != ':') {
        return false;
    }
    g.genes.assign(1, {});
    for (text.remove_prefix(1); !text.empty();) {
        if (text[0] == '/') {
            g.genes.emplace_back();
            text.remove_prefix(1);
        } else if (text[0] == ',') {
            text.remove_prefix(1);
        } else if (uint32_t value = 0; read_number(text, value)) {
            g.genes.back().push_back(value);
        } else {
            return false;
        }
    }
    return true;
}

std::string shape_text(const ggml_tensor * t) {
    char text[160];
    std::snprintf(text, sizeof text, "%s [%lld,%lld,%lld,%lld]", ggml_type_name(t->type), (long long) t->ne[0], (long long) t->ne[1],
                  (long long) t->ne[2], (long long) t->ne[3]);
    std::string s = text;
    if (!ggml_is_contiguous(t)) {
        std::snprintf(text, sizeof text, " nb [%zu,%zu,%zu,%zu]", t->nb[0], t->nb[1], t->nb[2], t->nb[3]);
        s += text;
    }
    return s;
}

static std::string number_text(float x) {
    if (std::isinf(x)) {
        return x < 0 ? "-INFINITY" : "INFINITY";
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.9gf", static_cast<double>(x));
    if (std::string_view(text).find_first_of(".e") == std::string_view::npos) {
        std::snprintf(text, sizeof text, "%.1ff", static_cast<double>(x));
    }
    return text;
}

static std::string fill_text(const fill & f) {
    static constexpr const char * names[] = { "uniform", "uniform with NaN, Inf and 0", "index", "distinct index", "0 or -Inf", "stairs" };
    return std::string(names[static_cast<int>(f.is)]) + " in [" + number_text(f.lo) + ", " + number_text(f.hi) + ")";
}

// The text of a call with the line's arguments in place of t[i], n[i] and x[i].
static std::string call_text(const line & l) {
    const std::string_view text = l.made_by->text;
    std::string            result;
    for (size_t i = 0; i < text.size();) {
        const bool   is_name = i == 0 || (!std::isalnum(static_cast<unsigned char>(text[i - 1])) && text[i - 1] != '_');
        const size_t close   = text.find(']', i);
        if (is_name && close != std::string_view::npos && i + 1 < text.size() && text[i + 1] == '[' &&
            (text[i] == 't' || text[i] == 'n' || text[i] == 'x')) {
            const auto index = static_cast<size_t>(std::stoi(std::string(text.substr(i + 2, close - i - 2))));
            result += text[i] == 'n'          ? std::to_string(l.n[index])
                      : text[i] == 'x'        ? number_text(l.x[index])
                      : l.sources[index] < 0  ? "nullptr"
                                              : "t" + std::to_string(l.sources[index]);
            i = close + 1;
        } else {
            result += text[i++];
        }
    }
    return result;
}

std::string to_cpp(const recipe & r) {
    const graph        g = build(r);
    std::ostringstream out;
    for (size_t i = 0; i < r.size(); i++) {
        out << "    ggml_tensor * t" << i << " = " << call_text(r[i]) << ";  // " << shape_text(g.tensors[i]);
        if (is_leaf(r[i])) {
            out << ", " << fill_text(r[i].values);
        }
        out << "\n";
    }
    return out.str();
}

}  // namespace fuzz
