// Convolutions and what is built like them: IM2COL, IM2COL_3D, IM2COL_BACK, COL2IM_1D, CONV_2D, CONV_2D_DW, CONV_3D,
// CONV_TRANSPOSE_1D, CONV_TRANSPOSE_2D, POOL_1D, POOL_2D, POOL_2D_BACK.
#include "ops/families.h"
#include "ops/split.h"

#include <algorithm>

namespace ops {

static constexpr uint32_t threads = 256;

static plan too_large() {
    return unsupported("a tensor is larger than the binding limit and cannot be cut");
}

// A tensor of [x, channel, batch] as one of [x, 1, channel, batch].
static const ggml_tensor * with_one_row(const ggml_tensor * t, std::list<ggml_tensor> & keep) {
    ggml_tensor & wide = keep.emplace_back(*t);
    wide.ne[3] = t->ne[2], wide.nb[3] = t->nb[2];
    wide.ne[2] = t->ne[1], wide.nb[2] = t->nb[1];
    wide.ne[1] = 1, wide.nb[1] = t->nb[1];
    return &wide;
}

// Sizes and strides as src/shaders/conv/volume.wgsl has them: (x, y, z, channel), and batches of that.
struct volume {
    const ggml_tensor * tensor;
    shape               ne, nb, first;
    uint32_t            batches, batch_nb, first_batch;
};

// [x, y, channel, batch], or [x, y, z, channel] if `deep`.
static volume volume_of(const window & w, bool deep) {
    const shape size = ne(w.tensor), stride = nb(w.tensor), first = w.first;
    if (deep) {
        return { w.tensor, size, stride, first, 1, 0, 0 };
    }
    return { w.tensor,
             { size[0], size[1], 1, size[2] },
             { stride[0], stride[1], 0, stride[2] },
             { first[0], first[1], 0, first[2] },
             size[3], stride[3], first[3] };
}

static void add_source(step & s, const volume & v) {
    s.params.add("src_batches", v.batches).add("src_batch_nb", v.batch_nb).add("src_first_batch", v.first_batch);
    s.params.add("src_ne", v.ne).add("src_nb", v.nb).add("src_first", v.first);
}

static void add_result(step & s, const volume & v) {
    s.params.add("dst_batch_nb", v.batch_nb).add("dst_first_batch", v.first_batch);
    s.params.add("dst_ne", v.ne).add("dst_nb", v.nb).add("dst_first", v.first);
}

// Step widths of a field, (x, y, z) each.
struct movement {
    shape stride, pad, dilation;
};

static void add_movement(step & s, const movement & m) {
    s.params.add("stride", m.stride).add("pad", m.pad).add("dilation", m.dilation);
}

static uint32_t param_u32(const ggml_tensor * t, int i) {
    return static_cast<uint32_t>(param_i32(t, i));
}

// stride, pad, dilation from op_params on, `n` dimensions each.
static movement movement_2d(const ggml_tensor * t) {
    return { { param_u32(t, 0), param_u32(t, 1), 1, 0 }, { param_u32(t, 2), param_u32(t, 3), 0, 0 }, { param_u32(t, 4), param_u32(t, 5), 1, 0 } };
}

static movement movement_3d(const ggml_tensor * t) {
    return { { param_u32(t, 0), param_u32(t, 1), param_u32(t, 2), 0 },
             { param_u32(t, 3), param_u32(t, 4), param_u32(t, 5), 0 },
             { param_u32(t, 6), param_u32(t, 7), param_u32(t, 8), 0 } };
}

// Strides along x alone, as 2D.
static movement in_one_row(movement m) {
    m.stride[1] = m.dilation[1] = 1;
    m.pad[1]                    = 0;
    return m;
}

static bool all_floats(std::initializer_list<const ggml_tensor *> tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [](const ggml_tensor * t) { return is_float(t->type); });
}

//
// fields in memory
//

// taps: (x, y, z, channels)
static void append_im2col(plan & p, const gpu::capabilities & caps, const ggml_tensor * src, const ggml_tensor * dst, const shape & taps,
                          const movement & move, bool deep) {
    const auto to = windows_that_fit(caps, dst, p.slices), source = windows_that_fit(caps, src, p.slices);
    if (to.empty() || source.empty()) {
        append(p, too_large());
        return;
    }
    for (const window & d : to) {
        for (const window & s : source) {
            const bool     in_quads = quads(d.tensor) && source.size() == 1;
            const uint32_t items    = count(d.tensor) / (in_quads ? 4 : 1);
            step           make;
            make.kernel = gpu::kernel_name("conv/im2col").threads(threads);
            if (in_quads) {
                make.kernel.define("QUADS");
            }
            make.operands = { bind("src", s.tensor), bind_dest("dst", d.tensor, in_quads) };
            make.params.add("count", items).add("deep", uint32_t(deep)).add("add", uint32_t(s.first != shape{}));
            make.params.add("taps", taps).add("dst_ne", ne(d.tensor)).add("dst_nb", nb(d.tensor)).add("dst_first", d.first);
            add_source(make, volume_of(s, deep));
            add_movement(make, move);
            make.groups = groups_for(items, threads);
            p.steps.push_back(std::move(make));
        }
    }
}

plan plan_im2col(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * filter = dst->src[0];
    const ggml_tensor * src    = dst->src[1];
    const bool          flat   = param_i32(dst, 6) == 1;
    if (!all_floats({ src, dst })) {
        return unsupported("%s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    plan     p;
    movement move = movement_2d(dst);
    shape    taps = { ne(filter)[0], ne(filter)[1], 1, ne(src)[2] };
    if (!flat) {
        move = in_one_row(move);
        taps = { ne(filter)[0], 1, 1, ne(src)[1] };
        src  = with_one_row(src, p.slices);
        ggml_tensor & rows = p.slices.emplace_back(*dst);  // [column, x, batch] as [column, x, 1, batch]
        rows.ne[3] = dst->ne[2], rows.nb[3] = dst->nb[2];
        rows.ne[2] = 1;
        dst        = &rows;
    }
    append_im2col(p, caps, src, dst, taps, move, false);
    return p;
}

// Entry `n` of the batches that dimension 3 of a tensor is made of.
static const ggml_tensor * batch_of(const ggml_tensor * t, int64_t n, int64_t batches, std::list<ggml_tensor> & keep) {
    const int64_t size = t->ne[3] / batches;
    return part_of(t, 3, n * size, (n + 1) * size, keep);
}

plan plan_im2col_3d(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * filter   = dst->src[0];
    const ggml_tensor * src      = dst->src[1];
    const int64_t       channels = param_i32(dst, 9);
    if (!all_floats({ src, dst })) {
        return unsupported("%s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    plan          p;
    const int64_t batches = src->ne[3] / channels;
    const shape   taps    = { ne(filter)[0], ne(filter)[1], ne(filter)[2], static_cast<uint32_t>(channels) };
    for (int64_t n = 0; n < batches; n++) {
        append_im2col(p, caps, batch_of(src, n, batches, p.slices), batch_of(dst, n, batches, p.slices), taps, movement_3d(dst), true);
    }
    return p;
}

// A step for each pair of windows; `make(dst window, src window)` gives kernel, operands and parameters of its own.
template <typename F> static plan sum_over_windows(const gpu::capabilities & caps, const ggml_tensor * src, const ggml_tensor * dst, F && make) {
    plan       p;
    const auto to = windows_that_fit(caps, dst, p.slices), source = windows_that_fit(caps, src, p.slices);
    if (to.empty() || source.empty()) {
        return too_large();
    }
    for (const window & d : to) {
        for (const window & s : source) {
            step made     = make(d, s);
            made.operands = { bind("src", s.tensor), bind_dest("dst", d.tensor, false) };
            made.params.add("count", count(d.tensor)).add("add", uint32_t(s.first != shape{}));
            made.params.add("dst_ne", ne(d.tensor)).add("dst_nb", nb(d.tensor)).add("dst_first", d.first);
            made.params.add("src_ne", ne(s.tensor)).add("src_nb", nb(s.tensor)).add("src_first", s.first);
            made.groups = groups_for(count(d.tensor), threads);
            p.steps.push_back(std::move(made));
        }
    }
    return p;
}

plan plan_im2col_back(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * grad   = dst->src[0];
    const ggml_tensor * filter = dst->src[1];
    if (!all_floats({ grad, dst })) {
        return unsupported("%s to %s", ggml_type_name(grad->type), ggml_type_name(dst->type));
    }
    std::list<ggml_tensor> views;
    movement               move = movement_2d(dst);
    shape                  taps = { ne(filter)[0], ne(filter)[1], 1, 0 };
    if (param_i32(dst, 6) != 1) {
        move    = in_one_row(move);
        taps[1] = 1;
        dst     = with_one_row(dst, views);
        ggml_tensor & rows = views.emplace_back(*grad);
        rows.ne[3] = grad->ne[2], rows.nb[3] = grad->nb[2];
        rows.ne[2] = 1;
        grad       = &rows;
    }
    plan p = sum_over_windows(caps, grad, dst, [&](const window &, const window &) {
        step s;
        s.kernel = gpu::kernel_name("conv/im2col_back").threads(threads);
        s.params.add("taps", taps);
        add_movement(s, move);
        return s;
    });
    p.slices.splice(p.slices.end(), views);
    return p;
}

plan plan_col2im_1d(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    if (!all_floats({ src, dst })) {
        return unsupported("%s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    return sum_over_windows(caps, src, dst, [&](const window &, const window &) {
        step s;
        s.kernel = gpu::kernel_name("conv/col2im_1d").threads(threads);
        s.params.add("stride", param_u32(dst, 0)).add("pad", param_u32(dst, 2)).add("taps", ne(src)[0] / param_u32(dst, 1));
        return s;
    });
}

//
// convolutions
//

// Filters of (x, y, z, channel of src), one for each channel of dst: each is `depth` entries of dimension `dim` of the tensor.
struct filter_bank {
    const ggml_tensor * tensor;
    int                 dim;
    int64_t             depth;
    shape               ne, nb;
    uint32_t            out_nb;
};

enum class convolution { forward, depthwise, transposed };

static bool share_batches(const volume & a, const volume & b) {
    return a.first_batch < b.first_batch + b.batches && b.first_batch < a.first_batch + a.batches;
}

static bool share_channels(const volume & a, const volume & b) {
    return a.first[3] < b.first[3] + b.ne[3] && b.first[3] < a.first[3] + a.ne[3];
}

// The matrix product pays when there are enough channels to share the fields.
static bool is_product(convolution kind, const volume & to) {
    return kind == convolution::forward && to.ne[3] > 16;
}

static step convolution_step(convolution kind, const volume & source, const filter_bank & bank, const volume & to, const movement & move, bool add) {
    const uint64_t places         = uint64_t(to.ne[0]) * to.ne[1] * to.ne[2] * to.batches;
    const bool     channels_inner = kind == convolution::depthwise ? to.nb[3] == 1 && to.ne[3] > 1 : source.nb[3] == 1 && source.ne[3] > 1;
    shape          taps           = bank.ne;
    taps[3]                       = source.ne[3];

    step s;
    s.operands = { bind("src", source.tensor), bind("filter", bank.tensor), bind_dest("dst", to.tensor, false) };
    if (is_product(kind, to)) {
        static constexpr uint32_t tile = 64;
        const uint32_t channel_tiles   = static_cast<uint32_t>(groups_for(to.ne[3], tile));
        s.kernel = gpu::kernel_name("conv/tile").threads(tile);
        s.params.add("places", uint32_t(places)).add("channel_tiles", channel_tiles).add("channels_inner", uint32_t(channels_inner));
        s.params.add("k", taps[0] * taps[1] * taps[2] * taps[3]);
        s.groups = channel_tiles * groups_for(places, tile);
    } else {
        const uint32_t channels = kind == convolution::depthwise ? 1 : 4;
        const uint32_t items    = static_cast<uint32_t>(places * groups_for(to.ne[3], channels));
        s.kernel = gpu::kernel_name(kind == convolution::transposed ? "conv/transpose" : "conv/direct").threads(threads).define("CHANNELS", channels);
        if (kind == convolution::depthwise) {
            s.kernel.define("DEPTHWISE");
        }
        s.params.add("count", items).add("channels_inner", uint32_t(kind == convolution::depthwise && channels_inner));
        s.groups = groups_for(items, threads);
    }
    s.params.add("add", uint32_t(add)).add("filter_out_nb", bank.out_nb).add("filter_nb", bank.nb).add("taps", taps);
    add_source(s, source);
    add_result(s, to);
    add_movement(s, move);
    return s;
}

static void append_convolution(plan & p, const gpu::capabilities & caps, convolution kind, const ggml_tensor * src, const filter_bank & bank,
                               const ggml_tensor * dst, const movement & move, bool deep) {
    const int     channel = deep ? 3 : 2;
    const int64_t filters = bank.tensor->ne[bank.dim] / bank.depth;
    if (windows_that_fit(caps, bank.tensor, p.slices).size() != 1 && filters > 1) {
        for (const auto & [begin, end] : { std::pair(int64_t(0), filters / 2), std::pair(filters / 2, filters) }) {
            filter_bank some = bank;
            some.tensor      = part_of(bank.tensor, bank.dim, begin * bank.depth, end * bank.depth, p.slices);
            const ggml_tensor * seen = kind == convolution::depthwise ? part_of(src, channel, begin, end, p.slices) : src;
            append_convolution(p, caps, kind, seen, some, part_of(dst, channel, begin, end, p.slices), move, deep);
        }
        return;
    }
    const auto windows = windows_that_fit(caps, dst, p.slices), sources = windows_that_fit(caps, src, p.slices);
    if (windows.empty() || sources.empty() || windows_that_fit(caps, bank.tensor, p.slices).size() != 1) {
        append(p, too_large());
        return;
    }
    for (const window & w : windows) {
        const volume to  = volume_of(w, deep);
        bool         add = false;
        for (const window & s : sources) {
            const volume source = volume_of(s, deep);
            if (share_batches(source, to) && (kind != convolution::depthwise || share_channels(source, to))) {
                p.steps.push_back(convolution_step(kind, source, bank, to, move, add));
                add = true;
            }
        }
    }
}

static plan refuse(const ggml_tensor * dst) {
    return unsupported("%s filters of %s to %s", ggml_type_name(dst->src[0]->type), ggml_type_name(dst->src[1]->type), ggml_type_name(dst->type));
}

plan plan_conv_2d(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * filter    = dst->src[0];
    const bool          depthwise = dst->op == GGML_OP_CONV_2D_DW;
    if (!all_floats({ filter, dst->src[1], dst })) {
        return refuse(dst);
    }
    const shape       size = ne(filter), stride = nb(filter);
    const filter_bank bank = { filter, 3, 1, { size[0], size[1], 1, size[2] }, { stride[0], stride[1], 0, stride[2] }, stride[3] };
    plan              p;
    append_convolution(p, caps, depthwise ? convolution::depthwise : convolution::forward, dst->src[1], bank, dst, movement_2d(dst), false);
    return p;
}

plan plan_conv_3d(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * filter   = dst->src[0];
    const uint32_t      channels = param_u32(dst, 9);
    const int64_t       batches  = param_i32(dst, 10);
    if (!all_floats({ filter, dst->src[1], dst })) {
        return refuse(dst);
    }
    shape size = ne(filter);
    size[3]    = channels;
    const filter_bank bank = { filter, 3, channels, size, nb(filter), channels * nb(filter)[3] };
    plan              p;
    for (int64_t n = 0; n < batches; n++) {
        append_convolution(p, caps, convolution::forward, batch_of(dst->src[1], n, batches, p.slices), bank, batch_of(dst, n, batches, p.slices),
                           movement_3d(dst), true);
    }
    return p;
}

// CONV_TRANSPOSE_1D and CONV_TRANSPOSE_2D; filters are (x, y, channel of dst, channel of src).
plan plan_conv_transpose(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * filter = dst->src[0];
    const ggml_tensor * src    = dst->src[1];
    if (!all_floats({ filter, src, dst })) {
        return refuse(dst);
    }
    plan           p;
    const uint32_t stride = param_u32(dst, 0);
    movement       move   = { { stride, stride, 1, 0 }, {}, { 1, 1, 1, 0 } };
    if (dst->op == GGML_OP_CONV_TRANSPOSE_1D) {
        move.stride[1] = 1;
        filter         = with_one_row(filter, p.slices);
        src            = with_one_row(src, p.slices);
        dst            = with_one_row(dst, p.slices);
    }
    const shape       size = ne(filter), step = nb(filter);
    const filter_bank bank = { filter, 2, 1, { size[0], size[1], 1, size[3] }, { step[0], step[1], 0, step[3] }, step[2] };
    append_convolution(p, caps, convolution::transposed, src, bank, dst, move, false);
    return p;
}

//
// pooling
//

// The pooling of op_params from `at` on: fields, strides, pads; of `dimensions`.
static void add_pooling(step & s, const ggml_tensor * node, const ggml_tensor * image, int dimensions) {
    shape      parts[3] = { { 1, 1, 0, 0 }, { 1, 1, 0, 0 }, {} };
    for (int part = 0; part < 3; part++) {
        for (int d = 0; d < dimensions; d++) {
            parts[part][d] = param_u32(node, 1 + part * dimensions + d);
        }
    }
    s.params.add("maximum", uint32_t(param_i32(node, 0) == GGML_OP_POOL_MAX));
    s.params.add("field_area", dimensions == 2 ? parts[0][0] * parts[0][1] : 0u);
    s.params.add("field", parts[0]).add("stride", parts[1]).add("pad", parts[2]);
    s.params.add("image", shape{ ne(image)[0], dimensions == 2 ? ne(image)[1] : 1, 0, 0 });
}

static plan pool(const ggml_tensor * dst, int dimensions) {
    const ggml_tensor * src = dst->src[0];
    if (!all_floats({ src, dst }) || param_i32(dst, 0) >= GGML_OP_POOL_COUNT) {
        return unsupported("%s to %s by pooling %d", ggml_type_name(src->type), ggml_type_name(dst->type), param_i32(dst, 0));
    }
    step s;
    s.kernel   = gpu::kernel_name("conv/pool").threads(threads);
    s.operands = { bind("src", src), bind_dest("dst", dst, false) };
    s.params.add("count", count(dst));
    add_pooling(s, dst, src, dimensions);
    s.params.add("src_nb", nb(src)).add("dst_ne", ne(dst)).add("dst_nb", nb(dst));
    s.groups = groups_for(count(dst), threads);
    return s;
}

plan plan_pool_1d(const gpu::capabilities &, const ggml_tensor * dst) {
    // [x, planes...] as [x, 1, planes...]: the second dimension is not pooled.
    const ggml_tensor * src = dst->src[0];
    plan                p;
    ggml_tensor &       wide = p.slices.emplace_back(*dst);
    ggml_tensor &       from = p.slices.emplace_back(*src);
    for (ggml_tensor * t : { &wide, &from }) {
        if (t->ne[3] > 1 && t->nb[3] != t->ne[2] * t->nb[2]) {
            return unsupported("batches apart from each other");
        }
        t->ne[3] = t->ne[2] * t->ne[3], t->nb[3] = t->nb[2];
        t->ne[2] = t->ne[1], t->nb[2] = t->nb[1];
        t->ne[1] = 1;
    }
    wide.src[0] = &from;
    append(p, pool(&wide, 1));
    return p;
}

plan plan_pool_2d(const gpu::capabilities &, const ggml_tensor * dst) {
    return pool(dst, 2);
}

plan plan_pool_2d_back(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * grad = dst->src[0];
    const ggml_tensor * src  = dst->src[1];
    if (!all_floats({ grad, src, dst }) || param_i32(dst, 0) >= GGML_OP_POOL_COUNT) {
        return unsupported("%s to %s by pooling %d", ggml_type_name(grad->type), ggml_type_name(dst->type), param_i32(dst, 0));
    }
    step s;
    s.kernel   = gpu::kernel_name("conv/pool_back").threads(threads);
    s.operands = { bind("grad", grad), bind("src", src), bind_dest("dst", dst, false) };
    s.params.add("count", count(dst));
    add_pooling(s, dst, dst, 2);
    s.params.add("grad_ne", ne(grad)).add("grad_nb", nb(grad)).add("src_nb", nb(src)).add("dst_ne", ne(dst)).add("dst_nb", nb(dst));
    s.groups = groups_for(count(dst), threads);
    return s;
}

}  // namespace ops
