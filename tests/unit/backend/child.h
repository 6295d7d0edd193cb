// A test process of its own, for what a process can do only once.
#pragma once

#include <string>

namespace test {

// Runs the disabled test `name` of this program with `environment` ("NAME=value ...") set. Its output, with a last line
// "ended well" or "failed".
std::string run_child(const std::string & name, const std::string & environment);

size_t count_of(const std::string & text, const std::string & part);

}  // namespace test
