// A graph's tensors in a backend's memory. Two worlds of the same recipe and seed have the same layout.
#pragma once

#include "recipe.h"

#include <cstdint>
#include <ggml-backend.h>
#include <utility>

namespace fuzz {

// Where each tensor of a graph lies: neighbours of no order, with gaps, in one buffer or several.
struct memory_plan {
    struct place {
        size_t buffer = 0, offset = 0;
    };
    std::vector<place>  places;   // of a line's root
    std::vector<size_t> buffers;  // their sizes
};

memory_plan plan_memory(const graph & g, uint64_t seed, const std::vector<ggml_backend_buffer_type_t> & types);

using bytes = std::vector<std::vector<uint8_t>>;  // of all buffers

class world {
public:
    world(ggml_backend_t backend, const recipe & r, const memory_plan & plan);

    ggml_backend_t backend() const { return backend_; }
    ggml_tensor *  tensor(size_t line) const { return graph_.tensors[line]; }

    void  set(const bytes & all);
    bytes get() const;
    // Where a tensor's first byte lies among all.
    const uint8_t * in(const bytes & all, size_t line) const;
    uint8_t *       in(bytes & all, size_t line) const { return const_cast<uint8_t *>(in(std::as_const(all), line)); }

    // Computes one node alone. The empty text, or why not.
    std::string compute(size_t line);

private:
    ggml_backend_t                       backend_;
    graph                                graph_;
    memory_plan                          plan_;
    std::vector<ggml_backend_buffer_ptr> buffers_;
    std::vector<ggml_tensor *>           wholes_;  // each covers a buffer
    ggml_context_ptr                     context_;
    ggml_cgraph *                        single_;
};

// The values of a graph's leaves; elsewhere a pattern that is not a number.
void fill_leaves(const recipe & r, const world & w, uint64_t seed, bytes & all);
// The values of one.
std::vector<uint8_t> leaf_bytes(const line & l, uint64_t seed);

}  // namespace fuzz
