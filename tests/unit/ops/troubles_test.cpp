// What went wrong in other WebGPU backends goes right here. Expected values are computed on the host, in double.
#include "../backend/host.h"

#include <cmath>

namespace {

// A graph on the device, its tensors filled by the test.
class troubles : public testing::Test {
protected:
    troubles() : on_(ggml_backend_dev_init(test::ggml_device(), nullptr)), context_(test::make_context(32)) {}

    ggml_context * ctx() { return context_.get(); }

    ggml_tensor * floats(int64_t ne0, int64_t ne1 = 1) { return ggml_new_tensor_2d(ctx(), GGML_TYPE_F32, ne0, ne1); }

    void allocate(std::initializer_list<ggml_tensor *> results) {
        graph_ = ggml_new_graph(ctx());
        for (ggml_tensor * t : results) {
            ggml_build_forward_expand(graph_, t);
        }
        memory_.reset(ggml_backend_alloc_ctx_tensors(ctx(), on_.get()));
        ASSERT_NE(memory_, nullptr);
    }

    ggml_status compute() { return ggml_backend_graph_compute(on_.get(), graph_); }

    static std::vector<float> get(const ggml_tensor * t) {
        std::vector<float> values(ggml_nelements(t));
        ggml_backend_tensor_get(t, values.data(), 0, ggml_nbytes(t));
        return values;
    }

    static std::vector<float> set(ggml_tensor * t, float scale = 1.0f) {
        std::vector<float> values(ggml_nelements(t));
        for (size_t i = 0; i < values.size(); i++) {
            values[i] = scale * std::sin(static_cast<float>(i) * 0.7f + 0.1f);
        }
        ggml_backend_tensor_set(t, values.data(), 0, ggml_nbytes(t));
        return values;
    }

    test::backend_ref on_;
    test::context_ref context_;
    test::buffer_ref  memory_;
    ggml_cgraph *     graph_ = nullptr;
};

TEST_F(troubles, a_tensor_is_concatenated_with_itself) {
    ggml_tensor * a = floats(5, 3);
    ggml_tensor * y = ggml_concat(ctx(), a, a, 1);
    allocate({ y });
    const auto as = set(a);
    ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
    const auto ys = get(y);
    for (size_t i = 0; i < ys.size(); i++) {
        EXPECT_EQ(ys[i], as[i % as.size()]);
    }
}

TEST_F(troubles, rms_norm_and_mul_may_share_one_tensor) {
    ggml_tensor * x = floats(64, 3);
    ggml_tensor * y = ggml_mul(ctx(), ggml_rms_norm(ctx(), x, 1e-6f), x);
    allocate({ y });
    const auto xs = set(x);
    ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
    const auto ys = get(y);
    for (int row = 0; row < 3; row++) {
        double squares = 0.0;
        for (int i = 0; i < 64; i++) {
            squares += double(xs[64 * row + i]) * xs[64 * row + i];
        }
        for (int i = 0; i < 64; i++) {
            const double v = xs[64 * row + i];
            EXPECT_NEAR(ys[64 * row + i], v * v / std::sqrt(squares / 64 + 1e-6), 1e-5);
        }
    }
}

TEST_F(troubles, an_in_place_op_writes_where_its_view_lies) {
    ggml_tensor * a    = floats(7, 4);
    ggml_tensor * row  = ggml_view_1d(ctx(), a, 7, 2 * a->nb[1]);
    ggml_tensor * y    = ggml_scale_inplace(ctx(), row, 3.0f);
    allocate({ y });
    const auto before = set(a);
    ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
    const auto after = get(a);
    for (size_t i = 0; i < after.size(); i++) {
        EXPECT_FLOAT_EQ(after[i], i / 7 == 2 ? 3.0f * before[i] : before[i]);
    }
}

TEST_F(troubles, tensors_of_length_zero_are_computed) {
    ggml_tensor * a = floats(0, 3);
    ggml_tensor * b = floats(4);
    ggml_tensor * y = ggml_scale(ctx(), a, 2.0f);
    ggml_tensor * z = ggml_scale(ctx(), b, 2.0f);
    allocate({ y, z });
    const auto bs = set(b);
    ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
    EXPECT_FLOAT_EQ(get(z)[3], 2.0f * bs[3]);
}

TEST_F(troubles, activations_beyond_f16_do_not_overflow_in_a_product) {
    ggml_tensor * w = ggml_new_tensor_2d(ctx(), GGML_TYPE_F16, 64, 64);
    ggml_tensor * x = floats(64, 32);
    ggml_tensor * y = ggml_mul_mat(ctx(), w, x);
    allocate({ y });
    std::vector<ggml_fp16_t> ws(64 * 64);
    for (size_t i = 0; i < ws.size(); i++) {
        ws[i] = ggml_fp32_to_fp16(static_cast<float>(static_cast<int>(i % 13) - 6));
    }
    ggml_backend_tensor_set(w, ws.data(), 0, ggml_nbytes(w));
    const auto xs = set(x, 1e6f);
    ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
    const auto ys = get(y);
    for (int column = 0; column < 32; column++) {
        for (int row = 0; row < 64; row++) {
            double sum = 0.0, size = 0.0;
            for (int k = 0; k < 64; k++) {
                const double term = double(ggml_fp16_to_fp32(ws[64 * row + k])) * xs[64 * column + k];
                sum += term;
                size += std::abs(term);
            }
            EXPECT_NEAR(ys[64 * column + row], sum, 1e-3 * size);
        }
    }
}

TEST_F(troubles, a_quantised_cache_is_filled_by_row_and_read_back) {
    ggml_tensor * cache = ggml_new_tensor_2d(ctx(), GGML_TYPE_Q8_0, 64, 10);
    ggml_tensor * rows  = floats(64, 3);
    ggml_tensor * index = ggml_new_tensor_1d(ctx(), GGML_TYPE_I64, 3);
    ggml_tensor * back  = ggml_new_tensor_1d(ctx(), GGML_TYPE_I32, 3);
    ggml_tensor * set_  = ggml_set_rows(ctx(), cache, rows, index);
    ggml_tensor * y     = ggml_get_rows(ctx(), set_, back);
    allocate({ y });
    const auto    values      = set(rows);
    const int64_t index_[3]   = { 9, 0, 4 };
    const int32_t back_[3]    = { 9, 0, 4 };
    ggml_backend_tensor_set(index, index_, 0, sizeof index_);
    ggml_backend_tensor_set(back, back_, 0, sizeof back_);
    ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
    const auto ys = get(y);
    for (size_t i = 0; i < ys.size(); i++) {
        EXPECT_NEAR(ys[i], values[i], 1.0 / 127);
    }
}

TEST_F(troubles, rows_past_65535_are_normalised) {
    ggml_tensor * x = floats(4, 70000);
    ggml_tensor * y = ggml_rms_norm(ctx(), x, 1e-6f);
    allocate({ y });
    const auto xs = set(x);
    ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
    const auto ys = get(y);
    for (int row : { 0, 65535, 65536, 69999 }) {
        double squares = 0.0;
        for (int i = 0; i < 4; i++) {
            squares += double(xs[4 * row + i]) * xs[4 * row + i];
        }
        EXPECT_NEAR(ys[4 * row + 1], xs[4 * row + 1] / std::sqrt(squares / 4 + 1e-6), 1e-4);
    }
}

TEST_F(troubles, an_addition_kept_for_later_survives_its_fusion_with_the_norm) {
    ggml_tensor * a      = floats(256, 2);
    ggml_tensor * b      = floats(256, 2);
    ggml_tensor * weight = floats(256);
    ggml_tensor * sum    = ggml_add(ctx(), a, b);
    ggml_tensor * normed = ggml_mul(ctx(), ggml_rms_norm(ctx(), sum, 1e-5f), weight);
    ggml_tensor * y      = ggml_add(ctx(), sum, normed);
    allocate({ y });
    const auto as = set(a), bs = set(b, 0.5f), ws = set(weight, 2.0f);
    for (int run = 0; run < 2; run++) {  // the second is a replay
        ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
        const auto ys = get(y);
        for (int row = 0; row < 2; row++) {
            double squares = 0.0;
            for (int i = 0; i < 256; i++) {
                const double v = double(as[256 * row + i]) + bs[256 * row + i];
                squares += v * v;
            }
            for (int i = 0; i < 256; i++) {
                const double v = double(as[256 * row + i]) + bs[256 * row + i];
                EXPECT_NEAR(ys[256 * row + i], v + v / std::sqrt(squares / 256 + 1e-5) * ws[i], 1e-4);
            }
        }
    }
}

// Products of one tensor share its quantised form; when the tensor changes between them they must not.
TEST_F(troubles, products_see_a_source_that_changes_between_them) {
    ggml_tensor * w     = ggml_new_tensor_2d(ctx(), GGML_TYPE_Q8_0, 64, 32);
    ggml_tensor * x     = floats(64);
    ggml_tensor * first = ggml_mul_mat(ctx(), w, x);
    ggml_tensor * twice = ggml_scale_inplace(ctx(), x, 2.0f);
    ggml_tensor * next  = ggml_mul_mat(ctx(), w, twice);
    allocate({ first, next });
    std::vector<float>   ws(64 * 32);
    std::vector<uint8_t> blocks(ggml_nbytes(w));
    for (size_t i = 0; i < ws.size(); i++) {
        ws[i] = std::cos(static_cast<float>(i));
    }
    ggml_quantize_chunk(GGML_TYPE_Q8_0, ws.data(), blocks.data(), 0, 32, 64, nullptr);
    ggml_backend_tensor_set(w, blocks.data(), 0, blocks.size());
    set(x);
    ASSERT_EQ(compute(), GGML_STATUS_SUCCESS);
    const auto one = get(first), two = get(next);
    for (size_t i = 0; i < one.size(); i++) {
        EXPECT_NEAR(two[i], 2.0f * one[i], 1e-3);
    }
}

}  // namespace
