// SET_ROWS to types that ggml's CPU backend does not convert to, and GET_ROWS_BACK for types that it does not add up, in the
// shapes of its conformance suite.
#include "encoding.h"

#include <numeric>
#include <random>

namespace {

using test::pick;
using test::sizes;

// The first `n` of the numbers below `limit`, shuffled; another order for each of `times`.
std::vector<int64_t> shuffled(int64_t n, int64_t limit, int64_t times) {
    std::mt19937         engine(3);
    std::vector<int64_t> all, numbers(limit);
    std::iota(numbers.begin(), numbers.end(), 0);
    for (int64_t i = 0; i < times; i++) {
        std::shuffle(numbers.begin(), numbers.end(), engine);
        all.insert(all.end(), numbers.begin(), numbers.begin() + n);
    }
    return all;
}

struct setting {
    sizes   ne;       // of the destination, of dimensions 2 and 3 the part that has indices of its own
    int64_t repeat2, repeat3;
    int64_t rows;
};

void expect_rows_set(ggml_type from, ggml_type type, const setting & s, bool view) {
    test::single_op op;
    const int64_t   planes2 = s.ne[2] * s.repeat2, planes3 = s.ne[3] * s.repeat3;
    const int64_t   rows  = view ? s.rows / 2 : s.rows;
    ggml_tensor *   dst   = op.random(type, { s.ne[0], s.ne[1], planes2, planes3 });
    ggml_tensor *   src   = op.random(from, { s.ne[0], s.rows, planes2, planes3 });
    ggml_tensor *   index = op.integers(GGML_TYPE_I64, { s.rows, s.ne[2], s.ne[3], 1 }, shuffled(s.rows, s.ne[1], s.ne[2] * s.ne[3]));
    const auto      given = op.bytes_before(index);
    if (view) {
        src   = ggml_view_4d(op.ctx(), src, s.ne[0], rows, planes2, planes3, src->nb[1], src->nb[2], src->nb[3], 0);
        index = ggml_view_3d(op.ctx(), index, rows, s.ne[2], s.ne[3], index->nb[1], index->nb[2], 0);
    }
    if (!op.compute(ggml_set_rows(op.ctx(), dst, src, index))) {
        return;
    }
    const auto            after = test::bytes_of(dst);
    const auto *          numbers = reinterpret_cast<const int64_t *>(given.data());
    test::encoding_errors errors(type);
    for (int64_t i3 = 0; i3 < planes3; i3++) {
        for (int64_t i2 = 0; i2 < planes2; i2++) {
            std::vector<bool> set(s.ne[1]);
            for (int64_t i = 0; i < rows; i++) {
                const int64_t row = numbers[i + s.rows * (i2 % s.ne[2] + s.ne[2] * (i3 % s.ne[3]))];
                set[row]          = true;
                errors.add(row_of(op.values(src), s.ne[0], i, i2, i3), row_of(op.values(dst), s.ne[0], row, i2, i3));
            }
            for (int64_t row = 0; row < s.ne[1]; row++) {
                const auto at = row * dst->nb[1] + i2 * dst->nb[2] + i3 * dst->nb[3];
                ASSERT_TRUE(set[row] || std::equal(&after[at], &after[at] + dst->nb[1], &op.bytes_before(dst)[at]));
            }
        }
    }
    errors.expect_no_larger_than_ggml();
}

TEST(set_rows, encodes_as_well_as_ggml_and_leaves_other_rows) {
    for (const ggml_type type : test::grid_types) {
        for (int combination = 0; combination < 24; combination++) {
            int           left = combination;
            const auto    from = pick(left, { GGML_TYPE_F16, GGML_TYPE_F32 });
            const int64_t more = pick(left, { 1, 7 });
            const bool    view = pick(left, { false, true });
            const setting s    = pick(left, { setting{ { 256, 5, more, 3 }, 1, 1, 1 }, setting{ { 256, 11, 1, more }, 2, 3, 7 },
                                              setting{ { 768, 3, more, 1 }, 2, 3, 2 } });
            SCOPED_TRACE(std::string(ggml_type_name(from)) + " to " + ggml_type_name(type) + test::text(s.ne) + (view ? " view" : ""));
            expect_rows_set(from, type, s, view);
        }
    }
}

// Also where a workgroup encodes a block together. The next computation reports what the last one met.
TEST(set_rows, encodes_nothing_for_an_index_out_of_range) {
    test::log_capture log;
    test::single_op   op, next;
    ggml_tensor *     dst   = op.random(GGML_TYPE_IQ2_S, { 256, 4, 1, 1 });
    ggml_tensor *     src   = op.random(GGML_TYPE_F32, { 256, 2, 1, 1 });
    ggml_tensor *     index = op.integers(GGML_TYPE_I64, { 2, 1, 1, 1 }, { 1, 4 });
    EXPECT_EQ(op.status(ggml_set_rows(op.ctx(), dst, src, index)), GGML_STATUS_SUCCESS);
    EXPECT_EQ(next.status(ggml_neg(next.ctx(), next.random(GGML_TYPE_F32, { 1, 1, 1, 1 }))), GGML_STATUS_FAILED);
    EXPECT_NE(log.text().find("index out of range"), std::string::npos);

    const auto   after  = test::bytes_of(dst);
    const auto & before = op.bytes_before(dst);
    for (size_t i = 0; i < after.size(); i++) {
        ASSERT_TRUE(i / dst->nb[1] == 1 || after[i] == before[i]) << "byte " << i;
    }
}

TEST(get_rows_back, adds_rows_of_every_type) {
    static constexpr int64_t columns = 256, rows = 5, picked = 4;
    static constexpr ggml_type types[] = {
        GGML_TYPE_F32,     GGML_TYPE_F16,    GGML_TYPE_BF16,  GGML_TYPE_I32,     GGML_TYPE_Q4_0,  GGML_TYPE_Q4_1,  GGML_TYPE_Q5_0,
        GGML_TYPE_Q5_1,    GGML_TYPE_Q8_0,   GGML_TYPE_Q1_0,  GGML_TYPE_Q2_0,    GGML_TYPE_MXFP4, GGML_TYPE_NVFP4, GGML_TYPE_Q2_K,
        GGML_TYPE_Q3_K,    GGML_TYPE_Q4_K,   GGML_TYPE_Q5_K,  GGML_TYPE_Q6_K,    GGML_TYPE_TQ2_0, GGML_TYPE_TQ1_0, GGML_TYPE_IQ4_NL,
        GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S, GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S, GGML_TYPE_IQ1_S, GGML_TYPE_IQ1_M,
        GGML_TYPE_IQ4_XS,
    };
    for (const ggml_type type : types) {
        for (const std::vector<int64_t> & numbers : { std::vector<int64_t>{ 3, 0, 3, 1 }, std::vector<int64_t>{ 4, 4, 4, 4 } }) {
            for (const bool view : { false, true }) {
                SCOPED_TRACE(std::string(ggml_type_name(type)) + (view ? " view" : ""));
                test::single_op op;
                ggml_tensor *   forward = op.random(type, { columns, rows, 1, 1 });
                ggml_tensor *   index   = op.integers(GGML_TYPE_I32, { picked, 1, 1, 1 }, numbers);
                ggml_tensor *   grad    = op.random(type, { columns, picked, 1, 1 });
                if (view) {
                    index = ggml_view_2d(op.ctx(), index, picked / 2, 1, index->nb[1], 0);
                }
                ggml_tensor * y = ggml_get_rows_back(op.ctx(), grad, index, forward);
                if (!op.compute(y)) {
                    continue;
                }
                const auto grads = op.values(grad);
                expect_values(op, y, 1e-6, [&](auto column, auto row, auto, auto) {
                    test::terms t;
                    for (int64_t i = 0; i < index->ne[0]; i++) {
                        t.add(numbers[i] == row ? grads(column, i) : 0.0);
                    }
                    return t;
                });
            }
        }
    }
}

}  // namespace
