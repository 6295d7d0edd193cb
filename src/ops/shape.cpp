// Values in another arrangement: CONCAT, SET, ACC, ADD_REL_POS, REPEAT, PAD, PAD_REFLECT_1D, ROLL, TRI, DIAG, WIN_PART,
// WIN_UNPART, GET_REL_POS, and REPEAT_BACK, UPSCALE, ARANGE, TIMESTEP_EMBEDDING, which compute them.
#include "ops/families.h"
#include "ops/split.h"
#include "ops/units.h"

#include <cmath>
#include <cstring>

namespace ops {

static constexpr uint32_t threads = 256;

//
// made of copies
//

// A node over part of dst: `shape` values from byte `offset` on, with the strides given.
static ggml_tensor & node_on(plan & p, const ggml_tensor * dst, ggml_op op, const int64_t * shape, const size_t (&strides)[GGML_MAX_DIMS], size_t offset) {
    ggml_tensor & node = p.slices.emplace_back(*dst);
    node.op            = op;
    node.data          = static_cast<char *>(dst->data) + offset;
    std::fill(std::begin(node.src), std::end(node.src), nullptr);
    std::copy(shape, shape + GGML_MAX_DIMS, node.ne);
    std::copy(std::begin(strides), std::end(strides), node.nb);
    return node;
}

static void append_copy(plan & p, const gpu::capabilities & caps, ggml_tensor & node, const ggml_tensor * src) {
    node.src[0] = const_cast<ggml_tensor *>(src);
    append(p, plan_node(caps, &node));
}

// dst = a and b, one after the other along a dimension.
plan plan_concat(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const int           dim = param_i32(dst, 0);
    const ggml_tensor * a   = dst->src[0];
    const ggml_tensor * b   = dst->src[1];
    if (a->type != dst->type || b->type != dst->type) {
        return unsupported("%s and %s to %s", ggml_type_name(a->type), ggml_type_name(b->type), ggml_type_name(dst->type));
    }
    plan p;
    size_t offset = 0;
    for (const ggml_tensor * src : { a, b }) {
        append_copy(p, caps, node_on(p, dst, GGML_OP_CPY, src->ne, dst->nb, offset), src);
        offset += (dim == 0 ? src->ne[0] / ggml_blck_size(src->type) : src->ne[dim]) * dst->nb[dim];
    }
    return p;
}

// SET and ACC: dst = src0, except that src1 replaces or is added to a part of it, described by strides and an offset.
plan plan_set(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * all      = dst->src[0];
    const ggml_tensor * part     = dst->src[1];
    const bool          in_place = param_i32(dst, 4) != 0;
    if (all->type != dst->type || part->type != dst->type) {
        return unsupported("%s and %s to %s", ggml_type_name(all->type), ggml_type_name(part->type), ggml_type_name(dst->type));
    }
    plan p;
    if (!in_place) {
        append_copy(p, caps, node_on(p, dst, GGML_OP_CPY, dst->ne, dst->nb, 0), all);
    }
    const size_t  strides[] = { dst->nb[0], size_t(param_i32(dst, 0)), size_t(param_i32(dst, 1)), size_t(param_i32(dst, 2)) };
    const ggml_op op        = dst->op == GGML_OP_ACC ? GGML_OP_ADD : GGML_OP_CPY;
    ggml_tensor & node      = node_on(p, dst, op, part->ne, strides, size_t(param_i32(dst, 3)));
    if (op == GGML_OP_ADD) {
        ggml_tensor & before = p.slices.emplace_back(node);
        before.op            = GGML_OP_NONE;
        node.src[0]          = &before;
        node.src[1]          = const_cast<ggml_tensor *>(part);
        append(p, plan_node(caps, &node));
    } else {
        append_copy(p, caps, node, part);
    }
    return p;
}

// A contiguous tensor seen in another shape.
static ggml_tensor * reshaped(plan & p, const ggml_tensor * t, std::array<int64_t, 4> shape) {
    ggml_tensor & seen = p.slices.emplace_back(*t);
    std::copy(shape.begin(), shape.end(), seen.ne);
    for (int d = 1; d < GGML_MAX_DIMS; d++) {
        seen.nb[d] = seen.nb[d - 1] * static_cast<size_t>(seen.ne[d - 1]);
    }
    return &seen;
}

// dst[x, y, i] = a[x, y, i] + w[x, i] + h[y, i] for images of k by k values.
plan plan_add_rel_pos(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const ggml_tensor * w = dst->src[1];
    const ggml_tensor * h = dst->src[2];
    const int64_t       k = w->ne[0], images = ggml_nelements(w) / k;
    plan                p;
    const ggml_tensor * whole     = reshaped(p, dst, { k, k, images, 1 });
    ggml_tensor *       before    = reshaped(p, a, { k, k, images, 1 });
    ggml_tensor * const addends[] = { reshaped(p, w, { k, 1, images, 1 }), reshaped(p, h, { 1, k, images, 1 }) };
    for (ggml_tensor * addend : addends) {
        ggml_tensor & node = node_on(p, whole, GGML_OP_ADD, whole->ne, whole->nb, 0);
        node.src[0]        = before;
        node.src[1]        = addend;
        append(p, plan_node(caps, &node));
        before     = &p.slices.emplace_back(*whole);
        before->op = GGML_OP_NONE;
    }
    return p;
}

//
// rearrangements of one source
//

// A step for each pair of parts of dst and src that fit the bindings.
template <typename F> static plan over_windows(const gpu::capabilities & caps, const ggml_tensor * dst, const ggml_tensor * src, F && make) {
    plan       p;
    const auto to     = windows_that_fit(caps, dst, p.slices);
    const auto source = windows_that_fit(caps, src, p.slices);
    if (to.empty() || source.empty()) {
        return unsupported("a tensor is larger than the binding limit and cannot be cut");
    }
    for (const window & d : to) {
        for (const window & s : source) {
            p.steps.push_back(make(d, s));
        }
    }
    return p;
}

struct rearrangement {
    const char *           map;   // function of src/shaders/shape/maps.wgsl
    std::array<int32_t, 4> shift;
    uint32_t               kind    = 0;
    uint32_t               side    = 0;
    bool                   by_rows = false;  // neighbours in a row of dst are neighbours in src, but for the ends of rows
};

static shape in_units(const window & w, uint32_t unit, bool by_rows) {
    shape first = w.first;
    if (by_rows) {
        first[0] = static_cast<uint32_t>(first[0] * ggml_type_size(w.tensor->type) / unit);
    }
    return first;
}

static plan rearrange(const gpu::capabilities & caps, const ggml_tensor * dst, const rearrangement & how) {
    const ggml_tensor * src  = dst->src[0];
    const size_t        size = ggml_type_size(dst->type);
    if (src->type != dst->type || ggml_blck_size(dst->type) != 1) {
        return unsupported("%s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    return over_windows(caps, dst, src, [&](const window & to, const window & source) {
        const bool     by_rows = how.by_rows && src->nb[0] == size && dst->nb[0] == size;
        const uint64_t shifted = static_cast<uint64_t>(std::abs(int64_t(how.shift[0]))) * size;
        const uint32_t unit    = by_rows ? unit_by_rows({ src, dst, source.tensor, to.tensor }, shifted) : unit_by_elements({ source.tensor, to.tensor });

        step s = unit_step("shape/maps", source.tensor, to.tensor, unit, by_rows);
        shape shift;
        for (int d = 0; d < GGML_MAX_DIMS; d++) {
            shift[d] = static_cast<uint32_t>(how.shift[d]);
        }
        if (by_rows) {
            shift[0] = static_cast<uint32_t>(how.shift[0] * int64_t(size) / int64_t(unit));
        }
        s.kernel.define("MAP", how.map);
        s.params.add("kind", how.kind).add("side", how.side).add("shift", shift);
        s.params.add("src_whole", sizes_in_units(src, unit, by_rows));
        s.params.add("src_first", in_units(source, unit, by_rows)).add("dst_first", in_units(to, unit, by_rows));
        return s;
    });
}

plan plan_repeat(const gpu::capabilities & caps, const ggml_tensor * dst) {
    return rearrange(caps, dst, { .map = "map_repeat", .shift = {}, .by_rows = true });
}

plan plan_roll(const gpu::capabilities & caps, const ggml_tensor * dst) {
    return rearrange(caps, dst, { .map     = "map_wrapped",
                                  .shift   = { param_i32(dst, 0), param_i32(dst, 1), param_i32(dst, 2), param_i32(dst, 3) },
                                  .by_rows = true });
}

plan plan_pad(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const bool circular = param_i32(dst, 8) != 0;
    return rearrange(caps, dst, { .map     = circular ? "map_wrapped" : "map_padded",
                                  .shift   = { param_i32(dst, 0), param_i32(dst, 2), param_i32(dst, 4), param_i32(dst, 6) },
                                  .by_rows = true });
}

plan plan_pad_reflect_1d(const gpu::capabilities & caps, const ggml_tensor * dst) {
    return rearrange(caps, dst, { .map = "map_reflected", .shift = { param_i32(dst, 0) } });
}

plan plan_tri(const gpu::capabilities & caps, const ggml_tensor * dst) {
    return rearrange(caps, dst, { .map = "map_triangle", .shift = {}, .kind = uint32_t(param_i32(dst, 0)) });
}

plan plan_diag(const gpu::capabilities & caps, const ggml_tensor * dst) {
    return rearrange(caps, dst, { .map = "map_diagonal", .shift = {} });
}

// Windows of `side` by `side` places, `across` of them side by side, and back.
plan plan_win_part(const gpu::capabilities & caps, const ggml_tensor * dst) {
    return rearrange(caps, dst, { .map = "map_to_windows", .shift = {}, .kind = uint32_t(param_i32(dst, 0)), .side = uint32_t(param_i32(dst, 2)) });
}

plan plan_win_unpart(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const uint32_t side = static_cast<uint32_t>(param_i32(dst, 0));
    return rearrange(caps, dst, { .map = "map_from_windows", .shift = {}, .kind = (ne(dst)[1] + side - 1) / side, .side = side });
}

plan plan_get_rel_pos(const gpu::capabilities & caps, const ggml_tensor * dst) {
    return rearrange(caps, dst, { .map = "map_relative", .shift = {}, .side = ne(dst)[1] });
}

//
// computed
//

// dst = sum of the copies of it that src holds, along each dimension.
plan plan_repeat_back(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    if (!is_float(src->type) || !is_float(dst->type)) {
        return unsupported("%s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    return over_windows(caps, dst, src, [&](const window & to, const window & source) {
        step s;
        s.kernel   = gpu::kernel_name("shape/repeat_back").threads(threads);
        s.operands = { bind("src", source.tensor), bind_dest("dst", to.tensor, false) };
        s.params.add("count", count(to.tensor)).add("add", uint32_t(source.first != shape{}));
        s.params.add("dst_ne", ne(to.tensor)).add("dst_nb", nb(to.tensor)).add("dst_first", to.first).add("dst_whole", ne(dst));
        s.params.add("src_ne", ne(source.tensor)).add("src_nb", nb(source.tensor)).add("src_first", source.first).add("src_whole", ne(src));
        s.groups = groups_for(count(to.tensor), threads);
        return s;
    });
}

static shape bits_of(const std::array<float, 4> & values) {
    shape bits;
    std::memcpy(bits.data(), values.data(), sizeof bits);
    return bits;
}

plan plan_upscale(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * src     = dst->src[0];
    const uint32_t      flags   = static_cast<uint32_t>(param_i32(dst, 0));
    const uint32_t      mode    = flags & 0xff;
    const bool          corners = (flags & GGML_SCALE_FLAG_ALIGN_CORNERS) != 0;
    if (!is_float(src->type) || !is_float(dst->type) || mode >= GGML_SCALE_MODE_COUNT) {
        return unsupported("%s to %s in mode %u", ggml_type_name(src->type), ggml_type_name(dst->type), mode);
    }
    std::array<float, 4> scale;
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        const bool ends = corners && d < 2 && dst->ne[d] > 1 && src->ne[d] > 1;
        scale[d]        = ends ? float(dst->ne[d] - 1) / float(src->ne[d] - 1) : float(dst->ne[d]) / float(src->ne[d]);
    }
    return over_windows(caps, dst, src, [&](const window & to, const window & source) {
        step s;
        s.kernel   = gpu::kernel_name("shape/upscale").threads(threads);
        s.operands = { bind("src", source.tensor), bind_dest("dst", to.tensor, false) };
        s.params.add("count", count(to.tensor)).add("mode", mode).add("antialias", uint32_t((flags & GGML_SCALE_FLAG_ANTIALIAS) != 0));
        s.params.add("centre", corners ? 0.0f : 0.5f).add("add", uint32_t(source.first != shape{})).add("scale", bits_of(scale));
        s.params.add("dst_ne", ne(to.tensor)).add("dst_nb", nb(to.tensor)).add("dst_first", to.first);
        s.params.add("src_ne", ne(source.tensor)).add("src_nb", nb(source.tensor)).add("src_first", source.first).add("src_whole", ne(src));
        s.groups = groups_for(count(to.tensor), threads);
        return s;
    });
}

plan plan_arange(const gpu::capabilities & caps, const ggml_tensor * dst) {
    if (dst->type != GGML_TYPE_F32 || !ggml_is_contiguous(dst)) {
        return unsupported("%s", ggml_type_name(dst->type));
    }
    plan p;
    for (const window & to : windows_that_fit(caps, dst, p.slices)) {
        step s;
        s.kernel   = gpu::kernel_name("shape/arange").threads(threads);
        s.operands = { bind("dst", to.tensor) };
        s.params.add("count", count(to.tensor)).add("first", to.first[0]);
        s.params.add("start", param_f32(dst, 0)).add("step", param_f32(dst, 2));
        s.groups = groups_for(count(to.tensor), threads);
        p.steps.push_back(std::move(s));
    }
    return p;
}

// Row i of dst: the cosines, then the sines of timestep i times dim / 2 frequencies.
plan plan_timestep_embedding(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    if (!is_float(src->type) || !is_float(dst->type)) {
        return unsupported("%s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    return over_windows(caps, dst, src, [&](const window & to, const window & source) {
        step s;
        s.kernel   = gpu::kernel_name("shape/timestep").threads(threads);
        s.operands = { bind("src", source.tensor), bind_dest("dst", to.tensor, false) };
        s.params.add("count", count(to.tensor)).add("half", uint32_t(param_i32(dst, 0)) / 2);
        s.params.add("log_period", std::log(float(param_i32(dst, 1))));
        s.params.add("dst_ne", ne(to.tensor)).add("dst_nb", nb(to.tensor)).add("dst_first", to.first);
        s.params.add("src_ne", ne(source.tensor)).add("src_nb", nb(source.tensor)).add("src_first", source.first);
        s.groups = groups_for(count(to.tensor), threads);
        return s;
    });
}

}  // namespace ops
