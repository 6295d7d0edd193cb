// Whether a device's result is the CPU's, as its op's rule has it.
#pragma once

#include "recipe.h"

#include <cstdint>
#include <functional>

namespace fuzz {

// Where a tensor's first byte lies in some copy of the graph's memory.
using locate = std::function<const uint8_t *(const ggml_tensor *)>;

// Runs of bytes that make up a tensor, in the order of its values.
void for_each_run(const ggml_tensor * t, const std::function<void(size_t offset, size_t bytes)> & use);

// Whole numbers too; blocks are decoded.
std::vector<double> values_of(const ggml_tensor * t, const uint8_t * data);

struct verdict {
    bool        judged = true;  // false: the CPU's values are not to be trusted, see rule
    std::string difference;     // in words; empty: none
};

// How the device's values of `result` differ from the CPU's. Sources are as they were before.
verdict compare(const line & l, const ggml_tensor * node, const ggml_tensor * result, const locate & sources, const locate & cpu, const locate & device);

// The same in words for two results of one device that may have rounded differently. `allowed` is as rule::tolerance.
std::string difference(const ggml_tensor * result, const uint8_t * expected, const uint8_t * found, double allowed);

// Squares of differences, in units of the squares of the expected values.
double error_of(const ggml_tensor * result, const uint8_t * expected, const uint8_t * found);

}  // namespace fuzz
