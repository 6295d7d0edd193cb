#include "ops/units.h"

#include <numeric>

namespace ops {

static constexpr uint32_t threads = 256;

static uint64_t address(const ggml_tensor * t) {
    return reinterpret_cast<uintptr_t>(t->data);
}

static uint32_t unit_of(std::initializer_list<const ggml_tensor *> tensors, bool by_rows, uint64_t step) {
    uint64_t common = std::gcd(16, step);
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

uint32_t unit_by_rows(std::initializer_list<const ggml_tensor *> tensors, uint64_t step) {
    return unit_of(tensors, true, step);
}

uint32_t unit_by_elements(std::initializer_list<const ggml_tensor *> tensors) {
    return unit_of(tensors, false, 16);
}

shape sizes_in_units(const ggml_tensor * t, uint32_t unit, bool by_rows) {
    shape sizes = ne(t);
    sizes[0]    = static_cast<uint32_t>(by_rows ? ggml_row_size(t->type, t->ne[0]) / unit : t->ne[0] / ggml_blck_size(t->type));
    return sizes;
}

shape strides_in_units(const ggml_tensor * t, uint32_t unit, bool by_rows) {
    shape strides;
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        strides[d] = static_cast<uint32_t>(t->nb[d] / unit);
    }
    if (by_rows) {
        strides[0] = 1;
    }
    return strides;
}

operand bind_bits(const char * name, const ggml_tensor * t, uint32_t unit) {
    operand o = bind(name, t);
    o.type    = "bits";
    o.wide    = unit == 16;
    return o;
}

step unit_step(const char * source, const ggml_tensor * src, const ggml_tensor * dst, uint32_t unit, bool by_rows) {
    const size_t   size     = ggml_type_size(dst->type);
    const bool     flat     = ggml_is_contiguous(dst);
    const bool     narrow   = unit < 4;
    const bool     by_words = narrow && flat;
    const uint32_t count    = static_cast<uint32_t>(ggml_nelements(dst) / ggml_blck_size(dst->type) * size / unit);

    step s;
    s.kernel = gpu::kernel_name(by_words ? "copy/words" : "copy/units").threads(threads).define("UNIT", unit).define("SOURCE", source);
    s.operands = { bind_bits("src", src, unit), bind_bits("dst", dst, unit) };
    s.operands[1].atomic = narrow && !flat;
    s.params.add("count", count).add("parts", by_rows ? 1u : static_cast<uint32_t>(size / unit));
    s.params.add("src_flat", uint32_t(ggml_is_contiguous(src))).add("dst_flat", uint32_t(flat));
    s.params.add("src_ne", sizes_in_units(src, unit, by_rows)).add("src_nb", strides_in_units(src, unit, by_rows));
    s.params.add("dst_ne", sizes_in_units(dst, unit, by_rows)).add("dst_nb", strides_in_units(dst, unit, by_rows));
    s.groups = by_words ? groups_for(uint64_t(count) * unit + address(dst) % 4, 4 * threads) : groups_for(count, threads);
    return s;
}

}  // namespace ops
