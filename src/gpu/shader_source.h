// The shader files, embedded by cmake/embed_shaders.cmake.
#pragma once

#include <span>
#include <string_view>

namespace gpu {

struct embedded_shader {
    std::string_view path;  // relative to src/shaders
    std::string_view text;
};

extern const std::span<const embedded_shader> embedded_shaders;

}  // namespace gpu
