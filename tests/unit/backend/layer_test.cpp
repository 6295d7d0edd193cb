// A layer as language models have it: with everything fused and side by side it gives what it gives node by node.
#include "host.h"

#include "graph/order.h"

#include <cmath>
#include <cstring>
#include <ggml-impl.h>
#include <random>

struct layer_case {
    const char * promise;
    int64_t      tokens;
    ggml_type    weights, values;  // of V's and the down product's
    bool         q_and_k_normed;
};

class layer : public testing::TestWithParam<layer_case> {
protected:
    static constexpr int64_t width = 256, head = 64, heads = 4, kv_heads = 2, inner = 512, cells = 64, first_cell = 5;

    ggml_tensor * leaf(ggml_type type, int64_t ne0, int64_t ne1 = 1, int64_t ne2 = 1) {
        leaves.push_back(ggml_new_tensor_3d(ctx, type, ne0, ne1, ne2));
        return leaves.back();
    }
    ggml_tensor * product(ggml_type type, ggml_tensor * x, int64_t rows) { return ggml_mul_mat(ctx, leaf(type, x->ne[0], rows), x); }
    ggml_tensor * norm(ggml_tensor * x) { return ggml_mul(ctx, ggml_rms_norm(ctx, x, 1e-5f), leaf(GGML_TYPE_F32, x->ne[0])); }
    ggml_tensor * by_heads(ggml_tensor * x, int64_t n) { return ggml_reshape_3d(ctx, x, head, n, x->ne[1]); }
    ggml_tensor * rotated(ggml_tensor * x) {
        return ggml_rope_ext(ctx, GetParam().q_and_k_normed ? norm(x) : x, positions, nullptr, head, GGML_ROPE_TYPE_NEOX, 0, 1e4f, 1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
    }
    ggml_tensor * cached(ggml_tensor * cache) { return ggml_permute(ctx, ggml_reshape_3d(ctx, cache, head, kv_heads, cells), 0, 2, 1, 3); }

    void build(ggml_cgraph * graph) {
        const layer_case & c = GetParam();
        positions            = leaf(GGML_TYPE_I32, c.tokens);
        rows                 = leaf(GGML_TYPE_I64, c.tokens);
        k_cache              = leaf(GGML_TYPE_F16, head * kv_heads, cells);
        v_cache              = leaf(GGML_TYPE_F16, head * kv_heads, cells);
        ggml_tensor * x      = leaf(GGML_TYPE_F32, width, c.tokens);
        ggml_tensor * mask   = leaf(GGML_TYPE_F16, cells, c.tokens);

        ggml_tensor * y = norm(x);
        ggml_tensor * q = rotated(by_heads(product(c.weights, y, head * heads), heads));
        ggml_build_forward_expand(graph, q);
        ggml_tensor * v = product(c.values, y, head * kv_heads);
        ggml_build_forward_expand(graph, v);
        ggml_tensor * k = rotated(by_heads(product(c.weights, y, head * kv_heads), kv_heads));
        ggml_build_forward_expand(graph, k);
        ggml_build_forward_expand(graph, ggml_set_rows(ctx, k_cache, ggml_reshape_2d(ctx, k, head * kv_heads, c.tokens), rows));
        ggml_build_forward_expand(graph, ggml_set_rows(ctx, v_cache, v, rows));
        ggml_tensor * attended = ggml_flash_attn_ext(ctx, ggml_permute(ctx, q, 0, 2, 1, 3), cached(k_cache), cached(v_cache), mask, 0.125f, 0.0f, 0.0f);
        ggml_tensor * sum      = ggml_add(ctx, product(c.weights, ggml_reshape_2d(ctx, attended, head * heads, c.tokens), width), x);
        ggml_tensor * z        = norm(sum);
        ggml_tensor * gate     = product(c.weights, z, inner);
        ggml_tensor * up       = product(c.weights, z, inner);
        result                 = ggml_add(ctx, product(c.values, ggml_swiglu_split(ctx, gate, up), width), sum);
        ggml_build_forward_expand(graph, result);
    }

    void fill() {
        std::mt19937 random(1);
        for (ggml_tensor * t : leaves) {
            if (t == positions || t == rows) {
                continue;
            }
            std::vector<float> values(ggml_nelements(t));
            for (float & v : values) {
                v = std::uniform_real_distribution<float>(-1.0f, 1.0f)(random);
            }
            std::vector<uint8_t> bytes(ggml_nbytes(t));
            ggml_quantize_chunk(t->type, values.data(), bytes.data(), 0, ggml_nrows(t), t->ne[0], nullptr);
            ggml_backend_tensor_set(t, bytes.data(), 0, bytes.size());
        }
        for (int64_t i = 0; i < GetParam().tokens; i++) {
            const int32_t position = static_cast<int32_t>(first_cell + i);
            const int64_t row      = position;
            ggml_backend_tensor_set(positions, &position, i * sizeof position, sizeof position);
            ggml_backend_tensor_set(rows, &row, i * sizeof row, sizeof row);
        }
    }

    std::vector<float> floats(const ggml_tensor * t) {
        const auto         bytes = test::bytes_of(t);
        std::vector<float> values(ggml_nelements(t));
        if (t->type == GGML_TYPE_F16) {
            ggml_fp16_to_fp32_row(reinterpret_cast<const ggml_fp16_t *>(bytes.data()), values.data(), ggml_nelements(t));
        } else {
            std::memcpy(values.data(), bytes.data(), bytes.size());
        }
        return values;
    }

    static void expect_near(const std::vector<float> & found, const std::vector<float> & expected, const char * what) {
        double error = 0.0, size = 0.0;
        for (size_t i = 0; i < found.size(); i++) {
            error += std::pow(found[i] - expected[i], 2.0);
            size += std::pow(expected[i], 2.0);
        }
        EXPECT_LT(error / size, 1e-6) << what << " of " << GetParam().promise;  // a rounding of a norm can move an activation by a step
    }

    test::context_ref          memory = test::make_context(96);
    ggml_context *             ctx    = memory.get();
    std::vector<ggml_tensor *> leaves;
    ggml_tensor *              positions, *rows, *k_cache, *v_cache, *result;
};

TEST_P(layer, is_the_same_node_by_node) {
    void (*set_enabled)(void *, bool) = nullptr;
    void * (*get)(ggml_backend_dev_t) = nullptr;
    *reinterpret_cast<void **>(&set_enabled) = ggml_backend_reg_get_proc_address(ggml_backend_webgpu_reg(), "ggml_backend_fusion_set_enabled");
    *reinterpret_cast<void **>(&get)         = ggml_backend_reg_get_proc_address(ggml_backend_webgpu_reg(), "ggml_backend_fusion_get");
    test::backend_ref on(ggml_backend_dev_init(test::ggml_device(), nullptr));
    ggml_cgraph *     graph = ggml_new_graph(ctx);
    build(graph);
    graph::order_for_side_by_side(graph, [](ggml_tensor *, ggml_tensor *) {});  // nothing shares memory here
    const test::buffer_ref buffer(ggml_backend_alloc_ctx_tensors(ctx, on.get()));

    std::vector<std::vector<float>> found[2];
    for (const bool fused : { false, true }) {
        fill();
        set_enabled(get(test::ggml_device()), fused);
        ASSERT_EQ(ggml_backend_graph_compute(on.get(), graph), GGML_STATUS_SUCCESS);
        found[fused] = { floats(result), floats(k_cache), floats(v_cache) };
    }
    expect_near(found[true][0], found[false][0], "result");
    expect_near(found[true][1], found[false][1], "cache of K");
    EXPECT_EQ(found[true][2], found[false][2]) << "cache of V";
}

INSTANTIATE_TEST_SUITE_P(cases, layer,
                         testing::Values(layer_case{ "one token", 1, GGML_TYPE_Q4_0, GGML_TYPE_Q4_0, false },
                                         layer_case{ "several tokens, norms of q and k", 3, GGML_TYPE_Q8_0, GGML_TYPE_Q8_0, true },
                                         layer_case{ "types that quantise columns differently", 2, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K, false },
                                         layer_case{ "floats", 1, GGML_TYPE_F16, GGML_TYPE_F32, true },
                                         layer_case{ "a prompt", 20, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K, true }));
