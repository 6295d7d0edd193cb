// Whatever stands in the way of a device, the host sees none, reads one line, and goes on. Each case is a process of its
// own, as the library is loaded once.
#include "child.h"
#include "host.h"

#include <cstdio>

// What the children do. Disabled, so it runs only where a test below asks for it.
TEST(child, DISABLED_lists_devices) {
    const size_t n = ggml_backend_reg_dev_count(ggml_backend_webgpu_reg());
    std::printf("devices: %zu, past the end: %s, backend: %s\n", n, ggml_backend_reg_dev_get(ggml_backend_webgpu_reg(), n) == nullptr ? "null" : "some",
                n > 0 || ggml_backend_webgpu_init(0) == nullptr ? "as expected" : "from nowhere");
}

struct obstacle {
    const char * environment;
    const char * says;
};

class registry : public testing::TestWithParam<obstacle> {};

TEST_P(registry, has_no_device_and_says_why_in_one_line) {
    const auto &      c      = GetParam();
    const std::string output = test::run_child("child.DISABLED_lists_devices", c.environment);
    EXPECT_NE(output.find("devices: 0, past the end: null, backend: as expected"), std::string::npos) << output;
    EXPECT_NE(output.find("ended well"), std::string::npos) << output;
    EXPECT_EQ(test::count_of(output, "ggml-webgpu: no WebGPU device: "), 1u) << output;
    EXPECT_NE(output.find(c.says), std::string::npos) << output;
}

INSTANTIATE_TEST_SUITE_P(obstacles, registry,
                         testing::Values(obstacle{ "GGML_WEBGPU_LIBRARY=/nonexistent/libwebgpu.so", "/nonexistent/libwebgpu.so" },
                                         obstacle{ "GGML_WEBGPU_LIBRARY=libc.so.6", "no function wgpuCreateInstance" },
                                         obstacle{ "GGML_WEBGPU_ADAPTER=no-such-adapter", "no-such-adapter" },
                                         obstacle{ "GGML_WEBGPU_DISABLE=everything", "everything" },
                                         obstacle{ "GGML_WEBGPU_DEBUG=maybe", "GGML_WEBGPU_DEBUG" }));

TEST(registry, finds_the_device_and_ends_well) {
    const std::string output = test::run_child("child.DISABLED_lists_devices", "LC_ALL=C");
    EXPECT_NE(output.find("devices: 1, past the end: null"), std::string::npos) << output;
    EXPECT_NE(output.find("ended well"), std::string::npos) << output;
}

TEST(registry, has_its_name_and_features) {
    ggml_backend_reg_t reg = ggml_backend_webgpu_reg();
    EXPECT_STREQ(ggml_backend_reg_name(reg), "WebGPU");
    EXPECT_EQ(ggml_backend_reg_get_proc_address(reg, "no_such_function"), nullptr);
    auto get_features = reinterpret_cast<ggml_backend_get_features_t>(ggml_backend_reg_get_proc_address(reg, "ggml_backend_get_features"));
    ASSERT_NE(get_features, nullptr);
    size_t n = 0;
    for (const ggml_backend_feature * f = get_features(reg); f->name != nullptr; f++) {
        EXPECT_NE(f->value, nullptr);
        n++;
    }
    EXPECT_GT(n, 0u);
}

TEST(registry, an_index_past_the_end_is_null_and_one_log_line) {
    test::log_capture log;
    EXPECT_EQ(ggml_backend_webgpu_init(1000), nullptr);
    EXPECT_EQ(ggml_backend_webgpu_buffer_type(1000), nullptr);
    EXPECT_EQ(log.lines(), 2u) << log.text();
}
