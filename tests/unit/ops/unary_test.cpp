// GELU of what is not finite: its limits. The CPU backend's f16 table has none at minus infinity, so the fuzzer does not compare it.
#include "single_op.h"

namespace {

TEST(gelu, has_its_limits_at_infinity) {
    for (const ggml_type type : { GGML_TYPE_F32, GGML_TYPE_F16 }) {
        test::single_op op;
        ggml_tensor *   y = ggml_gelu(op.ctx(), op.floats(type, { 4, 1, 1, 1 }, { -INFINITY, INFINITY, NAN, 0.0f }));
        ASSERT_TRUE(op.compute(y));
        const auto found = op.values(y);
        EXPECT_EQ(found(0), 0.0) << ggml_type_name(type);
        EXPECT_EQ(found(1), INFINITY) << ggml_type_name(type);
        EXPECT_TRUE(std::isnan(found(2))) << ggml_type_name(type);
        EXPECT_EQ(found(3), 0.0) << ggml_type_name(type);
    }
}

}  // namespace
