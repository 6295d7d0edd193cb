// CPY to the types that ggml's CPU backend does not convert to, in the shapes of its conformance suite and others.
#include "encoding.h"

#include <random>

namespace {

using test::sizes;

struct copy {
    sizes ne, order_src, order_dst;  // of the dimensions, as ggml_permute takes them
};

ggml_tensor * permuted(const test::single_op & op, ggml_tensor * t, const sizes & order) {
    return ggml_permute(op.ctx(), t, int(order[0]), int(order[1]), int(order[2]), int(order[3]));
}

// Position of row `i` of a tensor whose rows are counted in its own order.
sizes row_position(const ggml_tensor * t, int64_t i) {
    return { 0, i % t->ne[1], i / t->ne[1] % t->ne[2], i / t->ne[1] / t->ne[2] };
}

TEST(cpy, moves_rows_of_types_it_searches_for) {
    for (const ggml_type type : test::grid_types) {
        for (const int64_t ne0 : { 256, 512, 768 }) {
            const sizes ne = { ne0, 2, 3, 4 };
            for (const copy & c : { copy{ ne, { 0, 1, 2, 3 }, { 0, 1, 2, 3 } }, copy{ ne, { 0, 2, 1, 3 }, { 0, 1, 2, 3 } },
                                    copy{ ne, { 0, 3, 1, 2 }, { 0, 2, 1, 3 } } }) {
                SCOPED_TRACE(std::string(ggml_type_name(type)) + test::text(c.ne) + test::text(c.order_src) + test::text(c.order_dst));
                test::single_op op;
                ggml_tensor *   src = permuted(op, op.random(type, c.ne), c.order_src);
                ggml_tensor *   dst = permuted(op, op.random(type, { src->ne[0], src->ne[1], src->ne[2], src->ne[3] }), c.order_dst);
                if (!op.compute(ggml_cpy(op.ctx(), src, dst))) {
                    continue;
                }
                for (int64_t i = 0; i < ggml_nrows(src); i++) {
                    const sizes from = row_position(src, i), to = row_position(dst, i);
                    ASSERT_EQ(row_of(op.values(src), ne0, from[1], from[2], from[3]), row_of(op.values(dst), ne0, to[1], to[2], to[3]));
                }
            }
        }
    }
}

TEST(cpy, encodes_as_well_as_ggml) {
    for (const ggml_type type : test::grid_types) {
        for (const ggml_type from : { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16 }) {
            for (const copy & c : { copy{ { 256, 4, 4, 4 }, { 0, 1, 2, 3 }, {} }, copy{ { 256, 2, 3, 4 }, { 0, 2, 1, 3 }, {} } }) {
                SCOPED_TRACE(std::string(ggml_type_name(from)) + " to " + ggml_type_name(type) + test::text(c.ne) + test::text(c.order_src));
                test::single_op op;
                ggml_tensor *   src = permuted(op, op.random(from, c.ne), c.order_src);
                ggml_tensor *   dst = op.random(type, { src->ne[0], src->ne[1], src->ne[2], src->ne[3] });
                if (!op.compute(ggml_cpy(op.ctx(), src, dst))) {
                    continue;
                }
                test::encoding_errors errors(type);
                for (int64_t i = 0; i < ggml_nrows(src); i++) {
                    const sizes at = row_position(src, i);
                    errors.add(row_of(op.values(src), 256, at[1], at[2], at[3]), row_of(op.values(dst), 256, at[1], at[2], at[3]));
                }
                errors.expect_no_larger_than_ggml();
            }
        }
    }
}

// Values in any order of memory, whose blocks end within rows of the source.
TEST(cpy, encodes_blocks_of_scattered_values) {
    for (const ggml_type type : test::grid_types) {
        SCOPED_TRACE(ggml_type_name(type));
        test::single_op op;
        ggml_tensor *   src = permuted(op, op.random(GGML_TYPE_F32, { 16, 48, 2, 1 }), { 1, 0, 2, 3 });
        ggml_tensor *   dst = op.random(type, { 256, 6, 1, 1 });
        if (!op.compute(ggml_cpy(op.ctx(), src, dst))) {
            continue;
        }
        const auto            values = op.values(src);
        test::encoding_errors errors(type);
        for (int64_t row = 0; row < 6; row++) {
            std::vector<float> wanted;
            for (int64_t i = 256 * row; i < 256 * (row + 1); i++) {
                wanted.push_back(static_cast<float>(values(i % 48, i / 48 % 16, i / 768)));
            }
            errors.add(wanted, row_of(op.values(dst), 256, row, 0, 0));
        }
        errors.expect_no_larger_than_ggml();
    }
}

// Rows of blocks of 2-byte alignment share words with their neighbours.
TEST(cpy, leaves_what_lies_around_the_encoded_rows) {
    for (const ggml_type type : test::grid_types) {
        SCOPED_TRACE(ggml_type_name(type));
        test::single_op op;
        ggml_tensor *   src  = op.random(GGML_TYPE_F32, { 512, 3, 1, 1 });
        ggml_tensor *   all  = op.random(type, { 768, 5, 1, 1 });
        // The last two blocks of rows 1 to 3.
        ggml_tensor *   part = ggml_view_2d(op.ctx(), all, 512, 3, all->nb[1], all->nb[1] + ggml_type_size(type));
        if (!op.compute(ggml_cpy(op.ctx(), src, part))) {
            continue;
        }
        const std::vector<uint8_t> after = test::bytes_of(all);
        for (size_t i = 0; i < after.size(); i++) {
            const size_t row = i / all->nb[1], block = i % all->nb[1] / ggml_type_size(type);
            if (row == 0 || row == 4 || block == 0) {
                ASSERT_EQ(after[i], op.bytes_before(all)[i]) << "byte " << i;
            }
        }
        test::encoding_errors errors(type);
        for (int64_t row = 0; row < 3; row++) {
            errors.add(row_of(op.values(src), 512, row, 0, 0), row_of(op.values(part), 512, row, 0, 0));
        }
        errors.expect_no_larger_than_ggml();
    }
}

template <typename D> std::vector<float> drawn(size_t n, D distribution) {
    std::mt19937       engine(7);
    std::vector<float> values(n);
    std::generate(values.begin(), values.end(), [&] { return distribution(engine); });
    return values;
}

TEST(cpy, encodes_values_of_any_distribution_as_well_as_ggml) {
    static constexpr int64_t rows = 16;
    auto lonely = drawn(256 * rows, std::normal_distribution<float>(0.0f, 0.01f));
    for (size_t i = 0; i < lonely.size(); i += 61) {
        lonely[i] = 1.0f;
    }
    auto gaps = drawn(256 * rows, std::normal_distribution<float>());
    for (size_t i = 0; i < gaps.size(); i++) {
        gaps[i] *= i / 16 % 5 == 0 || i < 256 ? 0.0f : 1.0f;
    }
    const std::vector<float> distributions[] = {
        drawn(256 * rows, std::normal_distribution<float>()),
        drawn(256 * rows, std::normal_distribution<float>(0.0f, 0.02f)),
        drawn(256 * rows, std::uniform_real_distribution<float>(-100.0f, 100.0f)),
        drawn(256 * rows, std::uniform_real_distribution<float>(0.0f, 1.0f)),
        drawn(256 * rows, std::student_t_distribution<float>(3.0f)),
        lonely,
        gaps,
    };
    for (const ggml_type type : test::grid_types) {
        for (const auto & values : distributions) {
            SCOPED_TRACE(std::string(ggml_type_name(type)) + ", distribution " + std::to_string(&values - distributions));
            test::single_op op;
            ggml_tensor *   src = op.floats(GGML_TYPE_F32, { 256, rows, 1, 1 }, values);
            ggml_tensor *   dst = op.random(type, { 256, rows, 1, 1 });
            if (!op.compute(ggml_cpy(op.ctx(), src, dst))) {
                continue;
            }
            test::encoding_errors errors(type);
            for (int64_t row = 0; row < rows; row++) {
                errors.add(row_of(op.values(src), 256, row, 0, 0), row_of(op.values(dst), 256, row, 0, 0));
            }
            errors.expect_no_larger_than_ggml();
        }
    }
}

}  // namespace
