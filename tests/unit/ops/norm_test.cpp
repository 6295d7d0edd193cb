// NORM and GROUP_NORM of values that are close together and far from zero: the mean, rounded to f32, is not the whole of it.
#include "single_op.h"

#include <numeric>

namespace {

constexpr float eps = 1e-5f;

// Rows of one value each, then one of values around 4000.
std::vector<float> far_from_zero(int64_t length) {
    std::vector<float> values;
    for (const float same : { 3957.0173f, -123456.7f, 0.1f }) {
        values.insert(values.end(), length, same);
    }
    for (int64_t i = 0; i < length; i++) {
        values.push_back(4000.3f + static_cast<float>(i * 7919 % 255) / 512.0f);
    }
    return values;
}

void expect_normalised(int64_t length, ggml_tensor * (*norm)(ggml_context *, ggml_tensor *)) {
    const std::vector<float> values = far_from_zero(length);
    test::single_op          op;
    ggml_tensor *            y = norm(op.ctx(), op.floats(GGML_TYPE_F32, { length, 1, 4, 1 }, values));
    ASSERT_TRUE(op.compute(y));
    const auto found = op.values(y);
    for (int64_t row = 0; row < 4; row++) {
        const float * x    = values.data() + row * length;
        const double  mean = std::accumulate(x, x + length, 0.0) / static_cast<double>(length);
        double        squares = 0.0;
        for (int64_t i = 0; i < length; i++) {
            squares += (x[i] - mean) * (x[i] - mean);
        }
        const double scale = 1.0 / std::sqrt(squares / static_cast<double>(length) + eps);
        for (int64_t i = 0; i < length; i++) {
            ASSERT_NEAR(found(i, 0, row), (x[i] - mean) * scale, 2e-6) << "row " << row << " of " << length << ", value " << i;
        }
    }
}

TEST(norm, is_exact_far_from_zero) {
    for (const int64_t length : { 1, 3, 64, 1001, 4096 }) {
        expect_normalised(length, [](ggml_context * ctx, ggml_tensor * x) { return ggml_norm(ctx, x, eps); });
        expect_normalised(length, [](ggml_context * ctx, ggml_tensor * x) { return ggml_group_norm(ctx, x, 4, eps); });
    }
}

}  // namespace
