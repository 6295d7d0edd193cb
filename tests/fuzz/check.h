// Computes a graph on the device and on the CPU backend and looks for a difference.
#pragma once

#include "choices.h"
#include "recipe.h"

#include <ggml-backend.h>
#include <map>
#include <optional>
#include <string>

namespace fuzz {

struct failure {
    size_t      line = 0;
    std::string what;
};

struct tally {
    std::map<std::string, size_t> computed, unjudged, unsupported;  // nodes by op; unjudged: computed, but see compare.h
};

// Node by node: each from the CPU's values, so that differences do not add up; what lies outside its result must not
// change. Then the whole graph at once by ggml's scheduler, in memory that results share, again, and with other arguments:
// it must have the results of its nodes alone.
std::optional<failure> check(const recipe & r, uint64_t seed, ggml_backend_t cpu, ggml_backend_t device, tally & seen);

}  // namespace fuzz
