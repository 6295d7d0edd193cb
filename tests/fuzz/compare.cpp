#include "compare.h"

#include <algorithm>
#include <cfloat>
#include <cstdio>
#include <cstring>

namespace fuzz {

//
// values
//

void for_each_run(const ggml_tensor * t, const std::function<void(size_t offset, size_t bytes)> & use) {
    const bool   by_rows = t->nb[0] == ggml_type_size(t->type);
    const size_t run     = by_rows ? ggml_row_size(t->type, t->ne[0]) : ggml_type_size(t->type);
    for (int64_t i3 = 0; i3 < t->ne[3]; i3++) {
        for (int64_t i2 = 0; i2 < t->ne[2]; i2++) {
            for (int64_t i1 = 0; i1 < t->ne[1]; i1++) {
                const size_t row = static_cast<size_t>(i1) * t->nb[1] + static_cast<size_t>(i2) * t->nb[2] + static_cast<size_t>(i3) * t->nb[3];
                for (int64_t i0 = 0; i0 < (by_rows ? std::min<int64_t>(t->ne[0], 1) : t->ne[0]); i0++) {
                    use(row + static_cast<size_t>(i0) * t->nb[0], run);
                }
            }
        }
    }
}

template <typename T> static T read_as(const uint8_t * at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

static double read_value(ggml_type type, const uint8_t * at) {
    switch (type) {
        case GGML_TYPE_F32:  return static_cast<double>(read_as<float>(at));
        case GGML_TYPE_F16:  return static_cast<double>(ggml_fp16_to_fp32(read_as<ggml_fp16_t>(at)));
        case GGML_TYPE_BF16: return static_cast<double>(ggml_bf16_to_fp32(read_as<ggml_bf16_t>(at)));
        case GGML_TYPE_I32:  return static_cast<double>(read_as<int32_t>(at));
        case GGML_TYPE_I64:  return static_cast<double>(read_as<int64_t>(at));
        default:             return NAN;
    }
}

std::vector<double> values_of(const ggml_tensor * t, const uint8_t * data) {
    std::vector<double> values;
    values.reserve(static_cast<size_t>(ggml_nelements(t)));
    std::vector<float> row(static_cast<size_t>(t->ne[0]));
    for_each_run(t, [&](size_t offset, size_t bytes) {
        if (ggml_is_quantized(t->type)) {
            ggml_get_type_traits(t->type)->to_float(data + offset, row.data(), t->ne[0]);
            values.insert(values.end(), row.begin(), row.end());
            return;
        }
        for (size_t at = 0; at < bytes; at += ggml_type_size(t->type)) {
            values.push_back(read_value(t->type, data + offset + at));
        }
    });
    return values;
}

static bool same_bytes(const ggml_tensor * t, const uint8_t * a, const uint8_t * b) {
    bool same = true;
    for_each_run(t, [&](size_t offset, size_t bytes) { same = same && std::memcmp(a + offset, b + offset, bytes) == 0; });
    return same;
}

static double mean_square(const std::vector<double> & values) {
    double sum = 0.0;
    for (const double v : values) {
        sum += std::isfinite(v) ? v * v : 0.0;
    }
    return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

//
// what can be compared
//

// Numbers that only one of the two may have: subnormal ones may be zero, and the largest may be infinite.
static constexpr double smallest = FLT_MIN, largest = 1e38;

// The sources are such that the CPU's result is the right one.
static bool is_sound(const rule & r, const std::vector<std::vector<double>> & sources) {
    for (size_t i = 0; i < sources.size(); i++) {
        // A mask is infinite by right.
        const bool mask = i > 0 && std::all_of(sources[i].begin(), sources[i].end(), [](double v) { return v == 0.0 || v == -INFINITY; });
        for (const double v : sources[i]) {
            const double size = std::fabs(v);
            if (!mask && (std::isfinite(v) ? size > r.limit || (size > 0.0 && size < smallest) : r.finite)) {
                return false;
            }
        }
    }
    return true;
}

// See rule::terms.
static double sum_scale(rule::terms terms, const std::vector<const ggml_tensor *> & tensors, const std::vector<std::vector<double>> & sources) {
    if (terms == rule::terms::none || terms == rule::terms::unit) {
        return terms == rule::terms::unit ? 1.0 : 0.0;
    }
    const ggml_tensor * first  = tensors[0];
    const double        a      = mean_square(sources[0]);
    const double        b      = sources.size() > 1 ? mean_square(sources[1]) : 1.0;
    const auto          length = [first](int d) { return static_cast<double>(first->ne[d]); };
    switch (terms) {
        case rule::terms::row:      return a * b * length(0);
        case rule::terms::column:   return a * b * length(1);
        case rule::terms::kernel:   return a * b * length(0) * length(1) * length(2);
        case rule::terms::all:      return a * b * static_cast<double>(ggml_nelements(first));
        case rule::terms::quotient: return a / std::max(b, 1e-30);
        case rule::terms::mean:     return a / std::max(length(0), 1.0);
        default:                    return a * b;
    }
}

// For rule::weight: what the CPU rounds src1 to.
static double weight_tolerance(ggml_type type) {
    return type == GGML_TYPE_F32 ? 1e-6 : type == GGML_TYPE_F16 ? 1e-5 : type == GGML_TYPE_BF16 ? 1e-4 : 5e-4;
}

// One unit in the last place of a value of the type, squared.
static double rounding_of(ggml_type type) {
    return type == GGML_TYPE_F16 ? 1e-6 : type == GGML_TYPE_BF16 ? 6.2e-5 : 0.0;
}

static double least_step_of(ggml_type type) {
    return type == GGML_TYPE_F16 ? 6e-8 : smallest;
}

//
// differences
//

static std::string place_text(const ggml_tensor * t, size_t i) {
    const auto flat = static_cast<int64_t>(i);
    char       text[96];
    std::snprintf(text, sizeof text, "[%lld,%lld,%lld,%lld]", (long long) (flat % t->ne[0]), (long long) (flat / t->ne[0] % t->ne[1]),
                  (long long) (flat / t->ne[0] / t->ne[1] % t->ne[2]), (long long) (flat / t->ne[0] / t->ne[1] / t->ne[2]));
    return text;
}

static std::string pair_text(const ggml_tensor * t, size_t at, double expected, double found) {
    char text[200];
    std::snprintf(text, sizeof text, "%s is %.9g, not %.9g", place_text(t, at).c_str(), found, expected);
    return text;
}

// Finite, or infinite on the same side, or neither a number.
static bool same_kind(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) {
        return std::isnan(a) && std::isnan(b);
    }
    return std::isinf(a) || std::isinf(b) ? a == b || (std::fabs(a) > largest && std::fabs(b) > largest && (a > 0) == (b > 0)) : true;
}

static std::string compare_values(const ggml_tensor * t, const std::vector<double> & expected, const std::vector<double> & found, double allowed,
                                  double scale) {
    double squares = 0.0, errors = 0.0, worst = 0.0;
    size_t worst_at = 0, unequal = 0, finite = 0;
    for (size_t i = 0; i < expected.size(); i++) {
        if (!same_kind(expected[i], found[i])) {
            return pair_text(t, i, expected[i], found[i]);
        }
        if (!std::isfinite(expected[i]) || !std::isfinite(found[i])) {
            continue;
        }
        const double error = std::fabs(expected[i] - found[i]);
        unequal += error != 0.0;
        squares += expected[i] * expected[i];
        errors += error * error;
        finite++;
        if (error > worst) {
            worst    = error;
            worst_at = i;
        }
    }
    if (unequal == 0 || finite == 0) {
        return "";
    }
    const double n     = static_cast<double>(finite);
    const double error = errors / n / (squares / n + scale + 1e-300);
    if (error <= allowed) {
        return "";
    }
    char text[400];
    std::snprintf(text, sizeof text, "%zu of %zu values differ, by %.2g where %.2g is allowed; most of all %s", unequal, expected.size(), error, allowed,
                  pair_text(t, worst_at, expected[worst_at], found[worst_at]).c_str());
    return text;
}

// Numbers of values in rows: those of equal values may be swapped, and in a set all.
static std::string compare_ranks(rule::order order, const ggml_tensor * result, const ggml_tensor * ranked, const std::vector<double> & values,
                                 const std::vector<double> & expected, const std::vector<double> & found) {
    const auto length = static_cast<size_t>(ranked->ne[0]);
    const auto rows   = static_cast<size_t>(ggml_nrows(ranked));
    const auto k      = rows == 0 ? 0 : expected.size() / rows;
    for (size_t r = 0; r < rows; r++) {
        std::vector<bool>   seen(length);
        std::vector<double> wanted, got;
        for (size_t i = r * k; i < (r + 1) * k; i++) {
            if (!(found[i] >= 0.0 && found[i] < static_cast<double>(length)) || seen[static_cast<size_t>(found[i])]) {
                return place_text(result, i) + " is " + std::to_string(found[i]) + ", which is no value's number, or comes twice";
            }
            seen[static_cast<size_t>(found[i])] = true;
            wanted.push_back(values[r * length + static_cast<size_t>(expected[i])]);
            got.push_back(values[r * length + static_cast<size_t>(found[i])]);
        }
        if (order == rule::order::set) {
            std::sort(wanted.begin(), wanted.end());
            std::sort(got.begin(), got.end());
        }
        const auto [a, b] = std::mismatch(wanted.begin(), wanted.end(), got.begin());
        if (a != wanted.end()) {
            return "the value that " + pair_text(result, r * k + static_cast<size_t>(a - wanted.begin()), *a, *b);
        }
    }
    return "";
}

verdict compare(const line & l, const ggml_tensor * node, const ggml_tensor * result, const locate & sources, const locate & cpu,
                const locate & device) {
    const uint8_t * expected_at = cpu(result);
    const uint8_t * found_at    = device(result);
    if (same_bytes(result, expected_at, found_at)) {
        return {};
    }
    const rule &                     r = l.made_by->judged_by;
    std::vector<const ggml_tensor *> tensors;
    std::vector<std::vector<double>> source_values;
    for (const ggml_tensor * s : node->src) {
        if (s != nullptr) {
            tensors.push_back(s);
            source_values.push_back(values_of(s, sources(s)));
        }
    }
    if (!is_sound(r, source_values)) {
        return { false, "" };
    }
    const auto expected = values_of(result, expected_at), found = values_of(result, found_at);
    if (r.ranks != rule::order::no) {
        return { true, compare_ranks(r.ranks, result, tensors[0], source_values[0], expected, found) };
    }
    if (r.tolerance == 0.0) {
        return { true, compare_values(result, expected, found, 0.0, 0.0) };
    }
    const double allowed = std::max(r.weight ? weight_tolerance(tensors[0]->type) : r.tolerance, rounding_of(result->type));
    const double step    = least_step_of(result->type);
    const double scale   = sum_scale(r.sums, tensors, source_values) + step * step / allowed;
    return { true, compare_values(result, expected, found, allowed, scale) };
}

std::string difference(const ggml_tensor * result, const uint8_t * expected, const uint8_t * found, double allowed) {
    if (same_bytes(result, expected, found)) {
        return "";
    }
    return compare_values(result, values_of(result, expected), values_of(result, found), allowed, 0.0);
}

double error_of(const ggml_tensor * result, const uint8_t * expected, const uint8_t * found) {
    const auto          a = values_of(result, expected), b = values_of(result, found);
    std::vector<double> differences;
    for (size_t i = 0; i < a.size(); i++) {
        if (!same_kind(a[i], b[i])) {
            return INFINITY;
        }
        differences.push_back(a[i] - b[i]);
    }
    return mean_square(differences) / (mean_square(a) + 1e-300);
}

}  // namespace fuzz
