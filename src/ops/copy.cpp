// CPY, CONT and DUP: dst = src, value by value in the order of each tensor; the shapes may differ, their counts do not.
#include "ops/families.h"

#include <algorithm>
#include <numeric>

namespace ops {

static constexpr uint32_t threads = 256;

//
// same type: bytes move as they are
//

// Both tensors as arrays of the largest units (16, 4, 2 or 1 bytes) that all their sizes, strides and starts are multiples of.
struct unit_layout {
    uint32_t bytes;
    uint32_t parts;  // units of an element that stay together
    shape    src_ne, src_nb, dst_ne, dst_nb;
};

static uint64_t address(const ggml_tensor * t) {
    return reinterpret_cast<uintptr_t>(t->data);
}

// 16, 4, 2 or 1 bytes
static uint32_t unit_of(std::initializer_list<const ggml_tensor *> tensors, bool by_rows) {
    uint64_t common = 16;
    for (const ggml_tensor * t : tensors) {
        common = std::gcd(common, address(t));
        common = std::gcd(common, by_rows ? ggml_row_size(t->type, t->ne[0]) : ggml_type_size(t->type));
        for (int d = by_rows ? 1 : 0; d < GGML_MAX_DIMS; d++) {
            if (t->ne[d] > 1) {
                common = std::gcd(common, t->nb[d]);
            }
        }
    }
    return common == 8 ? 4 : static_cast<uint32_t>(common);
}

static shape sizes_in_units(const ggml_tensor * t, uint32_t unit, bool by_rows) {
    shape sizes = ne(t);
    sizes[0]    = static_cast<uint32_t>(by_rows ? ggml_row_size(t->type, t->ne[0]) / unit : t->ne[0] / ggml_blck_size(t->type));
    return sizes;
}

static shape strides_in_units(const ggml_tensor * t, uint32_t unit, bool by_rows) {
    shape strides;
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        strides[d] = static_cast<uint32_t>(t->nb[d] / unit);
    }
    if (by_rows) {
        strides[0] = 1;
    }
    return strides;
}

static operand bind_bits(const char * name, const ggml_tensor * t, uint32_t unit) {
    operand o = bind(name, t);
    o.type    = "bits";
    o.wide    = unit == 16;
    return o;
}

static plan move_units(const ggml_tensor * src, const ggml_tensor * dst) {
    const size_t   size    = ggml_type_size(dst->type);
    const bool     by_rows = src->nb[0] == size && dst->nb[0] == size;
    const uint32_t unit    = unit_of({ src, dst }, by_rows);
    const bool     flat    = ggml_is_contiguous(dst);
    const bool     narrow  = unit < 4;

    step s;
    s.operands = { bind_bits("src", src, unit), bind_bits("dst", dst, unit) };
    s.operands[1].atomic = narrow && !flat;

    const uint32_t count = static_cast<uint32_t>(ggml_nelements(dst) / ggml_blck_size(dst->type) * size / unit);
    s.params.add("count", count).add("parts", by_rows ? 1u : static_cast<uint32_t>(size / unit));
    s.params.add("src_flat", uint32_t(ggml_is_contiguous(src))).add("dst_flat", uint32_t(flat));
    s.params.add("src_ne", sizes_in_units(src, unit, by_rows)).add("src_nb", strides_in_units(src, unit, by_rows));
    s.params.add("dst_ne", sizes_in_units(dst, unit, by_rows)).add("dst_nb", strides_in_units(dst, unit, by_rows));

    const bool by_words = narrow && flat;
    s.kernel = gpu::kernel_name(by_words ? "copy/words" : "copy/units").threads(threads).define("UNIT", unit);
    s.groups = by_words ? groups_for(uint64_t(count) * unit + address(dst) % 4, 4 * threads) : groups_for(count, threads);
    return s;
}

//
// another type
//

static void add_order(step & s, const char * flat, const char * sizes, const char * strides, const ggml_tensor * t) {
    s.params.add(flat, uint32_t(ggml_is_contiguous(t))).add(sizes, ne(t)).add(strides, nb(t));
}

static void add_orders(step & s, const ggml_tensor * src, const ggml_tensor * dst) {
    add_order(s, "src_flat", "src_ne", "src_nb", src);
    add_order(s, "dst_flat", "dst_ne", "dst_nb", dst);
}

static plan convert_values(const ggml_tensor * src, const ggml_tensor * dst) {
    const bool src_quads = quads(src) || (is_block(src->type) && src->nb[0] == ggml_type_size(src->type));
    const bool dst_quads = quads(dst);

    step s;
    s.kernel = gpu::kernel_name("copy/values").threads(threads);
    if (src_quads) {
        s.kernel.define("SRC_QUADS");
    }
    if (dst_quads) {
        s.kernel.define("DST_QUADS");
    }
    s.operands = { bind_source("src", src, src_quads), bind_dest("dst", dst, dst_quads) };
    s.params.add("count", count(dst));
    add_orders(s, src, dst);
    s.groups = groups_for(count(dst), 4 * threads);
    return s;
}

static plan encode_blocks(const ggml_tensor * src, const ggml_tensor * dst) {
    const int64_t values = ggml_blck_size(dst->type);
    const bool    whole  = !is_block(src->type) && src->ne[0] % values == 0;

    step s;
    s.kernel   = gpu::kernel_name("copy/encode").threads(64);
    s.operands = { bind("src", src), bind_dest("dst", dst, false) };
    s.params.add("count", count(dst)).add("src_step", whole ? nb(src)[0] : 0u);
    add_orders(s, src, dst);
    s.groups = groups_for(count(dst) / values, 64);
    return s;
}

plan plan_copy(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    if (src->type == dst->type) {
        return move_units(src, dst);
    }
    const bool from_float = is_float(src->type) || is_block(src->type);
    if (from_float && has_encoder(dst->type)) {
        return encode_blocks(src, dst);
    }
    if ((from_float || src->type == GGML_TYPE_I32) && (is_float(dst->type) || (dst->type == GGML_TYPE_I32 && from_float))) {
        return convert_values(src, dst);
    }
    return unsupported("%s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
}

}  // namespace ops
