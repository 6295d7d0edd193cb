#include "host.h"

TEST(ggml_device, has_a_name_a_description_and_memory) {
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(test::ggml_device(), &props);
    EXPECT_STREQ(props.name, "WebGPU0");
    EXPECT_FALSE(std::string(props.description).empty());
    EXPECT_GT(props.memory_total, size_t(256) << 20);
    EXPECT_LE(props.memory_free, props.memory_total);
    EXPECT_FALSE(props.caps.host_buffer);
    EXPECT_FALSE(props.caps.buffer_from_host_ptr);
    EXPECT_EQ(props.device_id, nullptr);
}

// Hosts give layers to GPUs only.
TEST(ggml_device, is_never_a_cpu) {
    const auto type = ggml_backend_dev_type(test::ggml_device());
    EXPECT_TRUE(type == GGML_BACKEND_DEVICE_TYPE_GPU || type == GGML_BACKEND_DEVICE_TYPE_IGPU);
}

TEST(ggml_device, takes_over_large_batches_from_host_memory_and_no_row_lookups) {
    auto          context = test::make_context();
    ggml_tensor * weights = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 64, 64);
    ggml_tensor * token   = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 64, 1);
    ggml_tensor * batch   = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 64, 32);
    ggml_tensor * rows    = ggml_new_tensor_1d(context.get(), GGML_TYPE_I32, 64);
    EXPECT_FALSE(ggml_backend_dev_offload_op(test::ggml_device(), ggml_mul_mat(context.get(), weights, token)));
    EXPECT_TRUE(ggml_backend_dev_offload_op(test::ggml_device(), ggml_mul_mat(context.get(), weights, batch)));
    EXPECT_FALSE(ggml_backend_dev_offload_op(test::ggml_device(), ggml_get_rows(context.get(), weights, rows)));
}

TEST(ggml_device, answers_for_an_op_without_memory) {
    auto          context = test::make_context();
    ggml_tensor * a       = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 64, 64);
    EXPECT_TRUE(ggml_backend_dev_supports_op(test::ggml_device(), ggml_add(context.get(), a, a)));
    EXPECT_TRUE(ggml_backend_dev_supports_op(test::ggml_device(), ggml_view_1d(context.get(), a, 10, 0)));
}

TEST(ggml_device, leaves_to_others_what_no_buffer_of_it_can_hold) {
    const size_t      largest = ggml_backend_buft_get_max_size(ggml_backend_webgpu_buffer_type(0));
    test::context_ref context = test::make_context();
    const int64_t     rows    = static_cast<int64_t>(largest / (1024 * sizeof(float)));
    ggml_tensor *     most    = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 1024, rows);
    ggml_tensor *     more    = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 1024, rows + 1);
    ggml_tensor *     part    = ggml_view_1d(context.get(), more, 1024, 0);
    EXPECT_TRUE(ggml_backend_dev_supports_op(test::ggml_device(), ggml_sqr(context.get(), most)));
    EXPECT_FALSE(ggml_backend_dev_supports_op(test::ggml_device(), ggml_sqr(context.get(), more)));
    EXPECT_FALSE(ggml_backend_dev_supports_op(test::ggml_device(), ggml_sqr(context.get(), part)));
}
