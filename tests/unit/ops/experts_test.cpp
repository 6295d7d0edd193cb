// Mixtures of experts: the gate and the sum in one dispatch each, compared with the host.
#include "fusions.h"
#include "single_op.h"

#include <algorithm>
#include <numeric>

namespace {

enum class gate { softmax, sigmoid, softplus, weights_only };

struct mixture_case {
    int64_t experts, used, tokens, width;
    gate    by = gate::softmax;
    bool    bias = false, norm = true;
    float   scale = 0.0f;
    bool    shares_choice = false;  // something else reads all of the order
};

constexpr float least_sum = 6.103515625e-5f;

// Nodes as llama.cpp builds them, around results that stand for those of the experts' products.
class mixture {
public:
    explicit mixture(const mixture_case & of) : c_(of), op_(128) {
        ggml_context * ctx = op_.ctx();
        logits_            = leaf(op_.random(GGML_TYPE_F32, { c_.experts, c_.tokens, 1, 1 }));
        ggml_tensor * p    = probabilities();
        ggml_tensor * by   = p;
        if (c_.bias) {
            bias_ = leaf(op_.random(GGML_TYPE_F32, { c_.experts, 1, 1, 1 }));
            by    = ggml_add(ctx, p, bias_);
        }
        chosen_ = ggml_argsort_top_k(ctx, by, static_cast<int>(c_.used));
        if (c_.shares_choice) {
            other_ = ggml_cont(ctx, chosen_->src[0]);
        }
        weights_ = ggml_get_rows(ctx, ggml_reshape_3d(ctx, p, 1, c_.experts, c_.tokens), chosen_);
        if (c_.by == gate::weights_only) {
            weights_ = rows_to_slots(ggml_soft_max(ctx, slots_to_rows()));
        }
        if (c_.norm) {
            ggml_tensor * rows = slots_to_rows();
            ggml_tensor * sum  = ggml_clamp(ctx, ggml_sum_rows(ctx, rows), least_sum, INFINITY);
            weights_           = rows_to_slots(ggml_div(ctx, rows, sum));
        }
        if (c_.scale != 0.0f) {
            weights_ = ggml_scale(ctx, weights_, c_.scale);
        }
        results_           = leaf(op_.random(GGML_TYPE_F32, { c_.width, c_.used, c_.tokens, 1 }));
        ggml_tensor * each = ggml_mul(ctx, results_, weights_);
        const auto    part = [&](int64_t n) { return ggml_view_2d(ctx, each, c_.width, c_.tokens, each->nb[2], n * each->nb[1]); };
        for (int64_t n = 0; n < c_.used; n++) {
            parts_.push_back(part(n));
        }
        sum_ = std::accumulate(parts_.begin() + 1, parts_.end(), parts_.front(), [=](ggml_tensor * a, ggml_tensor * b) { return ggml_add(ctx, a, b); });
    }

    void expect_same_as_host(bool fused) {
        const test::fusions fusions(fused);
        compute();
        EXPECT_EQ(fusions.count("TOPK_MOE"), fused && !c_.shares_choice ? 1u : 0u);
        EXPECT_EQ(fusions.count("MUL+ADD"), fused ? 1u : 0u);
        const auto logits = op_.values(logits_), results = op_.values(results_);
        const auto order = test::bytes_of(chosen_->src[0]);
        const auto found = test::decoded(GGML_TYPE_F32, test::bytes_of(weights_)), sums = test::decoded(GGML_TYPE_F32, test::bytes_of(sum_));
        for (int64_t token = 0; token < c_.tokens; token++) {
            std::vector<double> p(c_.experts);
            for (int64_t e = 0; e < c_.experts; e++) {
                p[e] = probability(logits(e, token));
            }
            if (c_.by == gate::softmax) {
                divide(p, std::accumulate(p.begin(), p.end(), 0.0));
            }
            const std::vector<int64_t> best = best_of(p);
            std::vector<double>        weights(c_.used);
            for (int64_t n = 0; n < c_.used; n++) {
                int32_t chosen;
                std::memcpy(&chosen, order.data() + (token * c_.experts + n) * sizeof(chosen), sizeof(chosen));
                ASSERT_EQ(chosen, best[n]) << "token " << token << " slot " << n;
                weights[n] = c_.by == gate::weights_only ? std::exp(p[best[n]]) : p[best[n]];
            }
            const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
            if (c_.by == gate::weights_only || c_.norm) {
                divide(weights, std::max<double>(sum, least_sum));
            }
            divide(weights, c_.scale != 0.0f ? 1.0 / c_.scale : 1.0);
            for (int64_t n = 0; n < c_.used; n++) {
                EXPECT_NEAR(found[token * c_.used + n], weights[n], 2e-6 * (1.0 + weights[n]));
            }
            for (int64_t i = 0; i < c_.width; i++) {
                double wanted = 0.0;
                for (int64_t n = 0; n < c_.used; n++) {
                    wanted += weights[n] * results(i, n, token);
                }
                EXPECT_NEAR(sums[token * c_.width + i], wanted, 2e-5) << "token " << token << " value " << i;
            }
        }
    }

private:
    ggml_tensor * leaf(ggml_tensor * t) {
        leaves_.push_back(t);
        return t;
    }

    ggml_tensor * slots_to_rows() { return ggml_reshape_2d(op_.ctx(), weights_, c_.used, c_.tokens); }
    ggml_tensor * rows_to_slots(ggml_tensor * t) { return ggml_reshape_3d(op_.ctx(), t, 1, c_.used, c_.tokens); }

    ggml_tensor * probabilities() {
        switch (c_.by) {
            case gate::softmax:  return ggml_soft_max(op_.ctx(), logits_);
            case gate::sigmoid:  return ggml_sigmoid(op_.ctx(), logits_);
            case gate::softplus: return ggml_sqrt(op_.ctx(), ggml_softplus(op_.ctx(), logits_));
            default:             return logits_;
        }
    }

    double probability(double x) const {
        switch (c_.by) {
            case gate::softmax:  return std::exp(x);
            case gate::sigmoid:  return 1.0 / (1.0 + std::exp(-x));
            case gate::softplus: return std::sqrt(std::log(1.0 + std::exp(x)));
            default:             return x;
        }
    }

    static void divide(std::vector<double> & values, double by) {
        for (double & v : values) {
            v /= by;
        }
    }

    // Those that are used, in order. Random values are far enough from each other.
    std::vector<int64_t> best_of(const std::vector<double> & p) const {
        std::vector<int64_t> order(c_.experts);
        std::iota(order.begin(), order.end(), 0);
        const auto by = [&](int64_t e) { return p[e] + (c_.bias ? op_.values(bias_)(e) : 0.0); };
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return by(a) > by(b); });
        return order;
    }

    void compute() {
        static ggml_backend_t on    = ggml_backend_dev_init(test::ggml_device(), nullptr);  // its kernels serve all cases
        ggml_cgraph *         graph = ggml_new_graph(op_.ctx());
        ggml_build_forward_expand(graph, weights_);
        for (ggml_tensor * part : parts_) {
            ggml_build_forward_expand(graph, part);
        }
        ggml_build_forward_expand(graph, sum_);
        if (other_ != nullptr) {
            ggml_build_forward_expand(graph, other_);
        }
        memory_.reset(ggml_backend_alloc_ctx_tensors(op_.ctx(), on));
        for (ggml_tensor * t : leaves_) {
            ggml_backend_tensor_set(t, op_.bytes_before(t).data(), 0, ggml_nbytes(t));
        }
        ASSERT_EQ(ggml_backend_graph_compute(on, graph), GGML_STATUS_SUCCESS);
    }

    mixture_case               c_;
    test::single_op            op_;
    std::vector<ggml_tensor *> leaves_, parts_;
    ggml_tensor *              logits_, *bias_ = nullptr, *chosen_, *other_ = nullptr, *weights_, *results_, *sum_;
    test::buffer_ref           memory_;
};

void expect_same(const mixture_case & c) {
    SCOPED_TRACE(std::to_string(c.experts) + " experts, " + std::to_string(c.used) + " used, gate " + std::to_string(int(c.by)) + (c.bias ? ", bias" : ""));
    mixture(c).expect_same_as_host(true);
    mixture(c).expect_same_as_host(false);
}

TEST(experts, every_gate_chooses_and_weighs_as_the_host_does) {
    for (const gate by : { gate::softmax, gate::sigmoid, gate::softplus, gate::weights_only }) {
        expect_same({ .experts = 32, .used = 4, .tokens = 5, .width = 64, .by = by, .norm = by != gate::weights_only });
        expect_same({ .experts = 100, .used = 7, .tokens = 3, .width = 30, .by = by, .bias = by != gate::weights_only, .norm = false, .scale = 2.5f });
    }
}

TEST(experts, many_and_few) {
    expect_same({ .experts = 2, .used = 2, .tokens = 1, .width = 4 });
    expect_same({ .experts = 512, .used = 32, .tokens = 2, .width = 6, .by = gate::sigmoid, .bias = true });
}

TEST(experts, an_order_that_others_read_is_made_whole) {
    expect_same({ .experts = 16, .used = 2, .tokens = 3, .width = 8, .shares_choice = true });
}

}  // namespace
