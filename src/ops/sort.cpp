// ARGSORT and TOP_K: rows are sorted in tiles of workgroup memory; longer ones take more steps over what the first left.
#include "ops/families.h"
#include "ops/row_wise.h"

#include <bit>

namespace ops {

static constexpr uint32_t threads    = 256;
static constexpr uint32_t items      = 8;  // of a thread, as in shaders/sort
static constexpr uint32_t tile_items = threads * items;

namespace {

// Makes the steps that leave the indices of the first `wanted` values of each row, in order, in dst.
class sorter {
public:
    sorter(const ggml_tensor * dst, bool descending)
        : dst_(dst), src_(dst->src[0]), descending_(descending), rows_(rows(src_)), wanted_(static_cast<uint32_t>(dst->ne[0])),
          length_(static_cast<uint32_t>(src_->ne[0])) {}

    plan steps() {
        sort_tiles(false);
        while (chunks_ > 1) {
            // A few of each run: sorting them again cuts more than merging in pairs.
            if (run_ * 8 <= tile_items) {
                sort_tiles(true);
            } else {
                merge_pairs();
            }
        }
        return std::move(plan_);
    }

private:
    // From `length_` values or candidates of a row, in chunks, to sorted runs.
    void sort_tiles(bool candidates) {
        const uint32_t segment = std::min(tile_items, std::bit_ceil(std::max(length_, items)));
        const uint32_t keep    = std::min(segment, wanted_);
        step           s       = over("sort/tile");
        if (candidates) {
            s.kernel.define("CANDIDATES");
            s.operands.push_back(previous("candidates"));
        }
        chunks_ = (length_ + segment - 1) / segment;
        s.params.add("segment", segment).add("chunks", chunks_).add("keep", keep).add("row_count", rows_);
        s.groups = groups_for(uint64_t(rows_) * chunks_, tile_items / segment);
        finish(std::move(s), keep, length_ - (chunks_ - 1) * segment);
    }

    void merge_pairs() {
        const uint32_t keep  = std::min(2 * run_, wanted_);
        const uint32_t pairs = (chunks_ + 1) / 2;
        const uint32_t work  = rows_ * pairs * ((keep + items - 1) / items);
        step           s     = over("sort/merge");
        s.operands.push_back(previous("runs"));
        s.params.add("threads", work).add("pairs", pairs).add("run", run_).add("keep", keep);
        s.groups = groups_for(work, threads);
        chunks_  = pairs;
        finish(std::move(s), keep, length_ - (pairs - 1) * 2 * run_);
    }

    step over(const char * shader) const {
        const auto [ne0, ne1, ne2, ne3] = ne(src_);
        step s;
        s.kernel   = gpu::kernel_name(shader).threads(threads);
        s.operands = { bind("src", src_) };
        s.params.add("length", length_).add("descending", descending_ ? UINT32_MAX : 0u);
        s.params.add("rows", shape{ 1, ne1, ne2, ne3 }).add("src_nb", nb(src_));
        return s;
    }

    operand previous(const char * name) const { return bind_scratch(name, from_, scratch_words(uint64_t(rows_) * length_), "i32"); }

    // Each row is left with runs of `keep`, the last one from `last` values.
    void finish(step s, uint32_t keep, uint32_t last) {
        length_ = (chunks_ - 1) * keep + std::min(keep, last);
        run_    = keep;
        if (chunks_ == 1) {
            s.operands.push_back(bind("dst", dst_));
        } else {
            // Two areas in turn, each of the size of the first result: later ones are no larger.
            const uint64_t size = scratch_words(uint64_t(rows_) * length_);
            area_               = std::max(area_, size);
            from_               = plan_.steps.size() % 2 == 0 ? 0 : area_;
            plan_.scratch       = std::max(plan_.scratch, from_ + size);
            s.operands.push_back(bind_scratch("dst", from_, size, "i32"));
        }
        s.params.add("dst_length", length_);
        plan_.steps.push_back(std::move(s));
    }

    const ggml_tensor * dst_;
    const ggml_tensor * src_;
    bool                descending_;
    uint32_t            rows_;
    uint32_t            wanted_;
    uint32_t            length_;       // values or indices of a row so far
    uint32_t            chunks_ = 0;   // runs of a row
    uint32_t            run_    = 0;   // indices of a run
    uint64_t            area_   = 0;   // bytes
    uint64_t            from_   = 0;   // offset of the latest result in scratch
    plan                plan_;
};

}  // namespace

static plan plan_sort(const ggml_tensor * dst, bool descending) {
    const ggml_tensor * src = dst->src[0];
    if (!is_float(src->type) || dst->type != GGML_TYPE_I32) {
        return unsupported("%s to %s", ggml_type_name(src->type), ggml_type_name(dst->type));
    }
    if (!ggml_is_contiguous(dst)) {
        return unsupported("a result that is not contiguous");
    }
    return sorter(dst, descending).steps();
}

plan plan_argsort(const gpu::capabilities &, const ggml_tensor * dst) {
    return plan_sort(dst, param_i32(dst, 0) == GGML_SORT_ORDER_DESC);
}

plan plan_top_k(const gpu::capabilities &, const ggml_tensor * dst) {
    return plan_sort(dst, true);
}

}  // namespace ops
