#include "gpu/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace gpu {

static void to_stderr(log_level, const char * text) {
    fputs(text, stderr);
}

static std::atomic<log_sink> sink = to_stderr;

void set_log_sink(log_sink new_sink) {
    sink = new_sink != nullptr ? new_sink : to_stderr;
}

static std::string vformat(const char * format, va_list args) {
    va_list copy;
    va_copy(copy, args);
    const int length = vsnprintf(nullptr, 0, format, copy);
    va_end(copy);
    std::string text(length > 0 ? length : 0, '\0');
    if (length > 0) {
        vsnprintf(text.data(), text.size() + 1, format, args);
    }
    return text;
}

void log(log_level level, const char * format, ...) {
    va_list args;
    va_start(args, format);
    const std::string line = "ggml-webgpu: " + vformat(format, args) + "\n";
    va_end(args);
    sink.load()(level, line.c_str());
}

std::string format(const char * format, ...) {
    va_list args;
    va_start(args, format);
    std::string text = vformat(format, args);
    va_end(args);
    return text;
}

}  // namespace gpu
