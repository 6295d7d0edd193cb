#include "gpu/side_by_side.h"

#include "../environment.h"
#include "gpu/program.h"

#include <gtest/gtest.h>

static std::string kernel(const std::string & declarations, const std::string & body, const std::string & arguments = "@builtin(workgroup_id) wid: vec3<u32>") {
    return "struct Params { groups: u32, n: u32, }\n" + declarations + "\n@compute @workgroup_size(32)\nfn main(" + arguments + ") {\n" + body + "\n}\n";
}

struct text_case {
    const char * promise;
    std::string  declarations, body;
    const char * found;
};

class side_by_side_text : public testing::TestWithParam<text_case> {};

TEST_P(side_by_side_text, holds) {
    const text_case & c    = GetParam();
    const std::string text = gpu::side_by_side({ kernel(c.declarations, c.body), kernel("", "") });
    EXPECT_NE(text.find(c.found), std::string::npos) << c.promise << "\n" << text;
}

INSTANTIATE_TEST_SUITE_P(
    cases, side_by_side_text,
    testing::Values(
        text_case{ "functions have the job's prefix", "fn f() -> u32 { return 1u; }", "let x = f();", "let x = job0_f();" },
        text_case{ "so have variables with an address space", "var<workgroup> sums: array<f32, 4>;", "sums[0] = 1.0;", "job0_sums[0] = 1.0;" },
        text_case{ "and constants and types", "const N = 4u;\nstruct Pair { a: u32, N: u32, }", "let p = Pair(N, 1u).N;", "let p = job0_Pair(job0_N, 1u).N;" },
        text_case{ "fields keep their names", "fn a() {}\nstruct Pair { a: u32, }", "", "struct job0_Pair { a: u32, }" },
        text_case{ "parameters become a member", "", "let n = params.n;", "let n = params.job0.n;" },
        text_case{ "comments stay", "fn f() {} // f()", "", "fn job0_f() {} // f()" },
        text_case{ "local names are no one's concern", "", "let f = 1u;", "let f = 1u;" },
        text_case{ "the entry point becomes a function", "", "", "fn job0_main( wid: vec3<u32>) {" },
        text_case{ "each kernel has its groups", "", "", "group -= params.job0.groups;" }));

TEST(side_by_side, passes_on_what_an_entry_point_asks_for) {
    const std::string text = gpu::side_by_side({ kernel("", "", "@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) w: vec3<u32>"),
                                                 kernel("", "", "@builtin(num_workgroups) n: vec3<u32>, @builtin(subgroup_size) s: u32") });
    EXPECT_NE(text.find("job0_main(local_invocation_index, vec3<u32>(group, 0u, 0u), );"), std::string::npos) << text;
    EXPECT_NE(text.find("job1_main(vec3<u32>(1u), subgroup_size, );"), std::string::npos) << text;
    EXPECT_NE(text.find("@builtin(subgroup_size) subgroup_size: u32"), std::string::npos) << text;
}

static gpu::dispatch set_words(const gpu::buffer_ref & memory, uint64_t first, uint32_t words, uint32_t value) {
    gpu::dispatch d;
    d.kernel   = gpu::kernel_name("transfer/words").define("FILL").threads(64);
    d.operands = { { "dst", memory, 4 * first, 4 * uint64_t(words) } };
    d.values.add("words", words).add("value", value).add("first_mask", ~0u).add("last_mask", ~0u);
    d.groups = (words + 63) / 64;
    return d;
}

TEST(side_by_side, every_job_does_its_work_and_no_more) {
    auto       gpu  = test::device();
    const auto one  = *gpu->create_buffer(4 * 100000, "test");
    const auto two  = *gpu->create_buffer(4 * 1000, "test");
    auto       d    = set_words(one, 3, 70001, 7);
    d.beside        = { set_words(two, 1, 65, 8), set_words(one, 80000, 200, 9), set_words(two, 500, 1, 10) };
    auto made       = gpu::program::build(gpu, { d });
    ASSERT_TRUE(made.ok()) << made.why().text();
    EXPECT_EQ((*made)->size(), 1u);
    ASSERT_TRUE((*made)->submit(nullptr).ok());
    std::vector<uint32_t> found_one(100000), found_two(1000), expected_one(100000), expected_two(1000);
    ASSERT_TRUE(gpu->read({ { one, 0, found_one.data(), 400000 }, { two, 0, found_two.data(), 4000 } }).ok());
    std::fill_n(expected_one.begin() + 3, 70001, 7);
    std::fill_n(expected_one.begin() + 80000, 200, 9);
    std::fill_n(expected_two.begin() + 1, 65, 8);
    expected_two[500] = 10;
    EXPECT_EQ(found_one, expected_one);
    EXPECT_EQ(found_two, expected_two);
}
