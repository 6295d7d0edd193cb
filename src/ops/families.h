// The plan functions of every op family, for the table.
#pragma once

#include "ops/plan.h"

namespace ops {

#define GGML_WEBGPU_PLAN(name) plan name(const gpu::capabilities & caps, const ggml_tensor * dst)

// elementwise.cpp
GGML_WEBGPU_PLAN(plan_unary);
GGML_WEBGPU_PLAN(plan_math);    // SQR, SQRT, LOG, SIN, COS, SCALE, CLAMP, LEAKY_RELU, FILL
GGML_WEBGPU_PLAN(plan_binary);  // ADD, SUB, MUL, DIV, ADD1
GGML_WEBGPU_PLAN(plan_glu);
GGML_WEBGPU_PLAN(plan_silu_back);

// copy.cpp
GGML_WEBGPU_PLAN(plan_copy);  // CPY, CONT, DUP

// shape.cpp
GGML_WEBGPU_PLAN(plan_concat);
GGML_WEBGPU_PLAN(plan_set);  // SET, ACC
GGML_WEBGPU_PLAN(plan_repeat);
GGML_WEBGPU_PLAN(plan_repeat_back);
GGML_WEBGPU_PLAN(plan_pad);
GGML_WEBGPU_PLAN(plan_pad_reflect_1d);
GGML_WEBGPU_PLAN(plan_roll);
GGML_WEBGPU_PLAN(plan_tri);
GGML_WEBGPU_PLAN(plan_diag);
GGML_WEBGPU_PLAN(plan_win_part);
GGML_WEBGPU_PLAN(plan_win_unpart);
GGML_WEBGPU_PLAN(plan_get_rel_pos);
GGML_WEBGPU_PLAN(plan_add_rel_pos);
GGML_WEBGPU_PLAN(plan_upscale);
GGML_WEBGPU_PLAN(plan_arange);
GGML_WEBGPU_PLAN(plan_timestep_embedding);

// conv.cpp
GGML_WEBGPU_PLAN(plan_im2col);
GGML_WEBGPU_PLAN(plan_im2col_3d);
GGML_WEBGPU_PLAN(plan_im2col_back);
GGML_WEBGPU_PLAN(plan_col2im_1d);
GGML_WEBGPU_PLAN(plan_conv_2d);  // CONV_2D, CONV_2D_DW
GGML_WEBGPU_PLAN(plan_conv_3d);
GGML_WEBGPU_PLAN(plan_conv_transpose);  // CONV_TRANSPOSE_1D, CONV_TRANSPOSE_2D
GGML_WEBGPU_PLAN(plan_pool_1d);
GGML_WEBGPU_PLAN(plan_pool_2d);
GGML_WEBGPU_PLAN(plan_pool_2d_back);

// rows.cpp
GGML_WEBGPU_PLAN(plan_get_rows);
GGML_WEBGPU_PLAN(plan_set_rows);
GGML_WEBGPU_PLAN(plan_get_rows_back);
GGML_WEBGPU_PLAN(plan_add_id);

// matmul.cpp
GGML_WEBGPU_PLAN(plan_mul_mat);
GGML_WEBGPU_PLAN(plan_mul_mat_id);
GGML_WEBGPU_PLAN(plan_out_prod);

// norm.cpp
GGML_WEBGPU_PLAN(plan_norm);
GGML_WEBGPU_PLAN(plan_rms_norm);
GGML_WEBGPU_PLAN(plan_l2_norm);
GGML_WEBGPU_PLAN(plan_group_norm);
GGML_WEBGPU_PLAN(plan_rms_norm_back);

// attention.cpp
GGML_WEBGPU_PLAN(plan_flash_attn_ext);
GGML_WEBGPU_PLAN(plan_lightning_indexer);

// recurrent.cpp
GGML_WEBGPU_PLAN(plan_linear_attention);  // RWKV_WKV6, RWKV_WKV7, GATED_LINEAR_ATTN
GGML_WEBGPU_PLAN(plan_gated_delta_net);
GGML_WEBGPU_PLAN(plan_ssm_scan);
GGML_WEBGPU_PLAN(plan_ssm_conv);
GGML_WEBGPU_PLAN(plan_solve_tri);

// hyper.cpp
GGML_WEBGPU_PLAN(plan_hyper_comb);
GGML_WEBGPU_PLAN(plan_hyper_pre);
GGML_WEBGPU_PLAN(plan_hyper_post);

// softmax.cpp
GGML_WEBGPU_PLAN(plan_soft_max);
GGML_WEBGPU_PLAN(plan_soft_max_back);
GGML_WEBGPU_PLAN(plan_diag_mask);

// rope.cpp
GGML_WEBGPU_PLAN(plan_rope);  // ROPE, ROPE_BACK

// reduce.cpp
GGML_WEBGPU_PLAN(plan_sum);
GGML_WEBGPU_PLAN(plan_sum_rows);  // SUM_ROWS, MEAN
GGML_WEBGPU_PLAN(plan_argmax);
GGML_WEBGPU_PLAN(plan_count_equal);
GGML_WEBGPU_PLAN(plan_cumsum);

// sort.cpp
GGML_WEBGPU_PLAN(plan_argsort);
GGML_WEBGPU_PLAN(plan_top_k);

// loss.cpp
GGML_WEBGPU_PLAN(plan_cross_entropy_loss);
GGML_WEBGPU_PLAN(plan_cross_entropy_loss_back);

// train.cpp
GGML_WEBGPU_PLAN(plan_opt_step_adamw);
GGML_WEBGPU_PLAN(plan_opt_step_sgd);

#undef GGML_WEBGPU_PLAN

}  // namespace ops
