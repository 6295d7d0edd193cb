// Normalisation: over rows, and over groups of channels.
#include "ops/norm.h"

#include "ops/families.h"
#include "ops/row_wise.h"

#include <algorithm>
#include <bit>

namespace ops {

// What shaders/norm/rows.wgsl takes for rows: `length` values each, counted by `count`, `src_step` and `dst_step` apart.
// Those along count[0] share `extent` values, so the last of them may be shorter.
struct row_layout {
    uint32_t length, extent;
    shape    count;
    shape    src_step, dst_step;
    bool     slab = false;  // the values of a row are not evenly spaced
};

static row_layout rows_of(const ggml_tensor * src, const ggml_tensor * dst) {
    const auto [ne0, ne1, ne2, ne3] = ne(dst);
    return { ne0, ne0, { 1, ne1, ne2, ne3 }, nb(src), nb(dst) };
}

static step normalise(const char * kind, const row_layout & rows, const ggml_tensor * dst, float eps) {
    const ggml_tensor * src      = dst->src[0];
    const bool          in_quads = !rows.slab && quads(src) && quads(dst);
    const uint32_t      threads  = row_threads(rows.length / (in_quads ? 4 : 1));

    step s;
    s.kernel   = gpu::kernel_name("norm/rows").threads(threads).define(kind);
    s.operands = { bind_source("src", src, in_quads), bind_dest("dst", dst, in_quads) };
    if (in_quads) {
        s.kernel.define("QUADS");
    }
    if (rows.slab) {
        s.kernel.define("SLAB");
    }
    s.params.add("length", rows.length).add("extent", rows.extent).add("eps", eps);
    s.params.add("rows", rows.count).add("src_step", rows.src_step).add("dst_step", rows.dst_step);
    s.params.add("src_nb", nb(src)).add("dst_nb", nb(dst)).add("slab_ne", ne(dst));
    s.groups = uint64_t(rows.count[0]) * rows.count[1] * rows.count[2] * rows.count[3];
    s.joins  = true;
    return s;
}

static plan plan_rows(const char * kind, const ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    if (!all_float({ src, dst })) {
        return unsupported("from %s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    return normalise(kind, rows_of(src, dst), dst, param_f32(dst, 0));
}

// Units of a row that each thread can hold in registers; 0: too many, or a sum that its type would round.
static uint32_t held_units(const norm_fusion & with, uint32_t units, uint32_t threads) {
    static constexpr uint64_t most  = 8;
    const uint64_t            n     = groups_for(units, threads);
    const bool                exact = with.sum == nullptr || with.sum->type == GGML_TYPE_F32;
    return static_cast<uint32_t>(exact && n <= most ? n : 0);
}

// Few rows leave most of a GPU idle, and their threads wait for each other: as many of them as have something to do.
static uint32_t threads_of_row(const gpu::capabilities & caps, uint32_t units, uint64_t rows) {
    static constexpr uint64_t few     = 32;
    const uint32_t            threads = row_threads(units);
    if (caps.type == gpu::capabilities::kind::software || rows > few) {
        return threads;
    }
    return std::clamp(std::bit_ceil(units), threads, std::max(threads, std::bit_floor(caps.max_threads)));
}

plan plan_rms_norm_fused(const gpu::capabilities & caps, const ggml_tensor * norm, const norm_fusion & with, const ggml_tensor * dst) {
    const ggml_tensor * src = with.addend != nullptr ? with.sum->src[0] : norm->src[0];
    if (!all_float({ src, with.weight, dst }) || (with.addend != nullptr && !all_float({ with.addend, with.sum }))) {
        return unsupported("a type that is not a float");
    }
    bool in_quads = quads(src) && quads(dst) && quads(with.weight) && with.weight->ne[0] == dst->ne[0];
    if (with.addend != nullptr) {
        in_quads = in_quads && quads(with.addend) && quads(with.sum);
    }
    const uint32_t length  = static_cast<uint32_t>(dst->ne[0]);
    const uint32_t threads = threads_of_row(caps, length / (in_quads ? 4 : 1), rows(dst));
    step           s;
    s.kernel   = gpu::kernel_name("norm/rms_fused").threads(threads);
    s.operands = { bind_source("src", src, in_quads), bind_source("weight", with.weight, in_quads), bind_dest("dst", dst, in_quads) };
    if (in_quads) {
        const uint32_t held = held_units(with, length / 4, threads);
        s.kernel.define("QUADS").define("HELD", held);
        s.quantises = held != 0;
    }
    s.params.add("length", length).add("eps", param_f32(norm, 0)).add("dst_ne", ne(dst)).add("weight_ne", ne(with.weight));
    s.params.add("src_nb", nb(src)).add("weight_nb", nb(with.weight)).add("dst_nb", nb(dst));
    if (with.addend != nullptr) {
        s.kernel.define("ADDEND");
        s.operands.push_back(bind_source("addend", with.addend, in_quads));
        s.operands.push_back(bind_dest("sum", with.sum, in_quads));
        s.params.add("addend_nb", nb(with.addend)).add("sum_nb", nb(with.sum));
    }
    s.groups = rows(dst);
    s.joins  = true;
    return s;
}

plan plan_norm(const gpu::capabilities &, const ggml_tensor * dst) {
    return plan_rows("CENTRED", dst);
}

plan plan_rms_norm(const gpu::capabilities &, const ggml_tensor * dst) {
    return plan_rows("RMS", dst);
}

plan plan_l2_norm(const gpu::capabilities &, const ggml_tensor * dst) {
    return plan_rows("L2", dst);
}

// NORM over all values of a group of channels (ne[2]); the last group may have fewer channels.
plan plan_group_norm(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * src    = dst->src[0];
    const uint32_t      groups = static_cast<uint32_t>(param_i32(dst, 0));
    if (!all_float({ src, dst })) {
        return unsupported("from %s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    const auto [ne0, ne1, channels, ne3] = ne(dst);
    const uint32_t channels_per_group    = (channels + groups - 1) / groups;
    const uint32_t used_groups           = (channels + channels_per_group - 1) / channels_per_group;
    const uint32_t plane                 = ne0 * ne1;

    row_layout rows{ plane * channels_per_group, plane * channels, { used_groups, 1, 1, ne3 }, nb(src), nb(dst) };
    rows.src_step[0] = channels_per_group * rows.src_step[2];
    rows.dst_step[0] = channels_per_group * rows.dst_step[2];
    rows.slab        = !ggml_is_contiguous(src) || !ggml_is_contiguous(dst);
    return normalise("CENTRED", rows, dst, param_f32(dst, 1));
}

plan plan_rms_norm_back(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * dz = dst->src[0];
    const ggml_tensor * x  = dst->src[1];
    if (!all_float({ dz, x, dst })) {
        return unsupported("%s and %s to %s", ggml_type_name(dz->type), ggml_type_name(x->type), ggml_type_name(dst->type));
    }
    const bool in_quads = quads(dz) && quads(x) && quads(dst);

    step s     = over_rows("norm/rms_norm_back", dst, in_quads);
    s.operands = { bind_source("dz", dz, in_quads), bind_source("x", x, in_quads), bind_dest("dst", dst, in_quads) };
    s.params.add("length", static_cast<float>(dst->ne[0])).add("eps", param_f32(dst, 0));
    s.params.add("dz_nb", nb(dz)).add("x_nb", nb(x)).add("dst_nb", nb(dst));
    return s;
}

}  // namespace ops
