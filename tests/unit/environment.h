// What the tests run on: the software adapter, with WebGPU's validation on, unless the environment says otherwise.
#pragma once

#include "gpu/device.h"

#include <cstdlib>
#include <optional>
#include <string>

namespace test {

// A device for tests of the gpu floor, opened once.
std::shared_ptr<gpu::device> device();

// Sets a variable, or with null removes it, until the end of the scope.
class scoped_variable {
public:
    scoped_variable(const char * name, const char * value) : name_(name) {
        if (const char * before = std::getenv(name)) {
            before_ = before;
        }
        set(value);
    }
    scoped_variable(const scoped_variable &)             = delete;
    scoped_variable & operator=(const scoped_variable &) = delete;
    ~scoped_variable() { set(before_ ? before_->c_str() : nullptr); }

private:
    void set(const char * value) {
        if (value != nullptr) {
            setenv(name_, value, 1);
        } else {
            unsetenv(name_);
        }
    }

    const char *               name_;
    std::optional<std::string> before_;
};

// Resident memory of this process in bytes.
size_t resident_bytes();

}  // namespace test
