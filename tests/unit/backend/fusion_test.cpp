// What test-fusion asks for by name.
#include "host.h"

#include <map>

struct fusion_functions {
    void * (*get)(ggml_backend_dev_t);
    void (*set_enabled)(void *, bool);
    void (*stats_init)(void *);
    void (*stats_reset)(void *);
    int (*stats_get)(void *, const char **, uint64_t *, int);
};

template <typename F> static void look_up(F & function, const char * name) {
    function = reinterpret_cast<F>(ggml_backend_reg_get_proc_address(ggml_backend_webgpu_reg(), name));
    ASSERT_NE(function, nullptr) << name;
}

class fusion : public testing::Test {
protected:
    fusion_functions  api;
    void *            of     = nullptr;
    test::backend_ref on     = test::backend_ref(ggml_backend_dev_init(test::ggml_device(), nullptr));
    test::context_ref memory = test::make_context();
    ggml_tensor *     y      = nullptr;
    ggml_cgraph *     graph  = nullptr;
    test::buffer_ref  buffer;

    void SetUp() override {
        look_up(api.get, "ggml_backend_fusion_get");
        look_up(api.set_enabled, "ggml_backend_fusion_set_enabled");
        look_up(api.stats_init, "ggml_backend_fusion_stats_init");
        look_up(api.stats_reset, "ggml_backend_fusion_stats_reset");
        look_up(api.stats_get, "ggml_backend_fusion_stats_get");
        of = api.get(test::ggml_device());
        api.stats_init(of);

        ggml_tensor * x      = ggml_new_tensor_2d(memory.get(), GGML_TYPE_F32, 64, 3);
        ggml_tensor * weight = ggml_new_tensor_1d(memory.get(), GGML_TYPE_F32, 64);
        y                    = ggml_mul(memory.get(), ggml_rms_norm(memory.get(), x, 0.0f), weight);
        graph                = ggml_new_graph(memory.get());
        ggml_build_forward_expand(graph, y);
        buffer.reset(ggml_backend_alloc_ctx_tensors(memory.get(), on.get()));
        const std::vector<float> twos(64 * 3, 2.0f);
        ggml_backend_tensor_set(x, twos.data(), 0, ggml_nbytes(x));
        ggml_backend_tensor_set(weight, twos.data(), 0, ggml_nbytes(weight));
    }

    void TearDown() override { api.set_enabled(of, true); }

    std::map<std::string, uint64_t> counts() {
        const int                 n = api.stats_get(of, nullptr, nullptr, 0);
        std::vector<const char *> labels(n);
        std::vector<uint64_t>     counted(n);
        EXPECT_EQ(api.stats_get(of, labels.data(), counted.data(), n), n);
        std::map<std::string, uint64_t> named;
        for (int i = 0; i < n; i++) {
            named[labels[i]] = counted[i];
        }
        return named;
    }

    void compute() {
        ASSERT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
        std::vector<float> found(64 * 3);
        ggml_backend_tensor_get(y, found.data(), 0, ggml_nbytes(y));
        EXPECT_EQ(found, std::vector<float>(64 * 3, 2.0f));
    }
};

TEST_F(fusion, is_counted_each_time_that_a_graph_is_computed) {
    for (int i = 0; i < 3; i++) {
        compute();
    }
    EXPECT_EQ(counts()["RMS_NORM+MUL"], 3u);
    api.stats_reset(of);
    EXPECT_EQ(counts()["RMS_NORM+MUL"], 0u);
}

TEST_F(fusion, can_be_switched_off_and_on_for_a_graph_that_was_computed) {
    compute();
    api.set_enabled(of, false);
    compute();
    EXPECT_EQ(counts()["RMS_NORM+MUL"], 1u);
    api.set_enabled(of, true);
    compute();
    EXPECT_EQ(counts()["RMS_NORM+MUL"], 2u);
}
