// Gated units of products, computed with the products: the same values as node by node, and those of the host.
#include "fusions.h"
#include "single_op.h"

namespace {

// How a graph gets the unit's two inputs.
enum class form { two_products, gate_first, halves, swapped_halves, views, experts, views_of_experts };

struct unit_case {
    ggml_type   type;
    int64_t     tokens;
    form        as   = form::two_products;
    ggml_glu_op op   = GGML_GLU_OP_SWIGLU;
    ggml_type   down = GGML_TYPE_Q8_0;
    int64_t     k = 256, rows = 64;
    bool        fuses = true;
};

constexpr int64_t experts = 6, slots = 2, width = 32;

std::string text(const unit_case & c) {
    return std::string(ggml_type_name(c.type)) + " " + test::text({ c.k, c.rows, c.tokens, 1 }) + " form " + std::to_string(int(c.as)) + " op " + std::to_string(c.op) +
           " down " + ggml_type_name(c.down);
}

struct outcome {
    std::vector<float> unit, down;
    uint64_t           fusions = 0;
};

class gated_unit {
public:
    explicit gated_unit(const unit_case & of) : c_(of) {
        const bool    routed = c_.as == form::experts || c_.as == form::views_of_experts;
        const int64_t planes = routed ? experts : 1;
        x_                   = leaf(op_.random(GGML_TYPE_F32, routed ? test::sizes{ c_.k, 1, c_.tokens, 1 } : test::sizes{ c_.k, c_.tokens, 1, 1 }));
        if (routed) {
            std::vector<int64_t> chosen(slots * c_.tokens);
            for (size_t i = 0; i < chosen.size(); i++) {
                chosen[i] = static_cast<int64_t>(5 * i + 1) % experts;
            }
            ids_ = leaf(op_.integers(GGML_TYPE_I32, { slots, c_.tokens, 1, 1 }, chosen));
        }
        const bool one = c_.as != form::two_products && c_.as != form::gate_first && c_.as != form::experts;
        a_             = leaf(op_.random(c_.type, { c_.k, one ? 2 * c_.rows : c_.rows, planes, 1 }));
        b_             = one ? a_ : leaf(op_.random(c_.type, { c_.k, c_.rows, planes, 1 }));
        unit_          = make_unit();
        down_          = product(leaf(op_.random(c_.down, { c_.rows, width, planes, 1 })), unit_);
    }

    outcome run(bool fused) {
        const test::fusions fusions(fused);
        compute();
        return { floats(unit_), floats(down_), fusions.count("MUL_MAT+GLU") };
    }

    // The unit as the host computes it.
    std::vector<float> expected() const {
        const auto         x = op_.values(x_), a = op_.values(a_), b = op_.values(b_);
        const bool         swapped = c_.as == form::swapped_halves;
        std::vector<float> values;
        for (int64_t token = 0; token < c_.tokens; token++) {
            for (int64_t slot = 0; slot < (ids_ != nullptr ? slots : 1); slot++) {
                const int64_t expert = ids_ != nullptr ? (5 * (token * slots + slot) + 1) % experts : 0;
                for (int64_t row = 0; row < c_.rows; row++) {
                    double value = 0.0, gate = 0.0;
                    for (int64_t k = 0; k < c_.k; k++) {
                        const double column = ids_ != nullptr ? x(k, 0, token) : x(k, token);
                        value += column * a(k, swapped ? c_.rows + row : row, expert);
                        gate += column * b(k, b_ == a_ && !swapped ? c_.rows + row : row, expert);
                    }
                    values.push_back(static_cast<float>(function(value, gate)));
                }
            }
        }
        return values;
    }

private:
    void compute() {
        static ggml_backend_t on    = ggml_backend_dev_init(test::ggml_device(), nullptr);  // its kernels serve all cases
        ggml_cgraph *         graph = ggml_new_graph(op_.ctx());
        if (c_.as == form::gate_first) {
            ggml_build_forward_expand(graph, unit_->src[1]);
        }
        ggml_build_forward_expand(graph, down_);
        memory_.reset(ggml_backend_alloc_ctx_tensors(op_.ctx(), on));
        for (ggml_tensor * t : leaves_) {
            ggml_backend_tensor_set(t, op_.bytes_before(t).data(), 0, ggml_nbytes(t));
        }
        EXPECT_EQ(ggml_backend_graph_compute(on, graph), GGML_STATUS_SUCCESS);
    }

    ggml_tensor * leaf(ggml_tensor * t) {
        leaves_.push_back(t);
        return t;
    }

    ggml_tensor * product(ggml_tensor * weights, ggml_tensor * x) {
        return ids_ != nullptr ? ggml_mul_mat_id(op_.ctx(), weights, x, ids_) : ggml_mul_mat(op_.ctx(), weights, x);
    }

    ggml_tensor * make_unit() {
        ggml_tensor * a = product(a_, x_);
        if (c_.as == form::halves || c_.as == form::swapped_halves) {
            return ggml_glu(op_.ctx(), a, c_.op, c_.as == form::swapped_halves);
        }
        if (c_.as == form::views || c_.as == form::views_of_experts) {
            const auto half = [&](int64_t first) {
                return ggml_view_3d(op_.ctx(), a, c_.rows, a->ne[1], a->ne[2], a->nb[1], a->nb[2], first * sizeof(float));
            };
            ggml_tensor * value = half(0);
            return split(value, half(c_.rows));
        }
        return split(a, product(b_, x_));
    }

    ggml_tensor * split(ggml_tensor * value, ggml_tensor * gate) {
        switch (c_.op) {
            case GGML_GLU_OP_SWIGLU_OAI:   return ggml_swiglu_oai(op_.ctx(), value, gate, 1.702f, 2.0f);
            case GGML_GLU_OP_SWIGLU_CLAMP: return ggml_swiglu_clamp(op_.ctx(), value, gate, 2.0f);
            default:                       return ggml_glu_split(op_.ctx(), value, gate, c_.op);
        }
    }

    double function(double x, double g) const {
        const auto sigmoid = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
        const auto limit   = [](double v) { return std::clamp(v, -2.0, 2.0); };
        switch (c_.op) {
            case GGML_GLU_OP_REGLU:        return std::max(x, 0.0) * g;
            case GGML_GLU_OP_GEGLU:        return 0.5 * x * (1.0 + std::tanh(0.7978845608 * x * (1.0 + 0.044715 * x * x))) * g;
            case GGML_GLU_OP_GEGLU_ERF:    return 0.5 * x * (1.0 + std::erf(x * 0.7071067812)) * g;
            case GGML_GLU_OP_GEGLU_QUICK:  return x * sigmoid(1.702 * x) * g;
            case GGML_GLU_OP_SWIGLU_OAI:   return std::min(x, 2.0) * sigmoid(1.702 * std::min(x, 2.0)) * (limit(g) + 1.0);
            case GGML_GLU_OP_SWIGLU_CLAMP: return std::min(x, 2.0) * sigmoid(std::min(x, 2.0)) * limit(g);
            default:                       return x * sigmoid(x) * g;
        }
    }

    static std::vector<float> floats(const ggml_tensor * t) { return test::decoded(t->type, test::bytes_of(t)); }

    unit_case                  c_;
    test::single_op            op_;
    std::vector<ggml_tensor *> leaves_;
    ggml_tensor *              x_, *ids_ = nullptr, *a_, *b_, *unit_, *down_;
    test::buffer_ref           memory_;
};

double error_of(const std::vector<float> & found, const std::vector<float> & expected) {
    double error = 0.0, size = 0.0;
    for (size_t i = 0; i < found.size(); i++) {
        error += std::pow(found[i] - expected[i], 2.0);
        size += std::pow(expected[i], 2.0);
    }
    return error / size;
}

void expect_fused(const unit_case & c) {
    SCOPED_TRACE(text(c));
    gated_unit    together(c), apart(c);
    const outcome fused = together.run(true), alone = apart.run(false);
    EXPECT_EQ(alone.fusions, 0u);
    EXPECT_EQ(fused.fusions, c.fuses && test::device()->caps().subgroups ? 1u : 0u);
    EXPECT_LT(error_of(fused.unit, alone.unit), 1e-11);
    EXPECT_LT(error_of(fused.down, alone.down), 1e-6);  // a rounding can move an activation by a step
    EXPECT_LT(error_of(fused.unit, together.expected()), 2e-4);
}

constexpr ggml_type types[] = { GGML_TYPE_F32,  GGML_TYPE_F16,   GGML_TYPE_BF16,   GGML_TYPE_Q1_0,  GGML_TYPE_Q2_0,    GGML_TYPE_Q4_0,  GGML_TYPE_Q4_1,
                                GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,  GGML_TYPE_Q8_0,   GGML_TYPE_MXFP4, GGML_TYPE_NVFP4,   GGML_TYPE_Q2_K,  GGML_TYPE_Q3_K,
                                GGML_TYPE_Q4_K, GGML_TYPE_Q5_K,  GGML_TYPE_Q6_K,   GGML_TYPE_TQ1_0, GGML_TYPE_TQ2_0,   GGML_TYPE_IQ1_S, GGML_TYPE_IQ1_M,
                                GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S, GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S, GGML_TYPE_IQ4_NL, GGML_TYPE_IQ4_XS };

TEST(mul_mat_glu, is_the_same_node_by_node_for_every_type) {
    constexpr int64_t several[] = { 2, 3, 5, 8 };
    int               i         = 0;
    for (const ggml_type type : types) {
        expect_fused({ type, 1 });
        expect_fused({ type, several[i++ % 4], form::gate_first });
        expect_fused({ type, 1, form::experts });
    }
}

TEST(mul_mat_glu, takes_its_inputs_however_they_come) {
    for (const form as : { form::two_products, form::gate_first, form::halves, form::swapped_halves, form::views, form::experts, form::views_of_experts }) {
        for (const int64_t tokens : { 1, 2, 3, 5, 8 }) {
            expect_fused({ GGML_TYPE_Q4_K, tokens, as });
        }
        expect_fused({ GGML_TYPE_F16, 3, as, GGML_GLU_OP_SWIGLU, GGML_TYPE_F16 });
    }
}

TEST(mul_mat_glu, knows_every_unit) {
    for (const ggml_glu_op op : { GGML_GLU_OP_REGLU, GGML_GLU_OP_GEGLU, GGML_GLU_OP_SWIGLU, GGML_GLU_OP_SWIGLU_OAI, GGML_GLU_OP_GEGLU_ERF, GGML_GLU_OP_GEGLU_QUICK,
                                  GGML_GLU_OP_SWIGLU_CLAMP }) {
        expect_fused({ GGML_TYPE_Q8_0, 2, form::two_products, op });
    }
}

// Columns of another kind for the next product; rows and columns that end within a block of 32 rows, a tile or a unit.
TEST(mul_mat_glu, takes_any_shape) {
    for (const int64_t tokens : { 1, 3, 8 }) {
        expect_fused({ GGML_TYPE_Q4_K, tokens, form::two_products, GGML_GLU_OP_SWIGLU, GGML_TYPE_Q6_K, 512, 256 });
        expect_fused({ GGML_TYPE_Q6_K, tokens, form::two_products, GGML_GLU_OP_SWIGLU, GGML_TYPE_Q4_K, 256, 2304 });
        expect_fused({ GGML_TYPE_Q4_0, tokens, form::halves, GGML_GLU_OP_SWIGLU, GGML_TYPE_Q5_0, 96, 96 });
        expect_fused({ GGML_TYPE_Q8_0, tokens, form::two_products, GGML_GLU_OP_SWIGLU, GGML_TYPE_F32, 32, 75 });
        expect_fused({ GGML_TYPE_F16, tokens, form::halves, GGML_GLU_OP_SWIGLU, GGML_TYPE_F32, 7, 33 });
        expect_fused({ GGML_TYPE_F16, tokens, form::two_products, GGML_GLU_OP_SWIGLU, GGML_TYPE_Q8_0, 1024, 320 });
    }
}

TEST(mul_mat_glu, leaves_many_columns_to_other_kernels) {
    expect_fused({ GGML_TYPE_Q4_0, 9, form::two_products, GGML_GLU_OP_SWIGLU, GGML_TYPE_Q4_0, 256, 64, false });
    expect_fused({ GGML_TYPE_F16, 33, form::two_products, GGML_GLU_OP_SWIGLU, GGML_TYPE_F16, 256, 64, false });
}

}  // namespace
