// CROSS_ENTROPY_LOSS and its gradient: the mean over all rows.
#include "ops/families.h"
#include "ops/row_wise.h"
#include "ops/split.h"

namespace ops {

static bool all_f32(std::initializer_list<const ggml_tensor *> tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [](const ggml_tensor * t) { return t->type == GGML_TYPE_F32; });
}

plan plan_cross_entropy_loss(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * logits = dst->src[0];
    const ggml_tensor * labels = dst->src[1];
    if (!all_f32({ logits, labels, dst })) {
        return unsupported("%s and %s to %s", ggml_type_name(logits->type), ggml_type_name(labels->type), ggml_type_name(dst->type));
    }
    plan           p;
    const auto     logits_parts = parts_that_fit(caps, logits, p.slices);
    const auto     labels_parts = parts_that_fit(caps, labels, p.slices);
    const uint32_t n_rows       = rows(logits);
    uint32_t       first        = 0;
    p.scratch                   = scratch_words(n_rows);
    for (size_t i = 0; i < logits_parts.size(); i++) {
        const ggml_tensor * x = logits_parts[i];
        if (i >= labels_parts.size() || !ggml_are_same_shape(x, labels_parts[i]) || x->ne[0] != logits->ne[0]) {
            return unsupported("tensors above the binding limit that cannot be cut alike");
        }
        const ggml_tensor * y        = labels_parts[i];
        const bool          in_quads = quads(x) && quads(y);

        step s     = over_rows("loss/cross_entropy", x, in_quads);
        s.operands = { bind_source("logits", x, in_quads), bind_source("labels", y, in_quads), bind_scratch("dst", 0, p.scratch) };
        s.params.add("logits_nb", nb(x)).add("labels_nb", nb(y)).add("dst_first", first);
        p.steps.push_back(std::move(s));
        first += rows(x);
    }
    p.steps.push_back(sum_of_scratch(n_rows, dst, -1.0f / static_cast<float>(n_rows)));
    return p;
}

plan plan_cross_entropy_loss_back(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * grad   = dst->src[0];
    const ggml_tensor * logits = dst->src[1];
    const ggml_tensor * labels = dst->src[2];
    if (!all_f32({ grad, logits, labels, dst })) {
        return unsupported("%s and %s to %s", ggml_type_name(logits->type), ggml_type_name(labels->type), ggml_type_name(dst->type));
    }
    const bool in_quads = quads(logits) && quads(labels) && quads(dst);

    step s     = over_rows("loss/cross_entropy_back", dst, in_quads);
    s.operands = { bind("grad", grad), bind_source("logits", logits, in_quads), bind_source("labels", labels, in_quads), bind_dest("dst", dst, in_quads) };
    s.params.add("scale", 1.0f / static_cast<float>(rows_of_whole(dst)));
    s.params.add("logits_nb", nb(logits)).add("labels_nb", nb(labels)).add("dst_nb", nb(dst));
    return s;
}

}  // namespace ops
