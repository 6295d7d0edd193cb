#include "ops/columns.h"

#include <algorithm>
#include <bit>

namespace ops {

static constexpr uint32_t quad = 4;  // values

uint32_t packed_columns::pages() const {
    return static_cast<uint32_t>(groups_for(units, page_units));
}

uint64_t packed_columns::bytes() const {
    return uint64_t(blocks) * pages() * block * page_units * (spread ? 6 : 5) * 16;
}

packed_columns columns_of(const ggml_tensor * src1, uint32_t block, bool spread) {
    const uint32_t units  = static_cast<uint32_t>(groups_for(src1->ne[0], unit_values));
    const uint64_t blocks = groups_for(src1->ne[1], block) * static_cast<uint64_t>(src1->ne[2] * src1->ne[3]);
    return { units, std::min(std::bit_ceil(units), 32u), block, static_cast<uint32_t>(blocks), spread };
}

void bind_columns(step & s, const packed_columns & columns) {
    s.kernel.define("src1_PAGE_UNITS", columns.page_units).define("src1_SPREAD", columns.spread);
    operand o = bind_prepared("src1", columns.bytes(), false);
    o.wide    = true;  // kernels read quads of words and write words
    s.operands.push_back(o);
    s.params.add("src1_pages", columns.pages());
}

// Eight threads share a block of 32 values.
static bool threads_share_blocks(const gpu::capabilities & caps) {
    return caps.subgroups && caps.subgroup_min >= 8;
}

step quantise_step(const gpu::capabilities & caps, const ggml_tensor * src1, const packed_columns & to) {
    static constexpr uint32_t threads  = 64;
    const bool                in_quads = quads(src1);
    const uint32_t            column   = to.units * unit_values / quad;
    step                      s;
    s.kernel = gpu::kernel_name("matmul/quantise").threads(threads).define("columns_PAGE_UNITS", to.page_units);
    if (in_quads) {
        s.kernel.define("QUADS_B");
    }
    if (to.spread) {
        s.kernel.define("columns_SPREAD");
    }
    s.operands = { bind_source("src1", src1, in_quads), bind_prepared("columns", to.bytes(), true) };
    s.params.add("column_quads", column).add("columns", rows(src1)).add("k_blocks", static_cast<uint32_t>(src1->ne[0] / 32));
    s.params.add("columns_ne", ne(src1)).add("src1_nb", nb(src1)).add("columns_pages", to.pages());
    s.params.add("columns_tiles", static_cast<uint32_t>(groups_for(src1->ne[1], to.block)));
    s.params.add("tile_shift", static_cast<uint32_t>(std::countr_zero(to.block)));
    s.groups   = groups_for(uint64_t(column) * rows(src1) / (threads_share_blocks(caps) ? 1 : 8), threads);
    s.prepares = true;
    return s;
}

bool quantises_tensor(const step & s, const ggml_tensor * src1) {
    return s.kernel.shader() == "matmul/quantise" && s.operands[0].tensor == src1;
}

bool quantise_within(step & from, const gpu::capabilities & caps, const ggml_tensor * dst, const step & quantise) {
    const ggml_tensor * src1 = quantise.operands[0].tensor;
    const bool          same = dst->data == src1->data && dst->type == GGML_TYPE_F32 && src1->type == GGML_TYPE_F32 && ggml_is_contiguous(dst) &&
                      ggml_is_contiguous(src1) && ggml_nelements(dst) == ggml_nelements(src1);
    // Rows of whole units, so that no thread has less to do than its neighbours.
    if (!same || !threads_share_blocks(caps) || dst->ne[0] % 32 != 0 || src1->ne[0] % unit_values != 0) {
        return false;
    }
    for (const auto & [name, value] : quantise.kernel.defined()) {
        if (std::strcmp(name, "columns_PAGE_UNITS") == 0 || std::strcmp(name, "columns_SPREAD") == 0) {
            from.kernel.define(name, value);
        }
    }
    from.kernel.define("QUANTISES");
    from.operands.push_back(quantise.operands[1]);
    from.params.append(quantise.params, { "column_quads", "columns", "columns_ne", "columns_pages", "columns_tiles", "tile_shift" });
    return true;
}

}  // namespace ops
