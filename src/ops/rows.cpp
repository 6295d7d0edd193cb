// Rows picked by index: GET_ROWS, SET_ROWS, ADD_ID, GET_ROWS_BACK. An index out of range raises the fault word and moves nothing.
#include "ops/rows.h"

#include "ops/families.h"

namespace ops {

static constexpr uint32_t threads = 256;

static bool is_index(ggml_type type) {
    return type == GGML_TYPE_I32 || type == GGML_TYPE_I64;
}

void add_table(step & s, const ggml_tensor * node, const table_window & window, const ggml_tensor * index) {
    s.operands.push_back(bind("index", index));
    s.operands.push_back(bind_fault());
    s.params.add("op", uint32_t(node->op)).add("begin", window.begin).add("held", window.n).add("whole", window.whole);
    s.params.add("index_ne", ne(index)).add("index_nb", nb(index));
}

plan plan_get_rows(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * table = dst->src[0];
    const ggml_tensor * index = dst->src[1];
    const bool          move  = table->type == dst->type && ggml_type_size(dst->type) == 4;
    const bool          known = move || ((is_float(table->type) || is_block(table->type)) && is_float(dst->type));
    if (!known || !is_index(index->type)) {
        return unsupported("%s rows to %s by %s", ggml_type_name(table->type), ggml_type_name(dst->type), ggml_type_name(index->type));
    }
    const bool     in_quads  = quads(dst) && (is_block(table->type) || quads(table));
    const uint32_t row_items = ne(dst)[0] / (in_quads ? 4 : 1);

    step s;
    s.kernel   = gpu::kernel_name("rows/get").threads(threads);
    s.operands = { bind_source("src", table, in_quads), bind_dest("dst", dst, in_quads) };
    if (move) {
        s.kernel.define("MOVE");
        for (operand & o : s.operands) {
            o.type = "bits";
            o.wide = in_quads;
        }
    }
    if (in_quads) {
        s.kernel.define("QUADS");
    }
    s.params.add("count", row_items * rows(dst)).add("row_items", row_items);
    s.params.add("src_nb", nb(table)).add("dst_nb", nb(dst));
    add_table(s, dst, window_of(dst, table), index);
    s.groups = groups_for(row_items * rows(dst), threads);
    return s;
}

plan plan_set_rows(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * src    = dst->src[0];
    const ggml_tensor * index  = dst->src[1];
    const auto          encode = encoder_of(dst->type);
    if (!is_float(src->type) || !(encode || is_float(dst->type)) || !is_index(index->type)) {
        return unsupported("%s to rows of %s by %s", ggml_type_name(src->type), ggml_type_name(dst->type), ggml_type_name(index->type));
    }
    const bool     in_quads    = !encode && quads(src) && quads(dst);
    const uint32_t item_values = encode ? encode->values : in_quads ? 4 : 1;
    const uint32_t group_size  = encode ? encode->threads : threads;
    shape          items       = ne(src);
    items[0] /= item_values;

    step s;
    s.kernel   = gpu::kernel_name("rows/set").threads(group_size);
    s.operands = { bind_source("src", src, in_quads), bind_dest("dst", dst, in_quads) };
    if (encode) {
        s.kernel.define("ENCODE");
        if (encode->together) {
            s.kernel.define("TOGETHER");
        }
    }
    if (in_quads) {
        s.kernel.define("QUADS");
    }
    s.params.add("count", count(src) / item_values).add("items", items);
    s.params.add("src_nb", nb(src)).add("dst_nb", nb(dst));
    add_table(s, dst, window_of(dst, dst), index);
    s.groups = groups_for(count(src) / item_values, group_size);
    s.joins  = !encode;
    return s;
}

// A row of the table for each row of src0.
plan plan_add_id(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * a     = dst->src[0];
    const ggml_tensor * table = dst->src[1];
    const ggml_tensor * index = dst->src[2];
    if (!is_float(a->type) || !is_float(table->type) || !is_float(dst->type) || !is_index(index->type)) {
        return unsupported("%s and rows of %s to %s", ggml_type_name(a->type), ggml_type_name(table->type), ggml_type_name(dst->type));
    }
    plan       p;
    const auto windows = windows_that_fit(caps, dst, p.slices), tables = windows_that_fit(caps, table, p.slices);
    if (windows.empty() || tables.empty() || tables[0].tensor->ne[0] != table->ne[0] || !fits(caps, index)) {
        return unsupported("a tensor is larger than the binding limit and cannot be cut");
    }
    for (const window & to : windows) {
        const ggml_tensor * part = matching_part(a, to, p.slices);
        for (const window & held : tables) {
            const bool     in_quads = quads(to.tensor) && quads(part) && quads(held.tensor);
            const uint32_t items    = count(to.tensor) / (in_quads ? 4 : 1);
            step           s;
            s.kernel   = gpu::kernel_name("rows/add_id").threads(threads);
            s.operands = { bind_source("a", part, in_quads), bind_source("table", held.tensor, in_quads), bind_dest("dst", to.tensor, in_quads) };
            if (in_quads) {
                s.kernel.define("QUADS");
            }
            s.params.add("count", items).add("dst_ne", ne(to.tensor)).add("dst_nb", nb(to.tensor)).add("dst_first", to.first);
            s.params.add("a_nb", nb(part)).add("table_nb", nb(held.tensor));
            add_table(s, dst, { held.first[1], ne(held.tensor)[1], ne(table)[1] }, index);
            s.groups = groups_for(items, threads);
            p.steps.push_back(std::move(s));
        }
    }
    return p;
}

plan plan_get_rows_back(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * grad  = dst->src[0];
    const ggml_tensor * index = dst->src[1];
    const bool          known = is_float(grad->type) || is_block(grad->type) || grad->type == GGML_TYPE_I32;
    if (!known || !is_index(index->type) || dst->type != GGML_TYPE_F32 || !ggml_is_contiguous(dst)) {
        return unsupported("%s rows to %s", ggml_type_name(grad->type), ggml_type_name(dst->type));
    }
    step zero;
    zero.kernel   = gpu::kernel_name("copy/zero").threads(threads);
    zero.operands = { bind("dst", dst) };
    zero.params.add("count", count(dst));
    zero.groups = groups_for(count(dst), threads);

    step add;
    add.kernel   = gpu::kernel_name("rows/get_back").threads(threads);
    add.operands = { bind("grad", grad), bind("dst", dst) };
    add.params.add("count", ne(grad)[0] * count(index)).add("columns", ne(grad)[0]).add("rows", count(index));
    add.params.add("grad_nb", nb(grad)).add("dst_nb", nb(dst));
    add_table(add, dst, window_of(dst, dst), index);
    add.groups = groups_for(ne(grad)[0] * count(index), threads);

    plan p;
    p.steps = { std::move(zero), std::move(add) };
    return p;
}

}  // namespace ops
