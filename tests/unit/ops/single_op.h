// One op on the device, to be compared with what the test computes on the host in double from the values that the op reads.
#pragma once

#include "../backend/host.h"

#include <array>
#include <cmath>
#include <map>

namespace test {

using sizes = std::array<int64_t, 4>;

std::string text(const sizes & ne);

// One of the choices, and what is left of a number that counts all combinations of several.
template <typename T> T pick(int & combination, std::initializer_list<T> choices) {
    const int n      = static_cast<int>(choices.size());
    const T   chosen = choices.begin()[combination % n];
    combination /= n;
    return chosen;
}

// A sum, and how large its terms are: rounding may take the device that much further from it.
struct terms {
    double sum  = 0.0;
    double size = 0.0;

    void add(double x) {
        sum += x;
        size += std::abs(x);
    }
};

class single_op {
public:
    explicit single_op(size_t tensors = 16) : context_(make_context(tensors)) {}

    ggml_context * ctx() const { return context_.get(); }

    // Values of about [-1, 1) (integers: any), as the type holds them.
    ggml_tensor * random(ggml_type type, const sizes & ne);
    // The same from a source of the test's; of a plain float type.
    ggml_tensor * floats(ggml_type type, const sizes & ne, const std::vector<float> & values);
    // I32 or I64.
    ggml_tensor * integers(ggml_type type, const sizes & ne, const std::vector<int64_t> & values);

    // Runs the graph that ends in `result`.
    ggml_status status(ggml_tensor * result);
    // The same; false, and a failure of the test, if the device will not.
    bool compute(ggml_tensor * result);

    // The memory of the tensor, or of what it is a view of, before compute().
    const std::vector<uint8_t> & bytes_before(const ggml_tensor * t) const { return bytes_.at(root(t)); }

    // Values of a tensor or view on the host: those given and, after compute(), the result's.
    class reader {
    public:
        double operator()(int64_t i0, int64_t i1 = 0, int64_t i2 = 0, int64_t i3 = 0) const {
            return values_[i0 * step_[0] + i1 * step_[1] + i2 * step_[2] + i3 * step_[3]];
        }

    private:
        friend single_op;
        const float * values_;
        sizes         step_;
    };
    reader values(const ggml_tensor * t) const;

private:
    static const ggml_tensor * root(const ggml_tensor * t) { return t->view_src != nullptr ? t->view_src : t; }
    void                       keep(const ggml_tensor * t, std::vector<uint8_t> bytes);

    context_ref                                         context_;
    buffer_ref                                          memory_;
    std::map<const ggml_tensor *, std::vector<uint8_t>> bytes_;
    std::map<const ggml_tensor *, std::vector<float>>   values_;
};

// `values` (n floats) as `type` holds them; where it wants the values' importance, all are equally important.
std::vector<uint8_t> encoded(ggml_type type, const std::vector<float> & values, int64_t row);
std::vector<float>   decoded(ggml_type type, const std::vector<uint8_t> & bytes);

// The result's values, of many an even sample, lie within tolerance * size of reference(i0, i1, i2, i3), which are terms.
template <typename F> void expect_values(const single_op & op, const ggml_tensor * result, double tolerance, F reference) {
    static constexpr int64_t most = 2048;
    const auto               got  = op.values(result);
    const int64_t            n    = ggml_nelements(result);
    const int64_t            step = n > most ? n / most | 1 : 1;
    for (int64_t i = n - 1; i >= 0; i -= step) {
        const int64_t i0 = i % result->ne[0], row = i / result->ne[0];
        const int64_t i1 = row % result->ne[1], i2 = row / result->ne[1] % result->ne[2], i3 = row / result->ne[1] / result->ne[2];
        const terms   wanted = reference(i0, i1, i2, i3);
        if (!(std::abs(got(i0, i1, i2, i3) - wanted.sum) <= tolerance * wanted.size)) {
            ADD_FAILURE() << "value " << text({ i0, i1, i2, i3 }) << " is " << got(i0, i1, i2, i3) << ", not " << wanted.sum
                          << "; terms of together " << wanted.size;
            return;
        }
    }
}

}  // namespace test
