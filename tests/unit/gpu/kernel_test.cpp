// WebGPU's binding rules: aligned offsets, no two bindings of one range, a limit to their size.
#include "gpu/kernel.h"

#include "../environment.h"
#include "gpu/program.h"

#include <gtest/gtest.h>

struct range {
    int      memory;  // which buffer
    uint64_t offset;
    uint64_t size;
};

struct binding_case {
    const char *       promise;
    std::vector<range> operands;
    std::vector<range> bindings;
    std::vector<uint32_t> slot;
    std::vector<uint32_t> residual;
};

class bindings : public testing::TestWithParam<binding_case> {
protected:
    static gpu::capabilities caps() {
        gpu::capabilities c;
        c.storage_alignment = 256;
        c.max_binding       = 1 << 16;
        return c;
    }
};

TEST_P(bindings, follow_the_rules) {
    const auto &    c = GetParam();
    gpu::buffer_ref memory[2];
    for (auto & m : memory) {
        auto made = test::device()->create_buffer(1 << 18, "test");
        ASSERT_TRUE(made.ok());
        m = *made;
    }
    std::vector<gpu::operand> operands;
    for (const range & r : c.operands) {
        operands.push_back({ "x", memory[r.memory], r.offset, r.size });
    }
    auto plan = gpu::plan_bindings(operands, caps());
    ASSERT_TRUE(plan.ok()) << c.promise << ": " << plan.why().text();
    ASSERT_EQ(plan->bindings.size(), c.bindings.size()) << c.promise;
    for (size_t i = 0; i < c.bindings.size(); i++) {
        EXPECT_EQ(plan->bindings[i].memory, memory[c.bindings[i].memory]) << c.promise;
        EXPECT_EQ(plan->bindings[i].offset, c.bindings[i].offset) << c.promise;
        EXPECT_EQ(plan->bindings[i].size, c.bindings[i].size) << c.promise;
    }
    EXPECT_EQ(plan->slot, c.slot) << c.promise;
    EXPECT_EQ(plan->residual, c.residual) << c.promise;
}

INSTANTIATE_TEST_SUITE_P(
    cases, bindings,
    testing::Values(
        binding_case{ "apart stays apart", { { 0, 0, 64 }, { 0, 256, 64 } }, { { 0, 0, 64 }, { 0, 256, 64 } }, { 0, 1 }, { 0, 0 } },
        binding_case{ "an offset is aligned down, the rest goes to the shader", { { 0, 300, 20 } }, { { 0, 256, 64 } }, { 0 }, { 44 } },
        binding_case{ "sizes are whole 16 bytes", { { 0, 0, 1 }, { 1, 512, 17 } }, { { 0, 0, 16 }, { 1, 512, 32 } }, { 0, 1 }, { 0, 0 } },
        binding_case{ "the same tensor twice is one binding", { { 0, 256, 64 }, { 0, 256, 64 } }, { { 0, 256, 64 } }, { 0, 0 }, { 0, 0 } },
        binding_case{ "two views that overlap are one", { { 0, 0, 1000 }, { 0, 512, 1024 } }, { { 0, 0, 1536 } }, { 0, 0 }, { 0, 512 } },
        binding_case{ "overlap by alignment alone counts", { { 0, 0, 300 }, { 0, 400, 16 } }, { { 0, 0, 416 } }, { 0, 0 }, { 0, 400 } },
        binding_case{ "touching ranges do not overlap", { { 0, 0, 256 }, { 0, 256, 256 } }, { { 0, 0, 256 }, { 0, 256, 256 } }, { 0, 1 }, { 0, 0 } },
        binding_case{ "equal offsets of two buffers do not overlap", { { 0, 0, 64 }, { 1, 0, 64 } }, { { 0, 0, 64 }, { 1, 0, 64 } }, { 0, 1 }, { 0, 0 } },
        binding_case{ "a merged range can reach a third", { { 0, 0, 300 }, { 0, 1024, 64 }, { 0, 256, 800 } }, { { 0, 0, 1088 } }, { 0, 0, 0 }, { 0, 1024, 256 } },
        binding_case{ "slots behind a merged one move up", { { 0, 0, 64 }, { 0, 0, 64 }, { 1, 0, 64 } }, { { 0, 0, 64 }, { 1, 0, 64 } }, { 0, 0, 1 }, { 0, 0, 0 } },
        binding_case{ "the last bytes of a buffer", { { 0, (1 << 18) - 2, 2 } }, { { 0, (1 << 18) - 256, 256 } }, { 0 }, { 254 } }));

TEST(binding, larger_than_the_limit_is_refused_with_both_numbers) {
    gpu::capabilities caps;
    caps.max_binding = 1 << 16;
    auto memory      = test::device()->create_buffer(1 << 18, "test");
    ASSERT_TRUE(memory.ok());
    EXPECT_TRUE(gpu::plan_bindings({ { "x", *memory, 0, 1 << 16 } }, caps).ok());
    auto plan = gpu::plan_bindings({ { "x", *memory, 0, 40000 }, { "y", *memory, 39000, 40000 } }, caps);
    ASSERT_FALSE(plan.ok());
    EXPECT_NE(plan.why().text().find("65536"), std::string::npos) << plan.why().text();
}

TEST(binding, one_needs_atomics_then_all_that_share_it_do) {
    gpu::capabilities caps;
    caps.max_binding = 1 << 16;
    auto memory      = test::device()->create_buffer(4096, "test");
    ASSERT_TRUE(memory.ok());
    gpu::operand wide{ "x", *memory, 0, 1024, "f32", true, false }, atomic{ "y", *memory, 512, 1024, "f16", false, true };
    auto         plan = gpu::plan_bindings({ wide, atomic }, caps);
    ASSERT_TRUE(plan.ok());
    ASSERT_EQ(plan->bindings.size(), 1u);
    EXPECT_TRUE(plan->bindings[0].atomic);
    EXPECT_FALSE(plan->bindings[0].wide);
}

TEST(bindings, are_floats_only_for_operands_that_all_are) {
    auto memory = test::device()->create_buffer(1 << 12, "test");
    ASSERT_TRUE(memory.ok());
    gpu::operand floats{ "a", *memory, 0, 256 }, words{ "b", *memory, 128, 256 };
    floats.floats = true;
    gpu::capabilities caps;
    EXPECT_TRUE(gpu::plan_bindings({ floats }, caps)->bindings[0].floats);
    EXPECT_FALSE(gpu::plan_bindings({ floats, words }, caps)->bindings[0].floats);
}

TEST(bindings, of_neighbours_become_one_where_the_device_has_too_few) {
    gpu::capabilities caps;
    caps.storage_alignment   = 256;
    caps.max_binding         = 1 << 16;
    caps.max_storage_buffers = 2;
    auto memory = test::device()->create_buffer(1 << 17, "test");
    ASSERT_TRUE(memory.ok());
    auto plan = gpu::plan_bindings({ { "far", *memory, 0, 64 }, { "near", *memory, 50000, 64 }, { "nearest", *memory, 51200, 64 } }, caps);
    ASSERT_TRUE(plan.ok()) << plan.why().text();
    EXPECT_EQ(plan->slot, (std::vector<uint32_t>{ 0, 1, 1 }));
    EXPECT_EQ(plan->residual, (std::vector<uint32_t>{ 0, 50000 % 256, 51200 - 50000 / 256 * 256 }));

    caps.max_binding = 512;
    EXPECT_FALSE(gpu::plan_bindings({ { "a", *memory, 0, 64 }, { "b", *memory, 10240, 64 }, { "c", *memory, 20480, 64 } }, caps).ok());
}

static gpu::dispatch fill_words(const gpu::buffer_ref & memory, uint32_t words, uint32_t value) {
    gpu::dispatch d;
    d.kernel   = gpu::kernel_name("transfer/words").define("FILL").threads(64);
    d.operands = { { "dst", memory, 0, 4 * uint64_t(words) } };
    d.values.add("words", words).add("value", value).add("first_mask", ~0u).add("last_mask", ~0u);
    d.groups = (words + 63) / 64;
    d.label  = "test";
    return d;
}

TEST(kernel, a_name_with_the_same_defines_is_compiled_once) {
    auto gpu    = test::device();
    auto memory = gpu->create_buffer(4096, "test");
    ASSERT_TRUE(memory.ok());
    const gpu::dispatch a = fill_words(*memory, 64, 1), b = fill_words(*memory, 128, 2);
    auto                plan = gpu::plan_bindings(a.operands, gpu->caps());
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(gpu->kernels().request(a, *plan), gpu->kernels().request(b, *plan));
}

TEST(kernel, one_that_does_not_compile_says_so_and_leaves_the_device_well) {
    auto gpu    = test::device();
    auto memory = gpu->create_buffer(4096, "test");
    ASSERT_TRUE(memory.ok());
    gpu::dispatch d = fill_words(*memory, 64, 1);
    d.kernel.threads(1 << 20);  // more than any device runs
    auto made = gpu::program::build(gpu, { d });
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.why().text().find("transfer/words"), std::string::npos) << made.why().text();
    EXPECT_TRUE(gpu->health().ok()) << gpu->health().text();
}

TEST(kernel, a_missing_shader_says_so) {
    auto gpu    = test::device();
    auto memory = gpu->create_buffer(4096, "test");
    ASSERT_TRUE(memory.ok());
    gpu::dispatch d = fill_words(*memory, 64, 1);
    d.kernel        = gpu::kernel_name("transfer/nothing").threads(64);
    auto made       = gpu::program::build(gpu, { d });
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.why().text().find("transfer/nothing"), std::string::npos) << made.why().text();
}

TEST(kernel, with_matrices_has_its_workgroup_variables_checked) {
    auto memory = test::device()->create_buffer(4096, "test");
    ASSERT_TRUE(memory.ok());
    // A kernel with a workgroup variable of four bytes.
    gpu::dispatch d;
    d.operands = { { "ids", *memory, 0, 256 }, { "routes", *memory, 1024, 256 }, { "fault", *memory, 2048, 4 } };
    auto plan  = gpu::plan_bindings(d.operands, test::device()->caps());
    ASSERT_TRUE(plan.ok());
    for (const bool with_matrices : { false, true }) {
        d.kernel = gpu::kernel_name("matmul/route").threads(64);
        if (with_matrices) {
            d.kernel.define("USES_MATRIX");
        }
        auto text = gpu::compose_kernel(d, *plan, test::device()->caps());
        ASSERT_TRUE(text.ok()) << text.why().text();
        EXPECT_EQ(text->find("const_assert false") != std::string::npos, with_matrices);
    }
}
