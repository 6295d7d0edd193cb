#include "gpu/program.h"

#include "../environment.h"

#include <algorithm>
#include <gtest/gtest.h>

static gpu::dispatch set_words(const gpu::buffer_ref & memory, uint64_t first, uint32_t words, uint32_t value, uint32_t threads) {
    gpu::dispatch d;
    d.kernel   = gpu::kernel_name("transfer/words").define("FILL").threads(threads);
    d.operands = { { "dst", memory, 4 * first, 4 * uint64_t(words) } };
    d.values.add("words", words).add("value", value).add("first_mask", ~0u).add("last_mask", ~0u);
    d.groups = (words + threads - 1) / threads;
    d.label  = "test";
    return d;
}

class program : public testing::Test {
protected:
    gpu::buffer_ref memory(uint64_t words) {
        auto made = gpu_->create_buffer(4 * words, "test");
        EXPECT_TRUE(made.ok()) << made.why().text();
        return *made;
    }

    std::vector<uint32_t> words_of(const gpu::buffer_ref & from, size_t n) {
        std::vector<uint32_t> found(n);
        const gpu::status     s = gpu_->read(from, 0, found.data(), 4 * n);
        EXPECT_TRUE(s.ok()) << s.text();
        return found;
    }

    std::shared_ptr<gpu::device> gpu_ = test::device();
};

TEST_F(program, a_grid_of_more_than_65535_groups_reaches_every_word) {
    const uint32_t words = 16 * 65535 * 2 + 17;  // two full rows of groups and a partial one
    auto           m     = memory(words + 1);
    auto           made  = gpu::program::build(gpu_, { set_words(m, 0, words, 77, 16) });
    ASSERT_TRUE(made.ok()) << made.why().text();
    ASSERT_TRUE((*made)->submit(nullptr).ok());
    const auto found = words_of(m, words + 1);
    EXPECT_EQ(std::count(found.begin(), found.end(), 77u), words);
    EXPECT_EQ(found.back(), 0u);
}

TEST_F(program, runs_its_dispatches_in_order_and_again) {
    auto                       m = memory(64);
    std::vector<gpu::dispatch> dispatches;
    for (uint32_t i = 0; i < 300; i++) {
        dispatches.push_back(set_words(m, i % 8, 8, i, 64));
    }
    auto made = gpu::program::build(gpu_, dispatches);
    ASSERT_TRUE(made.ok()) << made.why().text();
    EXPECT_EQ((*made)->size(), 300u);

    std::vector<uint32_t> expected(64);
    for (uint32_t i = 0; i < 300; i++) {
        std::fill_n(expected.begin() + i % 8, 8, i);
    }
    for (int run = 0; run < 3; run++) {
        ASSERT_TRUE(gpu_->fill(m, 0, 0, 4 * 64).ok());
        ASSERT_TRUE((*made)->submit(nullptr).ok());
        EXPECT_EQ(words_of(m, 64), expected);
    }
}

TEST_F(program, runs_while_it_is_made_and_again) {
    constexpr uint32_t    parts = 5, of_part = 70;  // their parameters fill more than one buffer
    auto                  m = memory(64);
    gpu::program          made(gpu_);
    std::vector<uint32_t> expected(64);
    for (uint32_t part = 0; part < parts; part++) {
        std::vector<gpu::dispatch> dispatches;
        for (uint32_t i = part * of_part; i < (part + 1) * of_part; i++) {
            dispatches.push_back(set_words(m, i % 8, 8, i, 64));
            std::fill_n(expected.begin() + i % 8, 8, i);
        }
        ASSERT_TRUE(made.add(std::move(dispatches)).ok());
        ASSERT_TRUE(made.submit_added().ok());
        EXPECT_TRUE(made.is_compiled());
        EXPECT_EQ(words_of(m, 64), expected) << "after part " << part;
    }
    EXPECT_EQ(made.size(), parts * of_part);
    ASSERT_TRUE(gpu_->fill(m, 0, 0, 4 * 64).ok());
    ASSERT_TRUE(made.submit_added().ok());  // nothing is new
    EXPECT_EQ(words_of(m, 64), std::vector<uint32_t>(64));
    ASSERT_TRUE(made.submit(nullptr).ok());
    EXPECT_EQ(words_of(m, 64), expected);
}

TEST_F(program, a_dispatch_without_groups_is_left_out) {
    auto m    = memory(64);
    auto none = set_words(m, 0, 64, 1, 64);
    none.groups = 0;
    auto made = gpu::program::build(gpu_, { none });
    ASSERT_TRUE(made.ok());
    EXPECT_EQ((*made)->size(), 0u);
    EXPECT_TRUE((*made)->submit(nullptr).ok());
}

TEST_F(program, more_groups_than_the_grid_holds_are_refused) {
    auto m    = memory(64);
    auto huge = set_words(m, 0, 64, 1, 64);
    huge.groups = uint64_t(1) << 33;
    auto made = gpu::program::build(gpu_, { huge });
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.why().text().find("workgroups"), std::string::npos) << made.why().text();
}

TEST_F(program, may_be_freed_while_it_runs) {
    auto m = memory(1 << 20);
    for (uint32_t i = 1; i <= 20; i++) {
        auto made = gpu::program::build(gpu_, { set_words(m, 0, 1 << 20, i, 64) });
        ASSERT_TRUE(made.ok());
        ASSERT_TRUE((*made)->submit(nullptr).ok());
    }
    const auto found = words_of(m, 1 << 20);
    EXPECT_EQ(std::count(found.begin(), found.end(), 20u), 1 << 20);
}
