#include "gpu/wgsl.h"

#include <cctype>
#include <gtest/gtest.h>

static std::string squeezed(const std::string & text) {
    std::string result;
    for (char c : text) {
        if (!std::isspace(static_cast<unsigned char>(c))) {
            result += c;
        }
    }
    return result;
}

struct expansion {
    const char * promise;
    const char * text;
    const char * expected;  // without white space
};

class wgsl_expands : public testing::TestWithParam<expansion> {};

TEST_P(wgsl_expands, text) {
    const auto & c    = GetParam();
    auto         made = gpu::expand_text("test", c.text, { { "ONE", "1" }, { "FOUR", "4" }, { "NAME", "value" } });
    ASSERT_TRUE(made.ok()) << c.promise << ": " << made.why().text();
    EXPECT_EQ(squeezed(*made), c.expected) << c.promise;
}

INSTANTIATE_TEST_SUITE_P(
    rules, wgsl_expands,
    testing::Values(
        expansion{ "a given define is replaced as a whole word", "NAME NAMES xNAME\n", "valueNAMESxNAME" },
        expansion{ "a later define wins from its line on", "A\n#define A 3\nA\n", "A3" },
        expansion{ "defines may use defines", "#define A FOUR\n#define B A\nB\n", "4" },
        expansion{ "a define that names itself ends", "#define A A\nx\n", "x" },
        expansion{ "comments are dropped and not expanded", "x // NAME\n", "x" },
        expansion{ "#if takes the first true branch", "#if ONE == 2\na\n#elif ONE == 1\nb\n#elif 1\nc\n#else\nd\n#endif\n", "b" },
        expansion{ "#else when nothing is true", "#if 0\na\n#elif ONE - 1\nb\n#else\nd\n#endif\n", "d" },
        expansion{ "an unknown name counts 0", "#if UNKNOWN\na\n#else\nb\n#endif\n", "b" },
        expansion{ "a skipped branch is not looked into", "#if 0\n#error no\n#if 1\na\n#endif\n#include \"none.wgsl\"\n#endif\nb\n", "b" },
        expansion{ "conditions nest", "#if 1\n#if 0\na\n#else\nb\n#endif\n#endif\n", "b" },
        expansion{ "defined() asks for a name", "#if defined(ONE) && !defined(TWO)\na\n#endif\n", "a" },
        expansion{ "* before +, + before <, < before &&", "#if 1 + 2 * 3 == 7 && 2 + 2 < 5\na\n#endif\n", "a" },
        expansion{ "- and / go left to right", "#if 10 - 3 - 2 == 5 && 100 / 5 / 2 == 10\na\n#endif\n", "a" },
        expansion{ "parentheses", "#if (1 + 2) * FOUR == 12\na\n#endif\n", "a" },
        expansion{ "|| after &&", "#if 1 || 0 && 0\na\n#endif\n", "a" },
        expansion{ "shifts come after sums, before comparisons", "#if 1 << 2 + 1 == 8 && 8 >> 2 < FOUR\na\n#endif\n", "a" },
        expansion{ "<= and >= are not < and >", "#if 4 <= FOUR && 4 >= FOUR && !(4 < FOUR)\na\n#endif\n", "a" }));

TEST(wgsl, a_file_is_included_under_several_names) {
    auto made = gpu::expand_text("test", "#include \"codecs/{t}.wgsl\" as a\n#include \"codecs/{t}.wgsl\" as b\n", { { "t", "f32" } });
    ASSERT_TRUE(made.ok()) << made.why().text();
    EXPECT_NE(made->find("fn a_value"), std::string::npos);
    EXPECT_NE(made->find("fn b_value"), std::string::npos);
    EXPECT_EQ(made->find("self"), std::string::npos);
}

TEST(wgsl, a_file_without_a_name_is_included_once) {
    auto made = gpu::expand_text("test", "#include \"lib/grid.wgsl\"\n#include \"lib/grid.wgsl\"\n", {});
    ASSERT_TRUE(made.ok()) << made.why().text();
    const size_t first = made->find("fn group_index");
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ(made->find("fn group_index", first + 1), std::string::npos);
}

struct refusal {
    const char * text;
    const char * says;
};

class wgsl_refuses : public testing::TestWithParam<refusal> {};

TEST_P(wgsl_refuses, text_naming_file_and_line) {
    const auto & c    = GetParam();
    auto         made = gpu::expand_text("some/file", c.text, {});
    ASSERT_FALSE(made.ok()) << *made;
    EXPECT_NE(made.why().text().find("some/file"), std::string::npos) << made.why().text();
    EXPECT_NE(made.why().text().find(c.says), std::string::npos) << made.why().text();
}

INSTANTIATE_TEST_SUITE_P(mistakes, wgsl_refuses,
                         testing::Values(refusal{ "x\n#error not this way\n", "not this way" }, refusal{ "x\n#error y\n", "2" },
                                         refusal{ "#if 1\nx\n", "#if" }, refusal{ "#endif\n", "" }, refusal{ "#else\n", "" },
                                         refusal{ "#if (1\nx\n#endif\n", "" }, refusal{ "#if 1 +\nx\n#endif\n", "" },
                                         refusal{ "#include \"codecs/{unknown}.wgsl\" as a\n", "unknown" }, refusal{ "#unheard\n", "" }));

TEST(wgsl, a_missing_file_is_named) {
    auto made = gpu::expand_text("some/file", "#include \"no/such.wgsl\"\n", {});
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.why().text().find("no/such.wgsl"), std::string::npos) << made.why().text();
}

// A variable behind one of 12 bytes moved matrices to an address that NVIDIA's driver does not load them from.
TEST(wgsl, workgroup_variables_of_kernels_with_matrices_have_whole_16_bytes) {
    const auto asserted = [](const char * type) {
        const std::string text = gpu::assert_whole_quads(std::string("var<workgroup> x: ") + type + ";\n");
        return text.substr(0, text.find("  //"));
    };
    EXPECT_EQ(asserted("array<f16, N * (M + 8u)>"), "const_assert (N * (M + 8u)) * 2 % 16 == 0;");
    EXPECT_EQ(asserted("array<u32, 3>"), "const_assert (3) * 4 % 16 == 0;");
    EXPECT_EQ(asserted("u32"), "const_assert (1) * 4 % 16 == 0;");
    EXPECT_EQ(asserted("vec4<u32>"), "const_assert (1) * 16 % 16 == 0;");
    EXPECT_EQ(asserted("Tile"), "const_assert false;");
    EXPECT_EQ(asserted("array<atomic<u32>, 4>"), "const_assert false;");
    EXPECT_EQ(gpu::assert_whole_quads("var<private> x: u32;\nfn f() { var y: u32; }\n"), "");
}
