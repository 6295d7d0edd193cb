// Products with many columns: every way in which the work may be cut, and values that f16 cannot hold.
#include "../backend/host.h"

#include <cmath>

namespace {

struct product {
    ggml_type type;
    int64_t   m, n, k, batches;
};

float weight(int64_t i) {
    return static_cast<float>(i * 7919 % 255 - 127) / 128.0f;
}

float activation(int64_t i) {
    return static_cast<float>(i * 104729 % 201 - 100) / 64.0f;
}

// What column `c` is multiplied with: most fit f16 as they are, one is too large for it, one too small.
float size_of_column(int64_t c) {
    return c == 3 ? 1e6f : c == 5 ? 1e-6f : 1.0f;
}

// The same for row `r` of weights of a type that can hold them.
float size_of_row(ggml_type type, int64_t r) {
    return type != GGML_TYPE_BF16 && type != GGML_TYPE_F32 ? 1.0f : r == 2 ? 3e6f : r == 6 ? 1e-7f : 1.0f;
}

// The largest error of a value, of the sum of the magnitudes that it is made of.
double worst_error(const product & p) {
    const test::backend_ref on(ggml_backend_dev_init(test::ggml_device(), nullptr));
    const test::context_ref context = test::make_context();
    ggml_tensor *           a       = ggml_new_tensor_2d(context.get(), p.type, p.k, p.m);
    ggml_tensor *           b       = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, p.k, p.n, p.batches);
    ggml_tensor *           y       = ggml_mul_mat(context.get(), a, b);
    ggml_cgraph *           graph   = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, y);
    const test::buffer_ref memory(ggml_backend_alloc_ctx_tensors(context.get(), on.get()));

    std::vector<float>   as(p.m * p.k), bs(p.n * p.k * p.batches), result(ggml_nelements(y));
    std::vector<uint8_t> bytes(ggml_nbytes(a));
    for (size_t i = 0; i < as.size(); i++) {
        as[i] = weight(static_cast<int64_t>(i)) / 3.0f * size_of_row(p.type, static_cast<int64_t>(i) / p.k);
    }
    for (size_t i = 0; i < bs.size(); i++) {
        bs[i] = activation(static_cast<int64_t>(i)) / 3.0f * size_of_column(static_cast<int64_t>(i) / p.k % p.n);
    }
    ggml_quantize_chunk(p.type, as.data(), bytes.data(), 0, p.m, p.k, nullptr);
    if (const auto to_float = ggml_get_type_traits(p.type)->to_float) {  // f32 has none
        to_float(bytes.data(), as.data(), p.m * p.k);
    }
    ggml_backend_tensor_set(a, bytes.data(), 0, bytes.size());
    ggml_backend_tensor_set(b, bs.data(), 0, ggml_nbytes(b));
    EXPECT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get(y, result.data(), 0, ggml_nbytes(y));

    double worst = 0.0;
    for (int64_t column = 0; column < p.n * p.batches; column++) {
        for (int64_t row = 0; row < p.m; row++) {
            double sum = 0.0, size = 1e-30;
            for (int64_t i = 0; i < p.k; i++) {
                const double term = double(as[row * p.k + i]) * bs[column * p.k + i];
                sum += term;
                size += std::fabs(term);
            }
            if (!std::isfinite(result[column * p.m + row])) {
                return INFINITY;
            }
            worst = std::max(worst, std::fabs(result[column * p.m + row] - sum) / size);
        }
    }
    return worst;
}

TEST(matrix, products_are_right_however_they_are_cut) {
    const product cases[] = {
        { GGML_TYPE_F16, 256, 64, 512, 1 },   // whole tiles, read where they lie
        { GGML_TYPE_F16, 130, 70, 96, 1 },    // edges everywhere
        { GGML_TYPE_F16, 64, 64, 512, 1 },    // few tiles: splits of k
        { GGML_TYPE_F16, 384, 64, 512, 1 },   // the last round of tiles in splits
        { GGML_TYPE_F16, 100, 60, 512, 2 },   // splits, edges and batches
        { GGML_TYPE_F16, 257, 9, 257, 1 },    // splits of a single row
        { GGML_TYPE_BF16, 384, 64, 512, 1 },
        { GGML_TYPE_BF16, 130, 70, 96, 2 },
        { GGML_TYPE_BF16, 128, 128, 96, 1 },  // a tile with a scaled row and no scaled column
        { GGML_TYPE_F32, 256, 64, 128, 1 },   // three parts of each value's digits
        { GGML_TYPE_F32, 130, 70, 96, 2 },
        { GGML_TYPE_F32, 64, 64, 512, 1 },    // in splits of k
        { GGML_TYPE_Q8_0, 384, 64, 512, 1 },
        { GGML_TYPE_Q8_0, 130, 70, 96, 1 },   // rows that end in the middle of a unit of 64 values
        { GGML_TYPE_Q4_K, 96, 40, 512, 1 },   // values in order
        { GGML_TYPE_Q6_K, 96, 40, 512, 1 },   // and spread
        { GGML_TYPE_Q5_1, 130, 9, 160, 3 },
        { GGML_TYPE_MXFP4, 70, 17, 96, 1 },   // levels of a table
        { GGML_TYPE_IQ3_S, 96, 40, 512, 1 },  // and of a grid
    };
    for (const product & p : cases) {
        const double limit = p.type == GGML_TYPE_F32 ? 2e-6 : 2e-3;
        EXPECT_LT(worst_error(p), limit) << ggml_type_name(p.type) << " " << p.m << " x " << p.n << " x " << p.k << ", " << p.batches;
    }
}

// Split in halves, an infinity must not become a NaN, and only its own row may have it.
TEST(matrix, an_infinity_among_f32_weights_stays_one) {
    constexpr int64_t       k = 96, m = 64, n = 16;
    const test::backend_ref on(ggml_backend_dev_init(test::ggml_device(), nullptr));
    const test::context_ref context = test::make_context();
    ggml_tensor *           a       = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, k, m);
    ggml_tensor *           b       = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, k, n);
    ggml_tensor *           y       = ggml_mul_mat(context.get(), a, b);
    ggml_cgraph *           graph   = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, y);
    const test::buffer_ref memory(ggml_backend_alloc_ctx_tensors(context.get(), on.get()));

    std::vector<float> as(k * m, 1.0f), bs(k * n, 1.0f), result(m * n);
    as[3 * k + 5] = INFINITY;
    bs[7 * k + 9] = -INFINITY;
    ggml_backend_tensor_set(a, as.data(), 0, ggml_nbytes(a));
    ggml_backend_tensor_set(b, bs.data(), 0, ggml_nbytes(b));
    ASSERT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get(y, result.data(), 0, ggml_nbytes(y));
    for (int64_t column = 0; column < n; column++) {
        for (int64_t row = 0; row < m; row++) {
            const float found = result[column * m + row];
            if (row == 3 && column == 7) {
                EXPECT_TRUE(std::isnan(found)) << found;  // the two infinities cancel out
            } else {
                EXPECT_EQ(found, row == 3 ? INFINITY : column == 7 ? -INFINITY : float(k)) << row << ", " << column;
            }
        }
    }
}

}  // namespace
