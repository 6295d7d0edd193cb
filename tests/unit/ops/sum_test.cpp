// SUM is as exact as a sum in double that is rounded once: gradients are differences of it.
#include "single_op.h"

#include <algorithm>
#include <random>

namespace {

using test::sizes;

// Values that cancel but for a small rest.
std::vector<float> cancelling(int64_t n) {
    std::mt19937                          engine(7);
    std::uniform_real_distribution<float> any(-1000.0f, 1000.0f);
    std::vector<float>                    values(n, 0.0f);
    for (int64_t i = 0; i + 1 < n; i += 2) {
        values[i]     = any(engine);
        values[i + 1] = -values[i];
    }
    std::shuffle(values.begin(), values.end(), engine);
    values[n / 2] += 0.1f;
    return values;
}

float sum_of(const sizes & ne, const std::vector<float> & values) {
    test::single_op op;
    ggml_tensor *   sum = ggml_sum(op.ctx(), op.floats(GGML_TYPE_F32, ne, values));
    return op.compute(sum) ? static_cast<float>(op.values(sum)(0)) : NAN;
}

TEST(sum, is_rounded_once) {
    // Of quads and of single values, of one piece and of several.
    for (const sizes & ne : { sizes{ 48, 1, 1, 1 }, sizes{ 33, 7, 3, 1 }, sizes{ 1024, 96, 1, 1 }, sizes{ 49999, 1, 3, 1 } }) {
        const std::vector<float> values = cancelling(ne[0] * ne[1] * ne[2] * ne[3]);
        double                   exact  = 0.0;
        for (const float v : values) {
            exact += v;
        }
        EXPECT_NEAR(sum_of(ne, values), exact, 1e-7 * std::abs(exact)) << test::text(ne);
    }
}

TEST(sum, stays_infinite) {
    EXPECT_EQ(sum_of({ 3, 1, 1, 1 }, { 1.0f, INFINITY, 2.0f }), INFINITY);
    EXPECT_TRUE(std::isnan(sum_of({ 3, 1, 1, 1 }, { -INFINITY, INFINITY, 2.0f })));
}

}  // namespace
