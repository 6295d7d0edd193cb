// SOFT_MAX_BACK with a bias, which ggml's CPU backend refuses: the mask that it belongs to was a constant to SOFT_MAX.
#include "single_op.h"

namespace {

using test::pick;
using test::sizes;

TEST(soft_max_back, does_not_depend_on_the_bias) {
    for (int combination = 0; combination < 48; combination++) {
        int           left  = combination;
        const float   scale = pick(left, { 1.0f, 0.1f }), bias = pick(left, { 0.0f, 8.0f });
        const int64_t ne0 = pick(left, { 16, 1024 }), ne1 = pick(left, { 16, 1024 });
        const sizes   ne = pick(left, { sizes{ ne0, ne1, 1, 1 }, sizes{ ne0 - 1, ne1 - 1, 1, 1 }, sizes{ ne0, ne1, 2, 3 } });
        SCOPED_TRACE(test::text(ne));

        test::single_op op;
        ggml_tensor *   dy = op.random(GGML_TYPE_F32, ne);
        ggml_tensor *   y  = op.random(GGML_TYPE_F32, ne);
        ggml_tensor *   dx = ggml_soft_max_ext_back(op.ctx(), dy, y, scale, bias);
        if (!op.compute(dx)) {
            continue;
        }
        const auto dys = op.values(dy), ys = op.values(y);
        expect_values(op, dx, 1e-5, [&](auto i0, auto i1, auto i2, auto i3) {
            test::terms  t;
            const double factor = scale * ys(i0, i1, i2, i3);
            t.add(factor * dys(i0, i1, i2, i3));
            for (int64_t k = 0; k < ne[0]; k++) {
                t.add(-factor * ys(k, i1, i2, i3) * dys(k, i1, i2, i3));
            }
            return t;
        });
    }
}

}  // namespace
