#include "gpu/settings.h"

#include "gpu/log.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace gpu {

static std::string_view variable(const char * name) {
    const char * value = std::getenv(name);
    return value != nullptr ? value : "";
}

static status read_switch(const char * name, bool & value) {
    const std::string_view text = variable(name);
    if (text.empty() || text == "0" || text == "1") {
        value = text == "1";
        return {};
    }
    return status::failure(format("%s is '%s', but only 0 and 1 are understood", name, text.data()));
}

// Bytes with an optional suffix K, M or G (powers of 1024).
static status read_bytes(const char * name, uint64_t & value) {
    const std::string_view text = variable(name);
    if (text.empty()) {
        return {};
    }
    uint64_t   number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    const std::string_view suffix(parsed.ptr, text.data() + text.size() - parsed.ptr);
    const uint64_t scale = suffix.empty() ? 1 : suffix == "K" ? 1 << 10 : suffix == "M" ? 1 << 20 : suffix == "G" ? 1 << 30 : 0;
    if (parsed.ec != std::errc() || scale == 0 || number == 0 || number > UINT64_MAX / scale) {
        return status::failure(format("%s is '%s'; give bytes such as 1048576, 64K, 1M or 2G", name, text.data()));
    }
    value = number * scale;
    return {};
}

static status read_disabled(settings & s) {
    const struct {
        std::string_view name;
        bool *           value;
    } features[] = {
        { "f16", &s.no_f16 },
        { "subgroups", &s.no_subgroups },
        { "subgroup_size", &s.no_subgroup_size },
        { "subgroup_matrix", &s.no_subgroup_matrix },
        { "packed_dot", &s.no_packed_dot },
        { "fusion", &s.no_fusion },
        { "timestamps", &s.no_timestamps },
    };
    std::string_view rest = variable("GGML_WEBGPU_DISABLE");
    while (!rest.empty()) {
        const std::string_view name = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), name.size() + 1));
        bool known = name.empty();
        for (const auto & feature : features) {
            if (feature.name == name) {
                *feature.value = true;
                known          = true;
            }
        }
        if (!known) {
            return status::failure(format("GGML_WEBGPU_DISABLE names '%s'; known are f16, subgroups, subgroup_size, "
                                          "subgroup_matrix, packed_dot, fusion and timestamps, separated by commas", std::string(name).c_str()));
        }
    }
    return {};
}

static status read_limits(settings & s) {
    const std::string_view text = variable("GGML_WEBGPU_LIMITS");
    if (text.empty() || text == "webgpu-default") {
        s.default_limits = !text.empty();
        return {};
    }
    return status::failure(format("GGML_WEBGPU_LIMITS is '%s', but only webgpu-default is understood", text.data()));
}

// Where this platform keeps what can be made again; empty when the environment does not say.
static std::string users_cache_folder() {
#if defined(_WIN32)
    return std::string(variable("LOCALAPPDATA"));
#else
    const std::string_view home   = variable("HOME");
    const auto             inside = [=](const char * name) { return home.empty() ? std::string() : std::string(home) + name; };
#    if defined(__APPLE__)
    return inside("/Library/Caches");
#    else
    const std::string_view named = variable("XDG_CACHE_HOME");
    return named.substr(0, 1) == "/" ? std::string(named) : inside("/.cache");
#    endif
#endif
}

static std::string read_kernel_cache() {
    const std::string_view named = variable("GGML_WEBGPU_KERNEL_CACHE");
    if (!named.empty()) {
        return named == "0" ? std::string() : std::string(named);
    }
    const std::string folder = users_cache_folder();
    return folder.empty() ? folder : folder + "/ggml-webgpu/kernels";
}

result<settings> read_settings() {
    settings s;
    s.library = variable("GGML_WEBGPU_LIBRARY");
    s.adapter = variable("GGML_WEBGPU_ADAPTER");
    s.kernel_cache = read_kernel_cache();
    for (status read : { read_disabled(s), read_limits(s), read_bytes("GGML_WEBGPU_MAX_BINDING", s.max_binding),
                         read_switch("GGML_WEBGPU_DEBUG", s.debug), read_switch("GGML_WEBGPU_PROFILE", s.profile),
                         read_switch("GGML_WEBGPU_VALIDATE", s.validate), read_switch("GGML_WEBGPU_CHECK_KERNELS", s.check_kernels),
                         read_switch("GGML_WEBGPU_LIST_KERNELS", s.list_kernels) }) {
        if (!read.ok()) {
            return read;
        }
    }
    if (s.max_binding != 0 && s.max_binding < 65536) {
        return status::failure("GGML_WEBGPU_MAX_BINDING is below 64K, the least the kernels can work with");
    }
    return s;
}

}  // namespace gpu
