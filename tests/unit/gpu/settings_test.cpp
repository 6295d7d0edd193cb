#include "gpu/settings.h"

#include "../environment.h"

#include <gtest/gtest.h>

struct bad_value {
    const char * name;
    const char * value;
    const char * says;
};

class settings_refuse : public testing::TestWithParam<bad_value> {};

TEST_P(settings_refuse, a_value_that_means_nothing_and_say_what_is_allowed) {
    const auto &          c = GetParam();
    test::scoped_variable set(c.name, c.value);
    const auto            read = gpu::read_settings();
    ASSERT_FALSE(read.ok());
    EXPECT_NE(read.why().text().find(c.name), std::string::npos) << read.why().text();
    EXPECT_NE(read.why().text().find(c.says), std::string::npos) << read.why().text();
}

INSTANTIATE_TEST_SUITE_P(values, settings_refuse,
                         testing::Values(bad_value{ "GGML_WEBGPU_DISABLE", "f61", "known are f16" },
                                         bad_value{ "GGML_WEBGPU_DISABLE", "f16,all", "'all'" },
                                         bad_value{ "GGML_WEBGPU_DISABLE", "f16 subgroups", "commas" },
                                         bad_value{ "GGML_WEBGPU_DEBUG", "yes", "only 0 and 1" },
                                         bad_value{ "GGML_WEBGPU_PROFILE", "2", "only 0 and 1" },
                                         bad_value{ "GGML_WEBGPU_VALIDATE", "true", "only 0 and 1" },
                                         bad_value{ "GGML_WEBGPU_LIST_KERNELS", "all", "only 0 and 1" },
                                         bad_value{ "GGML_WEBGPU_LIMITS", "default", "only webgpu-default" },
                                         bad_value{ "GGML_WEBGPU_LIMITS", "webgpu-default,", "only webgpu-default" },
                                         bad_value{ "GGML_WEBGPU_MAX_BINDING", "big", "bytes" },
                                         bad_value{ "GGML_WEBGPU_MAX_BINDING", "-1", "bytes" },
                                         bad_value{ "GGML_WEBGPU_MAX_BINDING", "0", "bytes" },
                                         bad_value{ "GGML_WEBGPU_MAX_BINDING", "128T", "bytes" },
                                         bad_value{ "GGML_WEBGPU_MAX_BINDING", "1M ", "bytes" },
                                         bad_value{ "GGML_WEBGPU_MAX_BINDING", "99999999999999999999", "bytes" },
                                         bad_value{ "GGML_WEBGPU_MAX_BINDING", "99999999999999G", "bytes" },
                                         bad_value{ "GGML_WEBGPU_MAX_BINDING", "1000", "64K" }));

TEST(settings, unset_and_empty_variables_are_the_defaults) {
    test::scoped_variable no_library("GGML_WEBGPU_LIBRARY", nullptr), no_adapter("GGML_WEBGPU_ADAPTER", ""), no_validation("GGML_WEBGPU_VALIDATE", ""),
        nothing_disabled("GGML_WEBGPU_DISABLE", "");
    auto read = gpu::read_settings();
    ASSERT_TRUE(read.ok()) << read.why().text();
    EXPECT_EQ(read->library, "");
    EXPECT_EQ(read->adapter, "");
    EXPECT_EQ(read->max_binding, 0u);
    EXPECT_FALSE(read->default_limits);
    EXPECT_FALSE(read->validate);
    EXPECT_FALSE(read->no_f16 || read->no_subgroups || read->no_subgroup_size || read->no_subgroup_matrix || read->no_packed_dot || read->no_fusion || read->no_timestamps);
}

TEST(settings, features_are_disabled_by_name) {
    test::scoped_variable disable("GGML_WEBGPU_DISABLE", "f16,subgroup_matrix,,timestamps,subgroup_size");
    auto                  read = gpu::read_settings();
    ASSERT_TRUE(read.ok()) << read.why().text();
    EXPECT_TRUE(read->no_f16 && read->no_subgroup_matrix && read->no_timestamps && read->no_subgroup_size);
    EXPECT_FALSE(read->no_subgroups || read->no_packed_dot || read->no_fusion);
}

TEST(settings, compiled_kernels_are_kept_where_the_platform_keeps_such_things) {
    struct place {
        const char * named;
        const char * xdg;
        const char * home;
        const char * folder;
    };
    const place cases[] = {
        { nullptr, "/xdg", "/home/me", "/xdg/ggml-webgpu/kernels" },
        { nullptr, nullptr, "/home/me", "/home/me/.cache/ggml-webgpu/kernels" },
        { "", "relative", "/home/me", "/home/me/.cache/ggml-webgpu/kernels" },
        { nullptr, nullptr, nullptr, "" },
        { "0", "/xdg", "/home/me", "" },
        { "/named", "/xdg", "/home/me", "/named" },
    };
    for (const place & c : cases) {
        test::scoped_variable named("GGML_WEBGPU_KERNEL_CACHE", c.named), xdg("XDG_CACHE_HOME", c.xdg), home("HOME", c.home);
        auto                  read = gpu::read_settings();
        ASSERT_TRUE(read.ok()) << read.why().text();
        EXPECT_EQ(read->kernel_cache, c.folder);
    }
}

TEST(settings, bytes_take_suffixes) {
    const std::pair<const char *, uint64_t> cases[] = { { "65536", 65536 }, { "64K", 65536 }, { "3M", 3u << 20 }, { "2G", 2ull << 30 } };
    for (const auto & [text, bytes] : cases) {
        test::scoped_variable limit("GGML_WEBGPU_MAX_BINDING", text);
        auto                  read = gpu::read_settings();
        ASSERT_TRUE(read.ok()) << read.why().text();
        EXPECT_EQ(read->max_binding, bytes) << text;
    }
}
