// Expands the shader files: #include with instances, #define, #if. src/shaders/README.md lists the rules.
//
// Neither of the C preprocessors at hand fits: WGSL needs one file instantiated under several names (`#include "x" as k`),
// which C's macros can only do by listing every function of the file; mcpp reads from files and keeps global state, and
// Boost.Wave brings a C++ grammar. docs/decisions.md has the longer form.
#pragma once

#include "gpu/status.h"

#include <map>
#include <string>
#include <string_view>

namespace gpu {

using defines = std::map<std::string, std::string, std::less<>>;

// The expanded text of the embedded file `path`. Errors name file and line.
result<std::string> expand_shader(std::string_view path, const defines & given);

// The same for a text given directly; `name` stands for it in errors.
result<std::string> expand_text(std::string_view name, std::string_view text, const defines & given);

// Statements for the end of `module`, expanded WGSL: they keep it from compiling unless each workgroup variable has whole 16 bytes.
// Subgroup matrices need it (src/shaders/README.md).
std::string assert_whole_quads(std::string_view module);

}  // namespace gpu
