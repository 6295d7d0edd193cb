// MUL_MAT and OUT_PROD for the types that ggml's CPU backend does not take, in the shapes of its conformance suite.
#include "single_op.h"

namespace {

using test::pick;
using test::sizes;
using test::terms;

constexpr ggml_type types[] = { GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_Q8_0, GGML_TYPE_Q1_0,  GGML_TYPE_Q2_0,   GGML_TYPE_Q4_0,
                                GGML_TYPE_Q4_1, GGML_TYPE_Q4_K, GGML_TYPE_MXFP4, GGML_TYPE_NVFP4, GGML_TYPE_IQ2_XXS };

// Of a product of quantised rows with activations that are rounded to 8 bits, and of one in f16.
constexpr double rounded_activations = 4e-3, half_precision = 1e-3, single_precision = 1e-5;

struct matrices {
    int64_t m, n, k;
    sizes   planes;   // of a: two dimensions; of b: that many times more of each
    sizes   order;    // of the dimensions in memory
};

std::vector<matrices> products(ggml_type a) {
    static constexpr sizes in_order   = { 0, 1, 2, 3 };
    static constexpr sizes planes[]   = { { 1, 1, 1, 1 }, { 1, 1, 2, 1 }, { 1, 1, 1, 2 }, { 3, 1, 1, 1 }, { 3, 1, 2, 1 },
                                          { 3, 2, 1, 1 }, { 3, 2, 2, 1 }, { 3, 2, 1, 2 }, { 3, 2, 2, 2 } };
    static constexpr sizes permuted[] = { { 0, 2, 1, 3 }, { 0, 1, 3, 2 }, { 0, 3, 2, 1 } };

    std::vector<matrices> all;
    for (const int64_t k : { 256, 4 }) {
        for (const int64_t n : { 1, 4, 8, 16 }) {
            for (const sizes & p : planes) {
                all.push_back({ 16, n, k, p, in_order });
            }
            for (const sizes & order : permuted) {
                all.push_back({ 16, n, k, { 2, 3, 1, 1 }, order });
            }
        }
    }
    for (const int64_t n : { 1, 8, 16 }) {
        all.push_back({ 16, n, 1024, { 3, 2, 1, 1 }, in_order });
    }
    all.push_back({ 16, 8, 256, { 1536, 1, 1, 1 }, in_order });
    std::erase_if(all, [=](const matrices & s) { return s.k % ggml_blck_size(a) != 0; });
    return all;
}

// A tensor of sizes `ne` whose dimensions lie in memory in another order; each of the orders is its own inverse.
ggml_tensor * random_in_order(test::single_op & op, ggml_type type, const sizes & ne, const sizes & order) {
    ggml_tensor * t = op.random(type, { ne[order[0]], ne[order[1]], ne[order[2]], ne[order[3]] });
    return order == sizes{ 0, 1, 2, 3 } ? t
                                        : ggml_permute(op.ctx(), t, int(order[0]), int(order[1]), int(order[2]), int(order[3]));
}

TEST(mul_mat, takes_f16_columns_with_every_type) {
    int cases = 0;
    for (const ggml_type type : types) {
        for (const matrices & s : products(type)) {
            SCOPED_TRACE(std::string(ggml_type_name(type)) + " m, n, k, - " + test::text({ s.m, s.n, s.k, 0 }) + " planes " + test::text(s.planes) +
                         " order " + test::text(s.order));
            test::single_op op;
            ggml_tensor *   a = random_in_order(op, type, { s.k, s.m, s.planes[0], s.planes[1] }, s.order);
            ggml_tensor *   b = random_in_order(op, GGML_TYPE_F16, { s.k, s.n, s.planes[0] * s.planes[2], s.planes[1] * s.planes[3] }, s.order);
            ggml_tensor *   y = ggml_mul_mat(op.ctx(), a, b);
            if (!op.compute(y)) {
                continue;
            }
            const auto av = op.values(a), bv = op.values(b);
            expect_values(op, y, ggml_is_quantized(type) ? rounded_activations : half_precision, [&](auto i0, auto i1, auto i2, auto i3) {
                terms t;
                for (int64_t k = 0; k < s.k; k++) {
                    t.add(av(k, i0, i2 / s.planes[2], i3 / s.planes[3]) * bv(k, i1, i2, i3));
                }
                return t;
            });
            cases++;
        }
    }
    EXPECT_EQ(cases, 668);
}

TEST(out_prod, takes_every_type_times_f32_and_f16) {
    int cases = 0;
    for (const ggml_type type : types) {
        for (int combination = 0; combination < 128; combination++) {
            int           left    = combination;
            const auto    columns = pick(left, { GGML_TYPE_F32, GGML_TYPE_F16 });
            const int64_t n = pick(left, { 1, 16 }), k = pick(left, { 1, 16 });
            const int64_t planes2 = pick(left, { 1, 3 }), planes3 = pick(left, { 1, 3 });
            const int64_t repeat2 = pick(left, { 1, 2 }), repeat3 = pick(left, { 1, 2 });
            SCOPED_TRACE(std::string(ggml_type_name(type)) + " " + ggml_type_name(columns) + " n, k, repeated " +
                         test::text({ n, k, repeat2, repeat3 }) + " planes " + test::text({ planes2, planes3, 0, 0 }));
            test::single_op op;
            ggml_tensor *   a = op.random(type, { 256, k, planes2, planes3 });
            ggml_tensor *   b = op.random(columns, { n, k, planes2 * repeat2, planes3 * repeat3 });
            ggml_tensor *   y = ggml_out_prod(op.ctx(), a, b);
            if (!op.compute(y)) {
                continue;
            }
            const auto av = op.values(a), bv = op.values(b);
            expect_values(op, y, single_precision, [&](auto i0, auto i1, auto i2, auto i3) {
                terms t;
                for (int64_t i = 0; i < k; i++) {
                    t.add(av(i0, i, i2 / repeat2, i3 / repeat3) * bv(i1, i, i2, i3));
                }
                return t;
            });
            cases++;
        }
    }
    EXPECT_EQ(cases, 1408);
}

}  // namespace
