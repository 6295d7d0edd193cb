// The whole of what the backend can do.
#include "ops/families.h"
#include "gpu/log.h"
#include "ops/split.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace ops {

static plan plan_view(const gpu::capabilities &, const ggml_tensor *) {
    return nothing();
}

struct entry {
    ggml_op       op;
    const char *  name;  // as the ggml compiled against spells it
    plan_function make;
    split_rule   split;
};

#define OP(name, make, split) { GGML_OP_##name, #name, make, split }

static constexpr entry table[] = {
    OP(NONE, plan_view, split_rule::none),
    OP(RESHAPE, plan_view, split_rule::none),
    OP(VIEW, plan_view, split_rule::none),
    OP(PERMUTE, plan_view, split_rule::none),
    OP(TRANSPOSE, plan_view, split_rule::none),

    OP(MUL_MAT, plan_mul_mat, split_rule::product),
    OP(MUL_MAT_ID, plan_mul_mat_id, split_rule::routed),
    OP(OUT_PROD, plan_out_prod, split_rule::planes),

    OP(ADD, plan_binary, split_rule::outer),
    OP(SUB, plan_binary, split_rule::outer),
    OP(MUL, plan_binary, split_rule::outer),
    OP(DIV, plan_binary, split_rule::outer),
    OP(ADD1, plan_binary, split_rule::outer),
    OP(UNARY, plan_unary, split_rule::outer),
    OP(SQR, plan_math, split_rule::outer),
    OP(SQRT, plan_math, split_rule::outer),
    OP(LOG, plan_math, split_rule::outer),
    OP(SIN, plan_math, split_rule::outer),
    OP(COS, plan_math, split_rule::outer),
    OP(SCALE, plan_math, split_rule::outer),
    OP(CLAMP, plan_math, split_rule::outer),
    OP(LEAKY_RELU, plan_math, split_rule::outer),
    OP(FILL, plan_math, split_rule::outer),
    OP(GLU, plan_glu, split_rule::outer),
    OP(SILU_BACK, plan_silu_back, split_rule::outer),

    OP(NORM, plan_norm, split_rule::outer),
    OP(RMS_NORM, plan_rms_norm, split_rule::outer),
    OP(L2_NORM, plan_l2_norm, split_rule::outer),
    OP(GROUP_NORM, plan_group_norm, split_rule::channels),
    OP(RMS_NORM_BACK, plan_rms_norm_back, split_rule::outer),

    OP(SOFT_MAX, plan_soft_max, split_rule::heads),
    OP(SOFT_MAX_BACK, plan_soft_max_back, split_rule::outer),
    OP(DIAG_MASK_INF, plan_diag_mask, split_rule::planes),
    OP(DIAG_MASK_ZERO, plan_diag_mask, split_rule::planes),
    OP(ROPE, plan_rope, split_rule::tokens),
    OP(ROPE_BACK, plan_rope, split_rule::tokens),

    OP(SUM, plan_sum, split_rule::own),
    OP(SUM_ROWS, plan_sum_rows, split_rule::outer),
    OP(MEAN, plan_sum_rows, split_rule::outer),
    OP(CUMSUM, plan_cumsum, split_rule::outer),
    OP(ARGMAX, plan_argmax, split_rule::results),
    OP(ARGSORT, plan_argsort, split_rule::outer),
    OP(TOP_K, plan_top_k, split_rule::outer),
    OP(COUNT_EQUAL, plan_count_equal, split_rule::own),
    OP(CROSS_ENTROPY_LOSS, plan_cross_entropy_loss, split_rule::own),
    OP(CROSS_ENTROPY_LOSS_BACK, plan_cross_entropy_loss_back, split_rule::mean),

    OP(CPY, plan_copy, split_rule::copy),
    OP(CONT, plan_copy, split_rule::copy),
    OP(DUP, plan_copy, split_rule::copy),

    OP(CONCAT, plan_concat, split_rule::own),
    OP(SET, plan_set, split_rule::own),
    OP(ACC, plan_set, split_rule::own),
    OP(REPEAT, plan_repeat, split_rule::own),
    OP(REPEAT_BACK, plan_repeat_back, split_rule::own),
    OP(PAD, plan_pad, split_rule::own),
    OP(PAD_REFLECT_1D, plan_pad_reflect_1d, split_rule::own),
    OP(ROLL, plan_roll, split_rule::own),
    OP(TRI, plan_tri, split_rule::own),
    OP(DIAG, plan_diag, split_rule::own),
    OP(WIN_PART, plan_win_part, split_rule::own),
    OP(WIN_UNPART, plan_win_unpart, split_rule::own),
    OP(GET_REL_POS, plan_get_rel_pos, split_rule::own),
    OP(ADD_REL_POS, plan_add_rel_pos, split_rule::own),
    OP(UPSCALE, plan_upscale, split_rule::own),
    OP(ARANGE, plan_arange, split_rule::own),
    OP(TIMESTEP_EMBEDDING, plan_timestep_embedding, split_rule::own),

    OP(IM2COL, plan_im2col, split_rule::own),
    OP(IM2COL_3D, plan_im2col_3d, split_rule::own),
    OP(IM2COL_BACK, plan_im2col_back, split_rule::own),
    OP(COL2IM_1D, plan_col2im_1d, split_rule::own),
    OP(CONV_2D, plan_conv_2d, split_rule::own),
    OP(CONV_2D_DW, plan_conv_2d, split_rule::own),
    OP(CONV_3D, plan_conv_3d, split_rule::own),
    OP(CONV_TRANSPOSE_1D, plan_conv_transpose, split_rule::own),
    OP(CONV_TRANSPOSE_2D, plan_conv_transpose, split_rule::own),
    OP(POOL_1D, plan_pool_1d, split_rule::outer),
    OP(POOL_2D, plan_pool_2d, split_rule::planes),
    OP(POOL_2D_BACK, plan_pool_2d_back, split_rule::planes),

    OP(GET_ROWS, plan_get_rows, split_rule::lookup),
    OP(SET_ROWS, plan_set_rows, split_rule::scatter),
    OP(GET_ROWS_BACK, plan_get_rows_back, split_rule::scatter),
    OP(ADD_ID, plan_add_id, split_rule::own),

    OP(FLASH_ATTN_EXT, plan_flash_attn_ext, split_rule::own),
    OP(LIGHTNING_INDEXER, plan_lightning_indexer, split_rule::listed),

    OP(RWKV_WKV6, plan_linear_attention, split_rule::own),
    OP(RWKV_WKV7, plan_linear_attention, split_rule::own),
    OP(GATED_LINEAR_ATTN, plan_linear_attention, split_rule::own),
    OP(GATED_DELTA_NET, plan_gated_delta_net, split_rule::own),
    OP(SSM_SCAN, plan_ssm_scan, split_rule::own),
    OP(SSM_CONV, plan_ssm_conv, split_rule::planes),
    OP(SOLVE_TRI, plan_solve_tri, split_rule::planes),

    OP(DSV4_HC_COMB, plan_hyper_comb, split_rule::listed),
    OP(DSV4_HC_PRE, plan_hyper_pre, split_rule::listed),
    OP(DSV4_HC_POST, plan_hyper_post, split_rule::listed),

    OP(OPT_STEP_ADAMW, plan_opt_step_adamw, split_rule::outer),
    OP(OPT_STEP_SGD, plan_opt_step_sgd, split_rule::outer),
};

#undef OP

static const entry * find(ggml_op op) {
    // The table has one line an op; an index makes it a look-up.
    static const std::array<const entry *, GGML_OP_COUNT> by_op = [] {
        std::array<const entry *, GGML_OP_COUNT> index{};
        for (const entry & e : table) {
            index[e.op] = &e;
        }
        return index;
    }();
    return op < GGML_OP_COUNT ? by_op[op] : nullptr;
}

// Null, or the operand for which there can be no memory.
static const ggml_tensor * exceeds_buffer(const gpu::capabilities & caps, const ggml_tensor * node) {
    const auto exceeds = [&](const ggml_tensor * t) { return t != nullptr && ggml_nbytes(t->view_src != nullptr ? t->view_src : t) > caps.max_buffer; };
    if (exceeds(node)) {
        return node;
    }
    const auto * src = std::find_if(std::begin(node->src), std::end(node->src), exceeds);
    return src != std::end(node->src) ? *src : nullptr;
}

plan plan_node(const gpu::capabilities & caps, const ggml_tensor * node) {
    const entry * e = find(node->op);
    if (e == nullptr) {
        return unsupported("%s is not implemented", ggml_op_name(node->op));
    }
    if (ggml_is_empty(node)) {
        return nothing();
    }
    if (const ggml_tensor * t = exceeds_buffer(caps, node)) {
        return unsupported("'%s' is larger than this device's largest buffer, %llu bytes", t->name, (unsigned long long) caps.max_buffer);
    }
    if (e->make != plan_view && e->split != split_rule::own && exceeds_binding(caps, node)) {
        return plan_in_slices(caps, node, e->split, e->make);
    }
    return e->make(caps, node);
}

std::string version_mismatch() {
    for (const entry & e : table) {
        if (std::strcmp(ggml_op_name(e.op), e.name) != 0) {
            return gpu::format("its op %d is %s, not %s", int(e.op), ggml_op_name(e.op), e.name);
        }
    }
    static constexpr struct {
        ggml_type    type;
        const char * name;
        size_t       bytes;
    } types[] = {
        { GGML_TYPE_F32, "f32", 4 },        { GGML_TYPE_F16, "f16", 2 },       { GGML_TYPE_BF16, "bf16", 2 },       { GGML_TYPE_I32, "i32", 4 },
        { GGML_TYPE_I64, "i64", 8 },        { GGML_TYPE_Q4_0, "q4_0", 18 },    { GGML_TYPE_Q4_1, "q4_1", 20 },      { GGML_TYPE_Q5_0, "q5_0", 22 },
        { GGML_TYPE_Q5_1, "q5_1", 24 },     { GGML_TYPE_Q8_0, "q8_0", 34 },    { GGML_TYPE_Q2_K, "q2_K", 84 },      { GGML_TYPE_Q3_K, "q3_K", 110 },
        { GGML_TYPE_Q4_K, "q4_K", 144 },    { GGML_TYPE_Q5_K, "q5_K", 176 },   { GGML_TYPE_Q6_K, "q6_K", 210 },     { GGML_TYPE_IQ1_S, "iq1_s", 50 },
        { GGML_TYPE_IQ1_M, "iq1_m", 56 },   { GGML_TYPE_IQ2_XXS, "iq2_xxs", 66 }, { GGML_TYPE_IQ2_XS, "iq2_xs", 74 }, { GGML_TYPE_IQ2_S, "iq2_s", 82 },
        { GGML_TYPE_IQ3_XXS, "iq3_xxs", 98 }, { GGML_TYPE_IQ3_S, "iq3_s", 110 }, { GGML_TYPE_IQ4_NL, "iq4_nl", 18 }, { GGML_TYPE_IQ4_XS, "iq4_xs", 136 },
        { GGML_TYPE_TQ1_0, "tq1_0", 54 },   { GGML_TYPE_TQ2_0, "tq2_0", 66 },  { GGML_TYPE_MXFP4, "mxfp4", 17 },
    };
    for (const auto & t : types) {
        const char * name = ggml_type_name(t.type);
        if (name == nullptr || std::strcmp(name, t.name) != 0 || ggml_type_size(t.type) != t.bytes) {
            return gpu::format("its type %d is %s, not %s", int(t.type), name != nullptr ? name : "unknown", t.name);
        }
    }
    return "";
}

}  // namespace ops
