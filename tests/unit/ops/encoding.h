// How well the device encodes rows, measured by ggml's own quantisers, every value being equally important.
#pragma once

#include "single_op.h"

namespace test {

// The types whose encoders search a grid. ggml's CPU backend does not convert to them.
constexpr ggml_type grid_types[] = { GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S, GGML_TYPE_IQ3_XXS,
                                     GGML_TYPE_IQ3_S,   GGML_TYPE_IQ1_S,  GGML_TYPE_IQ1_M };

class encoding_errors {
public:
    explicit encoding_errors(ggml_type type) : type_(type) {}

    void add(const std::vector<float> & row, const std::vector<float> & got) {
        ours_ += error(row, got);
        ggml_ += error(row, decoded(type_, encoded(type_, row, static_cast<int64_t>(row.size()))));
    }

    void expect_no_larger_than_ggml() const { EXPECT_LE(ours_, 1.1 * ggml_); }

private:
    static double error(const std::vector<float> & a, const std::vector<float> & b) {
        double sum = 0.0;
        for (size_t i = 0; i < a.size(); i++) {
            sum += (double(a[i]) - b[i]) * (double(a[i]) - b[i]);
        }
        return sum;
    }

    ggml_type type_;
    double    ours_ = 0.0;
    double    ggml_ = 0.0;
};

inline std::vector<float> row_of(const single_op::reader & values, int64_t length, int64_t i1, int64_t i2, int64_t i3) {
    std::vector<float> row(length);
    for (int64_t i = 0; i < length; i++) {
        row[i] = static_cast<float>(values(i, i1, i2, i3));
    }
    return row;
}

}  // namespace test
