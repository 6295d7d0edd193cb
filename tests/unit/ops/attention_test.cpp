// Attention where the largest score of a row is far from the first ones.
#include "../backend/host.h"

#include <cmath>

namespace {

constexpr int64_t size = 128, tokens = 40, heads = 4, kv = 300;

// Position j has score `slope` * j for every query, and a value that tells positions apart. Row 7 sees nothing, the others all up to their own.
std::vector<float> attend(float slope) {
    const test::backend_ref on(ggml_backend_dev_init(test::ggml_device(), nullptr));
    const test::context_ref context = test::make_context();
    ggml_tensor *           q       = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, size, tokens, heads);
    ggml_tensor *           k       = ggml_new_tensor_3d(context.get(), GGML_TYPE_F16, size, kv, 1);
    ggml_tensor *           v       = ggml_new_tensor_3d(context.get(), GGML_TYPE_F16, size, kv, 1);
    ggml_tensor *           mask    = ggml_new_tensor_2d(context.get(), GGML_TYPE_F16, kv, tokens);
    ggml_tensor *           y       = ggml_flash_attn_ext(context.get(), q, k, v, mask, 1.0f, 0.0f, 0.0f);
    ggml_cgraph *           graph   = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, y);
    const test::buffer_ref memory(ggml_backend_alloc_ctx_tensors(context.get(), on.get()));

    std::vector<float>       qs(ggml_nelements(q));
    std::vector<ggml_fp16_t> ks(ggml_nelements(k)), vs(ggml_nelements(v)), masks(ggml_nelements(mask));
    for (size_t i = 0; i < qs.size(); i++) {
        qs[i] = i % size == 3 ? slope : 0.0f;
    }
    for (int64_t j = 0; j < kv; j++) {
        for (int64_t d = 0; d < size; d++) {
            ks[j * size + d] = ggml_fp32_to_fp16(static_cast<float>(j));
            vs[j * size + d] = ggml_fp32_to_fp16(static_cast<float>(j + d));
        }
        for (int64_t t = 0; t < tokens; t++) {
            masks[t * kv + j] = ggml_fp32_to_fp16(t != 7 && j <= 7 * t ? 0.0f : -INFINITY);
        }
    }
    ggml_backend_tensor_set(q, qs.data(), 0, ggml_nbytes(q));
    ggml_backend_tensor_set(k, ks.data(), 0, ggml_nbytes(k));
    ggml_backend_tensor_set(v, vs.data(), 0, ggml_nbytes(v));
    ggml_backend_tensor_set(mask, masks.data(), 0, ggml_nbytes(mask));
    EXPECT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
    std::vector<float> result(ggml_nelements(y));
    ggml_backend_tensor_get(y, result.data(), 0, ggml_nbytes(y));
    return result;
}

// The weighted mean of positions 0 .. last.
double expected(double slope, int64_t last) {
    double sum = 0.0, weights = 0.0;
    for (int64_t j = 0; j <= last; j++) {
        const double weight = std::exp(slope * static_cast<double>(slope > 0.0 ? j - last : j));
        sum += weight * static_cast<double>(j);
        weights += weight;
    }
    return sum / weights;
}

TEST(attention, scores_may_rise_or_fall_steeply) {
    for (const float slope : { 0.01f, 0.1f, 0.2f, 0.5f, 1.0f, 100.0f, -0.5f, -100.0f }) {
        const std::vector<float> y = attend(slope);
        for (int64_t t = 0; t < tokens; t++) {
            for (int64_t i = 0; i < heads * size; i++) {
                const double mean = expected(slope, std::min(7 * t, kv - 1)) + static_cast<double>(i % size);
                ASSERT_NEAR(y[t * heads * size + i], t == 7 ? 0.0 : mean, 0.2) << "slope " << slope << ", token " << t << ", value " << i;
            }
        }
    }
}

TEST(attention, nothing_to_look_at_gives_zeros) {
    const test::backend_ref on(ggml_backend_dev_init(test::ggml_device(), nullptr));
    const test::context_ref context = test::make_context();
    ggml_tensor *           q       = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, size, 1, heads);
    ggml_tensor *           k       = ggml_new_tensor_3d(context.get(), GGML_TYPE_F16, size, 0, 1);
    ggml_tensor *           v       = ggml_new_tensor_3d(context.get(), GGML_TYPE_F16, size, 0, 1);
    ggml_tensor *           y       = ggml_flash_attn_ext(context.get(), q, k, v, nullptr, 1.0f, 0.0f, 0.0f);
    ggml_cgraph *           graph   = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, y);
    const test::buffer_ref memory(ggml_backend_alloc_ctx_tensors(context.get(), on.get()));

    std::vector<float> values(ggml_nelements(y), 1.0f);
    ggml_backend_tensor_set(q, values.data(), 0, ggml_nbytes(q));
    ggml_backend_tensor_set(y, values.data(), 0, ggml_nbytes(y));
    ASSERT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get(y, values.data(), 0, ggml_nbytes(y));
    EXPECT_EQ(values, std::vector<float>(values.size(), 0.0f));
}

}  // namespace
