// ggml's backend interface: streams of graphs and transfers.
#include "child.h"
#include "graph/memory.h"
#include "host.h"

#include <climits>
#include <cmath>
#include <thread>

// y = a + b, element by element.
struct addition {
    test::context_ref context = test::make_context();
    ggml_tensor *     a;
    ggml_tensor *     b;
    ggml_tensor *     y;
    ggml_cgraph *     graph;
    test::buffer_ref  memory;

    addition(ggml_backend_t on, int64_t n) {
        a     = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, n);
        b     = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, n);
        y     = ggml_add(context.get(), a, b);
        graph = ggml_new_graph(context.get());
        ggml_build_forward_expand(graph, y);
        memory.reset(ggml_backend_alloc_ctx_tensors(context.get(), on));
    }

    void set(ggml_backend_t on, float va, float vb) {
        const std::vector<float> as(a->ne[0], va), bs(b->ne[0], vb);
        ggml_backend_tensor_set_async(on, a, as.data(), 0, ggml_nbytes(a));
        ggml_backend_tensor_set_async(on, b, bs.data(), 0, ggml_nbytes(b));
    }

    std::vector<float> result(ggml_backend_t on) {
        std::vector<float> found(y->ne[0]);
        ggml_backend_tensor_get_async(on, y, found.data(), 0, ggml_nbytes(y));
        ggml_backend_synchronize(on);
        return found;
    }
};

class backend : public testing::Test {
protected:
    static test::backend_ref open() {
        return test::backend_ref(ggml_backend_dev_init(test::ggml_device(), nullptr));
    }
};

TEST_F(backend, says_what_it_is) {
    auto on = open();
    EXPECT_TRUE(ggml_backend_is_webgpu(on.get()));
    EXPECT_FALSE(ggml_backend_is_webgpu(nullptr));
    EXPECT_STREQ(ggml_backend_name(on.get()), "WebGPU0");
    EXPECT_EQ(ggml_backend_get_device(on.get()), test::ggml_device());
    EXPECT_EQ(ggml_backend_get_default_buffer_type(on.get()), ggml_backend_webgpu_buffer_type(0));
}

TEST_F(backend, computes_a_graph_again_and_again) {
    auto     on = open();
    addition sum(on.get(), 1001);
    for (int i = 0; i < 50; i++) {
        sum.set(on.get(), static_cast<float>(i), 0.5f);
        ASSERT_EQ(ggml_backend_graph_compute_async(on.get(), sum.graph), GGML_STATUS_SUCCESS);
        ASSERT_EQ(sum.result(on.get()), std::vector<float>(1001, i + 0.5f));
    }
}

// Graphs that are kept to be computed again: these are not the same, though all their tensors are.
TEST_F(backend, a_mask_is_not_taken_for_sinks) {
    auto          on      = open();
    auto          context = test::make_context();
    ggml_tensor * x       = ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, 2, 1, 2);
    ggml_tensor * values  = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 2);
    ggml_tensor * y       = ggml_soft_max_ext(context.get(), x, values, 1.0f, 0.0f);
    ggml_cgraph * graph   = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, y);
    test::buffer_ref memory(ggml_backend_alloc_ctx_tensors(context.get(), on.get()));
    const float      zeros[4] = {}, raised[2] = { std::log(3.0f), 0.0f };
    ggml_backend_tensor_set(x, zeros, 0, sizeof zeros);
    ggml_backend_tensor_set(values, raised, 0, sizeof raised);
    float found[4];

    ASSERT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get(y, found, 0, sizeof found);
    EXPECT_NEAR(found[0], 3.0f / 4, 1e-6f);

    std::swap(y->src[1], y->src[2]);
    ASSERT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get(y, found, 0, sizeof found);
    EXPECT_NEAR(found[0], 1.0f / 5, 1e-6f);
}

TEST_F(backend, a_result_that_becomes_an_output_is_written) {
    auto          on      = open();
    auto          context = test::make_context();
    ggml_tensor * x       = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 4);
    ggml_tensor * norm    = ggml_rms_norm(context.get(), x, 0.0f);
    ggml_tensor * y       = ggml_mul(context.get(), norm, x);
    ggml_cgraph * graph   = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, y);
    test::buffer_ref memory(ggml_backend_alloc_ctx_tensors(context.get(), on.get()));
    const float      twos[4] = { 2, 2, 2, 2 };
    ggml_backend_tensor_set(x, twos, 0, sizeof twos);

    ASSERT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
    ggml_set_output(norm);
    ASSERT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
    float found = 0.0f;
    ggml_backend_tensor_get(norm, &found, 0, sizeof found);
    EXPECT_NEAR(found, 1.0f, 1e-6f);
}

TEST_F(backend, a_graph_without_nodes_is_computed) {
    auto          on      = open();
    auto          context = test::make_context();
    ggml_cgraph * graph   = ggml_new_graph(context.get());
    EXPECT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
}

TEST_F(backend, a_graph_outside_its_memory_fails_with_one_log_line) {
    auto             on      = open();
    auto             context = test::make_context();
    ggml_tensor *    a       = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 10);
    ggml_tensor *    y       = ggml_add(context.get(), a, a);
    ggml_cgraph *    graph   = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, y);
    test::buffer_ref host(ggml_backend_alloc_ctx_tensors_from_buft(context.get(), ggml_backend_cpu_buffer_type()));
    {
        test::log_capture log;
        EXPECT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_FAILED);
        EXPECT_EQ(log.lines(), 1u) << log.text();
    }
    addition sum(on.get(), 10);
    sum.set(on.get(), 1, 2);
    EXPECT_EQ(ggml_backend_graph_compute(on.get(), sum.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(sum.result(on.get()), std::vector<float>(10, 3));
}

// The check runs on the GPU, so its answer comes when the host waits, and ggml's waiting returns nothing.
TEST_F(backend, a_row_index_out_of_range_is_logged_and_fails_the_next_graph_only) {
    auto             on      = open();
    auto             context = test::make_context();
    ggml_tensor *    table   = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 8, 4);
    ggml_tensor *    rows    = ggml_new_tensor_1d(context.get(), GGML_TYPE_I32, 2);
    ggml_tensor *    y       = ggml_get_rows(context.get(), table, rows);
    ggml_cgraph *    graph   = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, y);
    test::buffer_ref memory(ggml_backend_alloc_ctx_tensors(context.get(), on.get()));
    ggml_backend_buffer_clear(memory.get(), 0);

    for (int32_t bad : { 4, -1, INT32_MAX, INT32_MIN }) {
        const int32_t     wrong[] = { 3, bad }, right[] = { 3, 0 };
        test::log_capture log;
        ggml_backend_tensor_set(rows, wrong, 0, sizeof wrong);
        EXPECT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
        EXPECT_EQ(log.lines(), 1u) << log.text();
        EXPECT_NE(log.text().find("GET_ROWS"), std::string::npos) << log.text();
        ggml_backend_tensor_set(rows, right, 0, sizeof right);
        EXPECT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_FAILED);
        EXPECT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
    }
}

// Reading a result brings the answer along: it must not be lost before the host waits, nor be told twice.
TEST_F(backend, a_row_index_out_of_range_is_reported_after_the_result_was_read) {
    auto             on      = open();
    auto             context = test::make_context();
    ggml_tensor *    table   = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 8, 4);
    ggml_tensor *    rows    = ggml_new_tensor_1d(context.get(), GGML_TYPE_I32, 1);
    ggml_tensor *    y       = ggml_get_rows(context.get(), table, rows);
    ggml_cgraph *    graph   = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, y);
    test::buffer_ref memory(ggml_backend_alloc_ctx_tensors(context.get(), on.get()));
    ggml_backend_buffer_clear(memory.get(), 0);

    const int32_t     wrong = 4, right = 3;
    float             result[8];
    test::log_capture log;
    ggml_backend_tensor_set(rows, &wrong, 0, sizeof wrong);
    EXPECT_EQ(ggml_backend_graph_compute_async(on.get(), graph), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get_async(on.get(), y, result, 0, sizeof result);
    ggml_backend_tensor_get_async(on.get(), y, result, 0, sizeof result);
    EXPECT_EQ(log.lines(), 0u) << log.text();
    ggml_backend_synchronize(on.get());
    EXPECT_NE(log.text().find("GET_ROWS"), std::string::npos) << log.text();
    ggml_backend_tensor_set(rows, &right, 0, sizeof right);
    EXPECT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_FAILED);
    EXPECT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
}

TEST_F(backend, copies_between_streams_in_order) {
    auto     first = open(), second = open();
    addition from(first.get(), 100), to(second.get(), 100);
    to.set(second.get(), 0, 10);
    for (int i = 0; i < 20; i++) {
        from.set(first.get(), static_cast<float>(i), 1);
        ASSERT_EQ(ggml_backend_graph_compute_async(first.get(), from.graph), GGML_STATUS_SUCCESS);
        ggml_backend_tensor_copy_async(first.get(), second.get(), from.y, to.a);
        ASSERT_EQ(ggml_backend_graph_compute_async(second.get(), to.graph), GGML_STATUS_SUCCESS);
        ASSERT_EQ(to.result(second.get()), std::vector<float>(100, i + 11.0f));
    }
}

TEST_F(backend, copies_from_the_cpu_backends_memory) {
    ggml_backend_load_all();
    auto              on = open();
    test::backend_ref cpu(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    if (cpu == nullptr) {
        GTEST_SKIP() << "this ggml has no CPU backend loaded";
    }
    addition from(cpu.get(), 100), to(on.get(), 100);
    to.set(on.get(), 0, 10);
    from.set(cpu.get(), 1, 2);
    ASSERT_EQ(ggml_backend_graph_compute(cpu.get(), from.graph), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_copy_async(cpu.get(), on.get(), from.y, to.a);
    ASSERT_EQ(ggml_backend_graph_compute(on.get(), to.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(to.result(on.get()), std::vector<float>(100, 13));
}

TEST_F(backend, streams_of_several_threads_do_not_disturb_each_other) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; t++) {
        threads.emplace_back([t] {
            auto     on = open();
            addition sum(on.get(), 1000 + t);
            for (int i = 0; i < 40; i++) {
                sum.set(on.get(), static_cast<float>(1000 * t), static_cast<float>(i));
                ASSERT_EQ(ggml_backend_graph_compute_async(on.get(), sum.graph), GGML_STATUS_SUCCESS);
                ASSERT_EQ(sum.result(on.get()), std::vector<float>(1000 + t, 1000.0f * t + i));
            }
        });
    }
    for (std::thread & t : threads) {
        t.join();
    }
}

TEST_F(backend, opening_and_freeing_holds_nothing) {
    size_t before, now, total;
    { auto opens_the_device = open(); }
    ggml_backend_dev_memory(test::ggml_device(), &before, &total);
    for (int i = 0; i < 20; i++) {
        auto     on = open();
        addition sum(on.get(), 1000);
        sum.set(on.get(), 1, 2);
        ASSERT_EQ(ggml_backend_graph_compute(on.get(), sum.graph), GGML_STATUS_SUCCESS);
    }
    ggml_backend_dev_memory(test::ggml_device(), &now, &total);
    EXPECT_EQ(now, before);
}

TEST_F(backend, memory_may_outlive_the_stream_that_filled_it) {
    test::context_ref context = test::make_context();
    ggml_tensor *     t       = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 3);
    test::buffer_ref  memory;
    const float       data[] = { 1, 2, 3 };
    {
        auto on = open();
        memory.reset(ggml_backend_alloc_ctx_tensors(context.get(), on.get()));
        ggml_backend_tensor_set_async(on.get(), t, data, 0, sizeof data);
    }
    float found[3] = {};
    ggml_backend_tensor_get(t, found, 0, sizeof found);
    EXPECT_TRUE(std::equal(data, data + 3, found));
}

// ggml's transfers return nothing, so a failed one is logged and makes the graphs after it fail.
TEST(child, DISABLED_loses_its_device) {
    test::backend_ref on(ggml_backend_dev_init(test::ggml_device(), nullptr));
    addition          sum(on.get(), 1001);
    sum.set(on.get(), 1, 2);
    ASSERT_EQ(ggml_backend_graph_compute(on.get(), sum.graph), GGML_STATUS_SUCCESS);
    std::fprintf(stderr, "the device goes\n");
    gpu::wgpu().DeviceDestroy(graph::memory_of(sum.y)->owner().handle());
    for (int i = 0; i < 3; i++) {
        sum.set(on.get(), 1, 2);
        sum.result(on.get());
        EXPECT_NE(ggml_backend_graph_compute(on.get(), sum.graph), GGML_STATUS_SUCCESS);
    }
    EXPECT_EQ(test::buffer_ref(ggml_backend_alloc_buffer(on.get(), 1000)), nullptr);
}

TEST_F(backend, a_lost_device_fails_what_follows_and_the_host_lives) {
    const std::string output = test::run_child("child.DISABLED_loses_its_device", "LC_ALL=C");
    EXPECT_NE(output.find("ended well"), std::string::npos) << output;
    const std::string after = output.substr(std::min(output.size(), output.find("the device goes")));
    EXPECT_EQ(test::count_of(after, "graph not computed"), 3u) << output;
    EXPECT_LE(test::count_of(after, " lost"), 6u) << output;
}
