// A graph's tensors in a backend's memory. Two worlds of the same recipe and seed have the same layout.
#pragma once

#include "recipe.h"

#include <cstdint>
#include <ggml-backend.h>
#include <new>
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

// As ggml's CPU backend wants its memory.
template <typename T> struct aligned_allocator {
    using value_type = T;
    static constexpr std::align_val_t alignment{ 64 };

    aligned_allocator() = default;
    template <typename U> aligned_allocator(const aligned_allocator<U> &) {}
    T *  allocate(size_t n) { return static_cast<T *>(::operator new(n * sizeof(T), alignment)); }
    void deallocate(T * at, size_t) { ::operator delete(at, alignment); }
    bool operator==(const aligned_allocator &) const { return true; }
};

using bytes = std::vector<std::vector<uint8_t, aligned_allocator<uint8_t>>>;  // of all buffers

// Where a line's first byte lies among all.
inline const uint8_t * in(const bytes & all, const memory_plan & plan, size_t line) {
    return all[plan.places[line].buffer].data() + plan.places[line].offset;
}
inline uint8_t * in(bytes & all, const memory_plan & plan, size_t line) {
    return const_cast<uint8_t *>(in(std::as_const(all), plan, line));
}

class world {
public:
    // In the device's memory, or on the CPU in `host_memory`.
    world(ggml_backend_t backend, const recipe & r, const memory_plan & plan, bytes * host_memory = nullptr);

    ggml_backend_t backend() const { return backend_; }
    ggml_tensor *  tensor(size_t line) const { return graph_.tensors[line]; }

    void set(const bytes & all);
    void get(bytes & all) const;

    // Computes one node alone. The empty text, or why not.
    std::string compute(size_t line);

private:
    ggml_backend_t                       backend_;
    graph                                graph_;
    std::vector<ggml_backend_buffer_ptr> buffers_;
    std::vector<ggml_tensor *>           wholes_;  // each covers a buffer
    ggml_context_ptr                     context_;
    ggml_cgraph *                        single_;
};

// The values of a graph's leaves; elsewhere a pattern that is not a number.
bytes first_bytes(const recipe & r, const memory_plan & plan, uint64_t seed);
// The values of one.
std::vector<uint8_t> leaf_bytes(const line & l, uint64_t seed);

}  // namespace fuzz
