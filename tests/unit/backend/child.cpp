#include "child.h"

#include <cstdio>
#include <unistd.h>

namespace test {

std::string run_child(const std::string & name, const std::string & environment) {
    char          self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    if (length <= 0) {
        return "failed\n";
    }
    const std::string command = "env " + environment + " '" + std::string(self, static_cast<size_t>(length)) +
                                "' --gtest_also_run_disabled_tests --gtest_filter=" + name + " 2>&1";
    std::string output;
    if (FILE * pipe = popen(command.c_str(), "r")) {
        char   part[4096];
        size_t n;
        while ((n = fread(part, 1, sizeof part, pipe)) > 0) {
            output.append(part, n);
        }
        output += pclose(pipe) == 0 ? "ended well\n" : "failed\n";
    }
    return output;
}

size_t count_of(const std::string & text, const std::string & part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) {
        n++;
    }
    return n;
}

}  // namespace test
