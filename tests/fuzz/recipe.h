// A graph as lines, each a call of one of ggml's builders on the results of earlier lines. It can be built any number of
// times, and printed as the C++ that builds it.
#pragma once

#include <ggml-cpp.h>
#include <ggml.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

class maker;

// The values of a leaf.
struct fill {
    enum class kind {
        uniform,      // in [lo, hi)
        special,      // the same with some NaN, infinities and zeros
        index,        // whole numbers in [0, hi)
        permutation,  // the same; those of one row (ne[0]) differ
        mask,         // 0 or -infinity; the first of a row is 0
        stairs,       // lo, lo + 1, ...
    };
    kind  is = kind::uniform;
    float lo = -1.0f, hi = 1.0f;
};

struct line {
    const struct op *    made_by = nullptr;
    std::vector<int>     sources;  // lines; -1: absent
    std::vector<int64_t> n;        // whole-number arguments
    std::vector<float>   x;        // the other ones
    fill                 values;   // of a leaf
};

// How a device's result is compared with the CPU's.
struct rule {
    // Squares of differences, in units of the squares of the values; 0: equal.
    double tolerance = 1e-7;

    // Sources larger than this, or not finite where it is set, are not compared: the CPU has no exact result itself.
    double limit  = INFINITY;
    bool   finite = false;

    // Where terms of a result cancel, its own square is no measure of their rounding. This is added to it: 1, or so many
    // products of values of both sources; without a second source, so many values of the first.
    enum class terms { none, unit, one, row, column, all, kernel, quotient, mean } sums = terms::none;

    // The first source's type sets the tolerance.
    bool weight = false;

    // The result is numbers of values in rows of the source, in order or not, of which equal values may be swapped.
    enum class order { no, all, set } ranks = order::no;
};

// A builder and all that the fuzzer knows of it.
struct op {
    const char * name;
    uint32_t     weight;                            // how often it is chosen
    bool (*choose)(maker & m, line & l);            // chooses sources and arguments; false: none fit
    ggml_tensor * (*build)(ggml_context * ctx, ggml_tensor * const * t, const int64_t * n, const float * x);
    const char *     text;                          // of `build`: t[i], n[i] and x[i] stand for the arguments
    rule             judged_by = {};
    const char *     next      = nullptr;           // an op that often follows in models
    std::vector<int> writes    = {};                // sources that it changes besides its result
};

// For tables of ops: the builder and its text.
#define CALL(...)                                                                                                                            \
    [](ggml_context * ctx, [[maybe_unused]] ggml_tensor * const * t, [[maybe_unused]] const int64_t * n, [[maybe_unused]] const float * x) { \
        return static_cast<ggml_tensor *>(__VA_ARGS__);                                                                                      \
    },                                                                                                                                       \
        TEXT(__VA_ARGS__)
#define TEXT(...) #__VA_ARGS__  // with macros expanded

// For builders that return nothing: what they are told of another's result `y`.
#define WITH(result, ...) [&] { ggml_tensor * y = result; __VA_ARGS__; return y; }()

using recipe = std::vector<line>;

// A leaf is made by this op; n: type and sizes.
extern const op leaf;

ggml_tensor * build_line(ggml_context * ctx, const line & l, const std::vector<ggml_tensor *> & earlier);

struct graph {
    ggml_context_ptr           context;
    std::vector<ggml_tensor *> tensors;  // one a line
    ggml_cgraph *              all = nullptr;
};

// All lines, in this order also in `all`. No memory is allocated for the tensors.
graph build(const recipe & r);

bool is_leaf(const line & l);
// Reshapes and the like compute nothing.
bool is_view(const ggml_tensor * t);
// The tensor in whose memory t lies.
const ggml_tensor * root_of(const ggml_tensor * t);

std::string shape_text(const ggml_tensor * t);
std::string to_cpp(const recipe & r);

}  // namespace fuzz
