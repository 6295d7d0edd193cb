// Makes a failing graph smaller.
#pragma once

#include "choices.h"

#include <functional>

namespace fuzz {

// Drops nodes and lowers decisions as long as `fails` says so, asking it at most `tries` times.
genome shrink(genome g, const std::function<bool(const genome &)> & fails, int tries);

}  // namespace fuzz
