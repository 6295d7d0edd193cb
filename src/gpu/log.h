// One way out for messages. This floor knows no ggml, so whoever owns the process sets the sink.
#pragma once

#include <string>

namespace gpu {

enum class log_level { debug, info, warn, error };

using log_sink = void (*)(log_level level, const char * text);

void set_log_sink(log_sink sink);

// printf-style; writes one line (the newline is added).
void log(log_level level, const char * format, ...) __attribute__((format(printf, 2, 3)));

// printf-style text.
std::string format(const char * format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace gpu
