// Makes a graph from decisions: ops choose their sources among earlier results, or ask for new leaves, plain ones and views.
#pragma once

#include "choices.h"
#include "recipe.h"

#include <array>
#include <ggml-backend.h>
#include <span>

namespace fuzz {

using shape = std::array<int64_t, GGML_MAX_DIMS>;
using types = std::initializer_list<ggml_type>;

// What an op asks of its source's strides; each includes the ones before.
enum class layout {
    any,         // also transposed
    rows,        // the values of a row are contiguous
    even,        // and the rows are evenly spaced
    contiguous,
};

inline constexpr ggml_type F32 = GGML_TYPE_F32, F16 = GGML_TYPE_F16, BF16 = GGML_TYPE_BF16, I32 = GGML_TYPE_I32, I64 = GGML_TYPE_I64;

shape shape_of(const ggml_tensor * t);

class maker {
public:
    maker(recipe & lines, ggml_context * context) : decide(none_, nullptr), lines_(lines), context_(context) {}

    // Adds a node made by `o`; false if nothing fits, or the reference cannot compute it.
    bool add_node(const op & o, ggml_backend_dev_t reference);

    const ggml_tensor * operator[](int line) const { return tensors_[static_cast<size_t>(line)]; }

    //
    // for ops
    //

    choices decide;  // of the node that is being made

    // A result or leaf of any shape and one of these types; the op may overwrite it.
    int source(types of, layout at_least);
    // One of this type and shape.
    int operand(ggml_type type, const shape & ne, layout at_least, fill values = {});
    // A leaf that nothing else uses: indices, parameters.
    int leaf(ggml_type type, const shape & ne, fill values);

    // Adds a reshape, permutation or view of a line.
    int derived(const op & o, int of, std::vector<int64_t> n);

    // Sizes: mostly small or beside a power of two; with ne[0] a multiple of `unit`.
    int64_t size();
    shape   any_shape(int64_t unit = 1);
    // One that can be repeated to `whole`.
    shape part_of(const shape & whole);
    // A number from `from` to `to`.
    int64_t between(int64_t from, int64_t to) { return from + decide.below(static_cast<uint32_t>(to - from + 1)); }

    ggml_type weight_type();  // float or quantised
    ggml_type block_type();
    float     epsilon() { return decide.of({ 1e-5f, 1e-6f, 0.1f }); }

    // Two lines share memory.
    bool overlap(int a, int b) const { return root_of((*this)[a]) == root_of((*this)[b]); }

private:
    int  add(line l);
    int  found(auto fits);
    bool is_kept(int line) const;
    int  fresh(ggml_type type, const shape & ne, layout at_least, fill values);

    std::vector<uint32_t>      none_;
    recipe &                   lines_;
    ggml_context *             context_;
    std::vector<ggml_tensor *> tensors_;
    std::vector<bool>          kept_;  // leaves that must not be overwritten
};

bool has_layout(const ggml_tensor * t, layout at_least);

// All ops, by family.
extern const std::span<const op> elementwise_ops, row_ops, product_ops, copy_ops, image_ops, sequence_ops;

// The graph of a genome. Nodes that the reference cannot compute are left out.
recipe make_graph(genome & g, uint64_t * random, ggml_backend_dev_t reference);
// A random genome.
genome random_genome(uint64_t seed, ggml_backend_dev_t reference);

}  // namespace fuzz
