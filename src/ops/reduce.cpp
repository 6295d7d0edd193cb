// Many values to one: sums, the largest, counts; and running sums.
#include "ops/families.h"
#include "ops/row_wise.h"
#include "ops/split.h"

namespace ops {

// A long row is shared among workgroups: `n` pieces of `size` units, the last one may be shorter.
struct pieces {
    uint32_t size, n;
};

static pieces cut_row(uint32_t units, uint64_t rows) {
    static constexpr uint32_t least_units = 4096, most_groups = 1024;
    if (units < 4 * least_units || 4 * rows > most_groups) {
        return { units, 1 };
    }
    const uint32_t n    = std::min<uint32_t>(units / least_units, most_groups / static_cast<uint32_t>(rows));
    const uint32_t size = (units + n - 1) / n;
    return { size, (units + size - 1) / size };
}

// What shaders/reduce/sum.wgsl adds up: rows of `units`, counted by `count`, `step` apart.
struct summands {
    operand  from;
    uint32_t units;
    shape    count = { 1, 1, 1, 1 };
    shape    step  = {};
    shape    nb    = { 1, 0, 0, 0 };
    bool     in_quads = false;
    bool     slab     = false;
    shape    slab_ne  = {};
};

static summands rows_of(const ggml_tensor * t) {
    const auto [ne0, ne1, ne2, ne3] = ne(t);
    const bool in_quads             = quads(t);
    return { bind_source("src", t, in_quads), in_quads ? ne0 / 4 : ne0, { 1, ne1, ne2, ne3 }, nb(t), nb(t), in_quads };
}

// All values as one row.
static summands all_of(const ggml_tensor * t) {
    const bool contiguous = ggml_is_contiguous(t);
    const bool in_quads   = contiguous && quads(t);
    summands   s{ bind_source("src", t, in_quads), in_quads ? count(t) / 4 : count(t) };
    s.nb       = nb(t);
    s.in_quads = in_quads;
    s.slab     = !contiguous;
    s.slab_ne  = ne(t);
    return s;
}

static summands all_of_scratch(uint32_t values) {
    return { bind_scratch("src", 0, std::max<uint64_t>(values, 1) * sizeof(float)), values };
}

// One sum a row and piece, stored in a row of floats from `first` on.
static step sum_up(const summands & s, const pieces & cut, operand to, uint32_t first, float scale) {
    step sum;
    sum.kernel   = gpu::kernel_name("reduce/sum").threads(row_threads(cut.size));
    sum.operands = { s.from, std::move(to) };
    if (s.in_quads) {
        sum.kernel.define("QUADS");
    }
    if (s.slab) {
        sum.kernel.define("SLAB");
    }
    const uint32_t rows = s.count[0] * s.count[1] * s.count[2] * s.count[3];
    sum.groups          = uint64_t(rows) * cut.n;
    sum.params.add("units", s.units).add("pieces", cut.n).add("piece", cut.size).add("scale", scale).add("dst_first", first);
    sum.params.add("rows", s.count).add("src_step", s.step).add("src_nb", s.nb).add("slab_ne", s.slab_ne);
    return sum;
}

static step sum_to(const summands & s, const pieces & cut, const ggml_tensor * dst, float scale) {
    step sum = sum_up(s, cut, bind_dest("dst", dst, false), 0, scale);
    sum.params.add("dst_ne", ne(dst)).add("dst_nb", nb(dst));
    return sum;
}

static step sum_to_scratch(const summands & s, const pieces & cut, uint64_t size, uint32_t first) {
    step sum = sum_up(s, cut, bind_scratch("dst", 0, size), first, 1.0f);
    sum.params.add("dst_ne", shape{ UINT32_MAX, 1, 1, 1 }).add("dst_nb", shape{ 1, 0, 0, 0 });
    return sum;
}

// With what rounding loses kept beside the sum, as the CPU backend adds up in double: SUM ends a training's graph, and gradients are
// differences of it.
static step exactly(step sum) {
    sum.kernel.define("EXACT");
    sum.params.add("zero", 0u);
    return sum;
}

// Two values a piece: its sum and what that lost.
static step exact_pieces(const summands & s, const pieces & cut, uint64_t size, uint32_t first) {
    step sum = sum_up(s, cut, bind_scratch("dst", 0, size), first, 1.0f);
    sum.kernel.define("PIECES");
    sum.params.add("dst_ne", shape{ UINT32_MAX, 1, 1, 1 }).add("dst_nb", shape{ 2, 0, 0, 0 });
    return exactly(std::move(sum));
}

step sum_of_scratch(uint32_t values, const ggml_tensor * dst, float scale) {
    return sum_to(all_of_scratch(values), { values, 1 }, dst, scale);
}

plan plan_sum(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    if (!all_float({ src, dst })) {
        return unsupported("from %s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    if (!ggml_is_contiguous_rows(src)) {
        return unsupported("rows that are not contiguous, which ggml's CPU backend, the reference, reads wrongly");
    }
    plan p;
    if (ggml_is_empty(src)) {
        p.scratch = scratch_words(1);
        p.steps   = { sum_of_scratch(0, dst, 1.0f) };
        return p;
    }
    std::vector<summands> parts;
    uint32_t              partial_sums = 0;
    for (const ggml_tensor * part : parts_that_fit(caps, src, p.slices)) {
        parts.push_back(all_of(part));
        partial_sums += cut_row(parts.back().units, 1).n;
    }
    if (partial_sums == 1) {
        p.steps = { exactly(sum_to(parts[0], cut_row(parts[0].units, 1), dst, 1.0f)) };
        return p;
    }
    p.scratch      = scratch_words(2 * partial_sums);
    uint32_t first = 0;
    for (const summands & part : parts) {
        const pieces cut = cut_row(part.units, 1);
        p.steps.push_back(exact_pieces(part, cut, p.scratch, first));
        first += 2 * cut.n;
    }
    p.steps.push_back(exactly(sum_of_scratch(2 * partial_sums, dst, 1.0f)));
    return p;
}

// SUM_ROWS, MEAN
plan plan_sum_rows(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    if (!all_float({ src, dst })) {
        return unsupported("from %s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    const float scale = dst->op == GGML_OP_MEAN ? 1.0f / static_cast<float>(src->ne[0]) : 1.0f;
    plan        p;
    if (ggml_is_empty(src)) {
        summands zero = all_of_scratch(0);
        zero.count    = { 1, rows(dst), 1, 1 };
        p.scratch     = scratch_words(1);
        p.steps       = { sum_to(zero, { 0, 1 }, dst, scale) };
        return p;
    }
    const summands values = rows_of(src);
    const pieces   cut    = cut_row(values.units, rows(src));
    if (cut.n == 1) {
        p.steps = { sum_to(values, cut, dst, scale) };
        return p;
    }
    const uint32_t partial_sums = rows(src) * cut.n;
    summands       sums         = all_of_scratch(partial_sums);
    sums.units                  = cut.n;
    sums.count                  = { 1, rows(src), 1, 1 };
    sums.step                   = { 0, cut.n, 0, 0 };
    p.scratch                   = scratch_words(partial_sums);
    p.steps = { sum_to_scratch(values, cut, p.scratch, 0), sum_to(sums, { cut.n, 1 }, dst, scale) };
    return p;
}

static step argmax_step(const ggml_tensor * src, operand to, uint32_t length, const pieces & cut) {
    const auto [ne0, ne1, ne2, ne3] = ne(src);

    step s;
    s.kernel   = gpu::kernel_name("reduce/argmax").threads(row_threads(cut.size));
    s.operands = { bind("src", src), std::move(to) };
    s.params.add("length", length).add("pieces", cut.n).add("piece", cut.size);
    s.params.add("rows", shape{ 1, ne1, ne2, ne3 }).add("src_nb", nb(src));
    s.groups = uint64_t(rows(src)) * cut.n;
    return s;
}

plan plan_argmax(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    if (!is_float(src->type) || dst->type != GGML_TYPE_I32 || ggml_is_empty(src)) {
        return unsupported("%s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    const uint32_t length = static_cast<uint32_t>(src->ne[0]);
    const pieces   cut    = cut_row(length, rows(src));
    if (cut.n == 1) {
        return argmax_step(src, bind("dst", dst), length, cut);
    }
    plan p;
    p.scratch   = scratch_words(uint64_t(rows(src)) * cut.n);
    step first  = argmax_step(src, bind_scratch("dst", 0, p.scratch, "i32"), length, cut);
    step second = argmax_step(src, bind("dst", dst), cut.n, { cut.n, 1 });
    second.kernel.define("CANDIDATES");
    second.operands.push_back(bind_scratch("candidates", 0, p.scratch, "i32"));
    p.steps = { std::move(first), std::move(second) };
    return p;
}

static step count_step(operand a, operand to, uint32_t count, const pieces & cut, uint32_t first) {
    step s;
    s.kernel   = gpu::kernel_name("reduce/count_equal").threads(row_threads(cut.size));
    s.operands = { std::move(a), std::move(to) };
    s.params.add("count", count).add("piece", cut.size).add("dst_first", first);
    s.groups = cut.n;
    return s;
}

plan plan_count_equal(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const ggml_tensor * b = dst->src[1];
    if (a->type != GGML_TYPE_I32 || b->type != GGML_TYPE_I32 || dst->type != GGML_TYPE_I64) {
        return unsupported("%s and %s to %s", ggml_type_name(a->type), ggml_type_name(b->type), ggml_type_name(dst->type));
    }
    plan       p;
    const auto a_parts = parts_that_fit(caps, a, p.slices);
    const auto b_parts = parts_that_fit(caps, b, p.slices);
    uint32_t   counts  = 0;
    for (size_t i = 0; i < a_parts.size(); i++) {
        if (i >= b_parts.size() || !ggml_are_same_shape(a_parts[i], b_parts[i])) {
            return unsupported("tensors above the binding limit with different strides");
        }
        counts += cut_row(count(a_parts[i]), 1).n;
    }
    p.scratch      = scratch_words(std::max(counts, 1u));
    uint32_t first = 0;
    for (size_t i = 0; i < a_parts.size(); i++) {
        const ggml_tensor * a_part = a_parts[i];
        const ggml_tensor * b_part = b_parts[i];
        const pieces        cut    = cut_row(count(a_part), 1);
        const bool          only   = counts == 1;
        step s = count_step(bind("a", a_part), only ? bind("dst", dst) : bind_scratch("dst", 0, p.scratch, "i32"), count(a_part), cut, first);
        s.operands.push_back(bind("b", b_part));
        s.params.add("a_ne", ne(a_part)).add("a_nb", nb(a_part)).add("b_nb", nb(b_part));
        p.steps.push_back(std::move(s));
        first += cut.n;
    }
    if (counts != 1) {
        step s = count_step(bind_scratch("a", 0, p.scratch, "i32"), bind("dst", dst), counts, { counts, 1 }, 0);
        s.kernel.define("COUNTS");
        p.steps.push_back(std::move(s));
    }
    return p;
}

plan plan_cumsum(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    if (!all_float({ src, dst })) {
        return unsupported("from %s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    summands values = rows_of(src);
    values.units    = static_cast<uint32_t>(src->ne[0]);
    values.in_quads = false;
    values.from     = bind("src", src);
    const pieces cut = cut_row(values.units, rows(src));

    step s;
    s.kernel   = gpu::kernel_name("reduce/cumsum").threads(row_threads(cut.size));
    s.operands = { bind("src", src), bind_dest("dst", dst, false) };
    s.params.add("length", values.units).add("pieces", cut.n).add("piece", cut.size);
    s.params.add("rows", values.count).add("src_nb", nb(src)).add("dst_nb", nb(dst));
    s.groups = uint64_t(rows(src)) * cut.n;
    if (cut.n == 1) {
        return s;
    }
    plan p;
    p.scratch = scratch_words(uint64_t(rows(src)) * cut.n);
    s.kernel.define("PIECES");
    s.operands.push_back(bind_scratch("sums", 0, p.scratch));
    p.steps = { sum_to_scratch(values, cut, p.scratch, 0), std::move(s) };
    return p;
}

}  // namespace ops
