#include "gpu/device.h"

#include "../environment.h"

#include <gtest/gtest.h>
#include <thread>

TEST(device, freed_memory_is_given_back) {
    auto           gpu    = test::device();
    const uint64_t before = gpu->allocated();
    size_t         first  = 0;
    for (int i = 0; i < 10000; i++) {
        auto memory = gpu->create_buffer(1 + 4096 * (i % 16), "test");
        ASSERT_TRUE(memory.ok()) << memory.why().text();
        if (i == 1000) {
            first = test::resident_bytes();
        }
    }
    EXPECT_EQ(gpu->allocated(), before);
    EXPECT_LT(test::resident_bytes(), first + (16u << 20));
}

TEST(device, memory_is_counted_while_it_is_held) {
    auto           gpu    = test::device();
    const uint64_t before = gpu->allocated();
    {
        auto memory = gpu->create_buffer(1000, "test");
        ASSERT_TRUE(memory.ok());
        EXPECT_EQ(gpu->allocated(), before + 1024);
        EXPECT_EQ((*memory)->size(), 1000u);
    }
    EXPECT_EQ(gpu->allocated(), before);
}

TEST(device, an_impossible_allocation_says_how_much_and_leaves_the_device_well) {
    auto gpu    = test::device();
    auto memory = gpu->create_buffer(uint64_t(1) << 50, "a dream");
    ASSERT_FALSE(memory.ok());
    EXPECT_NE(memory.why().text().find("1125899906842624"), std::string::npos) << memory.why().text();
    EXPECT_NE(memory.why().text().find("a dream"), std::string::npos) << memory.why().text();
    EXPECT_TRUE(gpu->health().ok());
    EXPECT_TRUE(gpu->create_buffer(1000, "test").ok());
}

TEST(device, a_point_in_the_queue_can_be_waited_for) {
    auto gpu    = test::device();
    auto memory = gpu->create_buffer(1000, "test");
    ASSERT_TRUE(memory.ok());
    const uint64_t before = gpu->submitted();
    ASSERT_TRUE(gpu->fill(*memory, 1, 3, 5).ok());
    EXPECT_GT(gpu->submitted(), before);
    EXPECT_TRUE(gpu->wait(before).ok());
    EXPECT_TRUE(gpu->wait(gpu->submitted()).ok());
    EXPECT_TRUE(gpu->wait(gpu->submitted() + 1000).ok());
}

TEST(device, threads_share_it) {
    auto                     gpu = test::device();
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; t++) {
        threads.emplace_back([&gpu, t] {
            for (int i = 0; i < 60; i++) {
                const size_t size   = 500 + 37 * t + i;
                auto         memory = gpu->create_buffer(size, "test");
                ASSERT_TRUE(memory.ok()) << memory.why().text();
                const uint8_t value = static_cast<uint8_t>(16 * t + i);
                ASSERT_TRUE(gpu->fill(*memory, 1, value, size - 2).ok());
                ASSERT_TRUE(gpu->write(*memory, 7, &value, 1).ok());
                std::vector<uint8_t> found(size - 2);
                ASSERT_TRUE(gpu->read(*memory, 1, found.data(), found.size()).ok());
                ASSERT_EQ(found, std::vector<uint8_t>(size - 2, value));
            }
        });
    }
    for (std::thread & t : threads) {
        t.join();
    }
    EXPECT_TRUE(gpu->health().ok()) << gpu->health().text();
}

// Without a device to itself, a lost one would end the other tests.
static std::shared_ptr<gpu::device> another_device() {
    auto user = gpu::read_settings();
    EXPECT_TRUE(user.ok());
    auto adapters = gpu::find_adapters(*user);
    EXPECT_TRUE(adapters.ok());
    auto made = gpu::device::open(adapters->front(), *user);
    EXPECT_TRUE(made.ok()) << made.why().text();
    return *made;
}

TEST(device, a_lost_one_answers_every_call_with_a_failure) {
    auto gpu    = another_device();
    auto memory = gpu->create_buffer(1000, "test");
    ASSERT_TRUE(memory.ok());
    ASSERT_TRUE(gpu->fill(*memory, 1, 3, 5).ok());
    gpu::wgpu().DeviceDestroy(gpu->handle());
    uint8_t byte = 0;
    EXPECT_FALSE(gpu->read(*memory, 0, &byte, 1).ok());
    EXPECT_FALSE(gpu->health().ok());
    EXPECT_FALSE(gpu->write(*memory, 0, &byte, 1).ok());
    EXPECT_FALSE(gpu->fill(*memory, 1, 3, 5).ok());
    EXPECT_FALSE(gpu->copy(*memory, 0, *memory, 100, 4).ok());
    EXPECT_FALSE(gpu->create_buffer(1000, "test").ok());
    EXPECT_FALSE(gpu->wait_idle().ok());
}

// What the kernels are chosen by is what the implementation enforces.
TEST(device, of_webgpus_default_limits_has_no_more) {
    test::scoped_variable     limits("GGML_WEBGPU_LIMITS", "webgpu-default"), no_binding_limit("GGML_WEBGPU_MAX_BINDING", nullptr);
    auto                      gpu  = another_device();
    const gpu::capabilities & caps = gpu->caps();
    WGPULimits                of   = {};
    gpu::wgpu().DeviceGetLimits(gpu->handle(), &of);
    EXPECT_EQ(caps.max_buffer, of.maxBufferSize);
    EXPECT_EQ(caps.max_binding, of.maxStorageBufferBindingSize);
    EXPECT_EQ(caps.storage_alignment, of.minStorageBufferOffsetAlignment);
    EXPECT_EQ(caps.uniform_alignment, of.minUniformBufferOffsetAlignment);
    EXPECT_EQ(caps.max_threads, of.maxComputeInvocationsPerWorkgroup);
    EXPECT_EQ(caps.max_threads, of.maxComputeWorkgroupSizeX);
    EXPECT_EQ(caps.workgroup_memory, of.maxComputeWorkgroupStorageSize);
    EXPECT_EQ(caps.max_groups, of.maxComputeWorkgroupsPerDimension);
    EXPECT_EQ(caps.max_storage_buffers, of.maxStorageBuffersPerShaderStage);
    EXPECT_EQ(caps.storage_alignment, 256u);
    EXPECT_EQ(caps.workgroup_memory, 16384u);
}

TEST(device, opening_and_closing_gives_all_back) {
    test::device();
    size_t first = 0;
    for (int i = 0; i < 30; i++) {
        auto gpu    = another_device();
        auto memory = gpu->create_buffer(1000, "test");
        ASSERT_TRUE(memory.ok());
        ASSERT_TRUE(gpu->fill(*memory, 1, 3, 5).ok());
        if (i == 10) {
            first = test::resident_bytes();
        }
    }
    EXPECT_LT(test::resident_bytes(), first + (16u << 20));
}

// Only devices with a GPU of their own are watched near the usual time, so here the wait is asked for itself.
TEST(waiting, ends_with_the_work_whatever_its_usual_time) {
    auto gpu = test::device();
    for (const std::chrono::nanoseconds usual : { std::chrono::nanoseconds(0), std::chrono::nanoseconds(1), std::chrono::nanoseconds(1'000'000),
                                                  std::chrono::nanoseconds(3'600'000'000'000) }) {
        std::atomic<bool>             done     = false;
        WGPUPopErrorScopeCallbackInfo callback = {};
        callback.mode      = gpu::device::callback_mode();
        callback.userdata1 = &done;
        callback.callback  = [](WGPUPopErrorScopeStatus, WGPUErrorType, WGPUStringView, void * user, void *) { *static_cast<std::atomic<bool> *>(user) = true; };
        gpu::wgpu().DevicePushErrorScope(gpu->handle(), WGPUErrorFilter_Validation);
        EXPECT_TRUE(gpu::wait_for(gpu::wgpu().DevicePopErrorScope(gpu->handle(), callback), done, gpu->handle(), usual));
        EXPECT_TRUE(done);
    }
}
