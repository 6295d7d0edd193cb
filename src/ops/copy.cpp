// CPY, CONT and DUP: dst = src, value by value in the order of each tensor; the shapes may differ, their counts do not.
#include "ops/families.h"
#include "ops/units.h"

namespace ops {

static constexpr uint32_t threads = 256;

//
// same type: bytes move as they are
//

// The dimension along which src's values are neighbours when it is not that of dst's and tiles pay, else 0.
static int transposed_dimension(const ggml_tensor * src, const ggml_tensor * dst) {
    static constexpr int64_t least = 16;
    const size_t size  = ggml_type_size(dst->type);
    const bool   words = size == 4 || (size == 2 && dst->ne[0] % 2 == 0 && unit_by_rows({ dst }) >= 4);
    if (!words || dst->nb[0] != size || dst->ne[0] < least || !ggml_are_same_shape(src, dst)) {
        return 0;
    }
    for (int d = 1; d < GGML_MAX_DIMS; d++) {
        if (src->nb[d] == size && src->ne[d] >= least) {
            return d;
        }
    }
    return 0;
}

static plan move_tiles(const ggml_tensor * src, const ggml_tensor * dst, int down) {
    static constexpr uint32_t tile = 32;
    const uint32_t unit  = static_cast<uint32_t>(ggml_type_size(dst->type));
    const int      other = down == 1 ? 2 : 1, last = down == 3 ? 2 : 3;
    const shape    size = ne(dst), src_nb = nb(src), dst_nb = nb(dst);

    step s;
    s.kernel   = gpu::kernel_name("copy/transpose").threads(threads).define("UNIT", unit);
    s.operands = { bind_bits("src", src, unit), bind_bits("dst", dst, unit) };
    s.params.add("sizes", shape{ size[0], size[down], size[other], size[last] });
    s.params.add("src_strides", shape{ src_nb[0], src_nb[down], src_nb[other], src_nb[last] });
    s.params.add("dst_strides", shape{ dst_nb[0], dst_nb[down], dst_nb[other], dst_nb[last] });
    s.groups = groups_for(size[0], tile) * groups_for(size[down], tile) * size[other] * size[last];
    return s;
}

static plan move_units(const ggml_tensor * src, const ggml_tensor * dst) {
    if (const int down = transposed_dimension(src, dst)) {
        return move_tiles(src, dst, down);
    }
    const size_t   size    = ggml_type_size(dst->type);
    const bool     by_rows = src->nb[0] == size && dst->nb[0] == size;
    const uint32_t unit    = by_rows ? unit_by_rows({ src, dst }) : unit_by_elements({ src, dst });
    return unit_step("copy/in_order", src, dst, unit, by_rows);
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

static plan encode_blocks(const ggml_tensor * src, const ggml_tensor * dst, const encoder & by) {
    const int64_t values = ggml_blck_size(dst->type);
    const bool    whole  = !is_block(src->type) && src->ne[0] % values == 0;

    step s;
    s.kernel   = gpu::kernel_name("copy/encode").threads(by.threads);
    if (by.together) {
        s.kernel.define("TOGETHER");
    }
    s.operands = { bind("src", src), bind_dest("dst", dst, false) };
    s.params.add("count", count(dst)).add("src_step", whole ? nb(src)[0] : 0u);
    add_orders(s, src, dst);
    s.groups = groups_for(count(dst) / by.values, by.threads);
    return s;
}

plan plan_copy(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    if (src->type == dst->type) {
        return move_units(src, dst);
    }
    const bool from_float = is_float(src->type) || is_block(src->type);
    if (const auto by = encoder_of(dst->type); by && from_float) {
        return encode_blocks(src, dst, *by);
    }
    if ((from_float || src->type == GGML_TYPE_I32) && (is_float(dst->type) || (dst->type == GGML_TYPE_I32 && from_float))) {
        return convert_values(src, dst);
    }
    return unsupported("%s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
}

}  // namespace ops
