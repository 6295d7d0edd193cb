#include "graph/order.h"

#include <algorithm>
#include <ggml-cpp.h>
#include <ggml-impl.h>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

class order : public testing::Test {
protected:
    ggml_tensor * leaf(int64_t ne0, int64_t ne1 = 1, ggml_type type = GGML_TYPE_F32) { return ggml_new_tensor_2d(context_.get(), type, ne0, ne1); }
    ggml_tensor * add(ggml_tensor * t) {
        ggml_build_forward_expand(graph_, t);
        return t;
    }

    // The graph's nodes that compute, in their new order.
    std::vector<ggml_tensor *> ordered() {
        graph::order_for_side_by_side(graph_, [&](ggml_tensor * tensor, ggml_tensor * until) { kept_.emplace_back(tensor, until); });
        std::vector<ggml_tensor *> nodes;
        std::copy_if(graph_->nodes, graph_->nodes + graph_->n_nodes, std::back_inserter(nodes), [](const ggml_tensor * t) { return !ggml_op_is_empty(t->op); });
        return nodes;
    }

    ggml_context_ptr                                     context_{ ggml_init({ .mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true }) };
    ggml_cgraph *                                        graph_ = ggml_new_graph(context_.get());
    std::vector<std::pair<ggml_tensor *, ggml_tensor *>> kept_;
};

TEST_F(order, products_and_rotations_of_one_tensor_follow_each_other) {
    ggml_context * ctx = context_.get();
    ggml_tensor *  x = leaf(64), * positions = leaf(1, 1, GGML_TYPE_I32);
    ggml_tensor *  q       = add(ggml_mul_mat(ctx, leaf(64, 64), x));
    ggml_tensor *  rope_q  = add(ggml_rope(ctx, ggml_reshape_3d(ctx, q, 32, 2, 1), positions, 32, 0));
    ggml_tensor *  k       = add(ggml_mul_mat(ctx, leaf(64, 32), x));
    ggml_tensor *  rope_k  = add(ggml_rope(ctx, ggml_reshape_3d(ctx, k, 32, 1, 1), positions, 32, 0));
    EXPECT_EQ(ordered(), (std::vector{ q, k, rope_q, rope_k }));
    // rope_k's result must not lie where rope_q still reads.
    EXPECT_NE(std::find(kept_.begin(), kept_.end(), std::pair(rope_q->src[0], rope_k)), kept_.end());
}

TEST_F(order, a_node_stays_behind_what_it_reads) {
    ggml_context * ctx = context_.get();
    ggml_tensor *  x = leaf(64);
    ggml_tensor *  first  = add(ggml_mul_mat(ctx, leaf(64, 64), x));
    ggml_tensor *  sum    = add(ggml_add(ctx, first, x));
    ggml_tensor *  weight = add(ggml_mul_mat(ctx, ggml_reshape_2d(ctx, sum, 64, 1), x));
    EXPECT_EQ(ordered(), (std::vector{ first, sum, weight }));
}

TEST_F(order, a_reader_of_a_cache_stays_behind_the_row_that_is_stored) {
    ggml_context * ctx = context_.get();
    ggml_tensor *  x = leaf(64), * cache = leaf(64, 16), * row = leaf(1, 1, GGML_TYPE_I64);
    ggml_tensor *  k      = add(ggml_mul_mat(ctx, leaf(64, 64), x));
    ggml_tensor *  stored = add(ggml_set_rows(ctx, cache, k, row));
    ggml_tensor *  scores = add(ggml_mul_mat(ctx, ggml_view_2d(ctx, cache, 64, 16, cache->nb[1], 0), x));  // not by its sources
    EXPECT_EQ(ordered(), (std::vector{ k, stored, scores }));
}

TEST_F(order, a_row_is_not_stored_before_the_old_ones_are_read) {
    ggml_context * ctx = context_.get();
    ggml_tensor *  x = leaf(64, 1), * cache = leaf(64, 16), * other = leaf(64, 16), * row = leaf(1, 1, GGML_TYPE_I64);
    ggml_tensor *  first  = add(ggml_set_rows(ctx, other, x, row));
    ggml_tensor *  old    = add(ggml_scale(ctx, ggml_view_2d(ctx, cache, 64, 16, cache->nb[1], 0), 2.0f));
    ggml_tensor *  second = add(ggml_set_rows(ctx, cache, x, row));
    EXPECT_EQ(ordered(), (std::vector{ first, old, second }));
}

TEST_F(order, a_norm_and_its_weight_move_together) {
    ggml_context * ctx = context_.get();
    ggml_tensor *  x = leaf(64);
    ggml_tensor *  q      = add(ggml_mul_mat(ctx, leaf(64, 64), x));
    ggml_tensor *  norm_q = ggml_rms_norm(ctx, q, 1e-6f);
    ggml_tensor *  mul_q  = add(ggml_mul(ctx, norm_q, leaf(64)));
    ggml_tensor *  silu   = add(ggml_silu(ctx, mul_q));
    ggml_tensor *  k      = add(ggml_mul_mat(ctx, leaf(64, 64), x));
    ggml_tensor *  norm_k = ggml_rms_norm(ctx, k, 1e-6f);
    ggml_tensor *  mul_k  = add(ggml_mul(ctx, norm_k, leaf(64)));
    EXPECT_EQ(ordered(), (std::vector{ q, k, norm_q, mul_q, norm_k, mul_k, silu }));
}

// One dispatch may make the products and the gated unit (ops/fusion.h): its result must not lie where they still read.
TEST_F(order, what_products_read_is_kept_until_they_are_gated) {
    ggml_context * ctx = context_.get();
    ggml_tensor *  x    = add(ggml_silu(ctx, leaf(64)));
    ggml_tensor *  up   = add(ggml_mul_mat(ctx, leaf(64, 32), x));
    ggml_tensor *  gate = add(ggml_mul_mat(ctx, leaf(64, 32), x));
    ggml_tensor *  glu  = add(ggml_swiglu_split(ctx, gate, up));
    EXPECT_EQ(ordered(), (std::vector{ x, up, gate, glu }));
    EXPECT_NE(std::find(kept_.begin(), kept_.end(), std::pair(x, glu)), kept_.end());
}

// The same for the gate of a mixture of experts and its logits.
TEST_F(order, logits_are_kept_until_the_experts_have_weights) {
    ggml_context * ctx = context_.get();
    ggml_tensor *  logits  = add(ggml_mul_mat(ctx, leaf(64, 8), leaf(64)));
    ggml_tensor *  p       = add(ggml_soft_max(ctx, logits));
    ggml_tensor *  chosen  = ggml_argsort_top_k(ctx, p, 2);
    ggml_tensor *  weights = add(ggml_scale(ctx, ggml_get_rows(ctx, ggml_reshape_3d(ctx, p, 1, 8, 1), chosen), 2.0f));
    ordered();
    EXPECT_NE(std::find(kept_.begin(), kept_.end(), std::pair(logits, weights)), kept_.end());
}
