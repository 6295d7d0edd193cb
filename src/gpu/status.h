// A user's condition (no adapter, no memory, lost device, ...) is a status, never an abort: an empty text is success,
// anything else says what happened and what to do about it.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace gpu {

class [[nodiscard]] status {
public:
    status() = default;

    static status failure(std::string text) {
        status s;
        s.text_ = std::move(text);
        return s;
    }
    // A host may try again with less.
    static status no_memory(std::string text) {
        status s     = failure(std::move(text));
        s.no_memory_ = true;
        return s;
    }

    bool                ok() const { return text_.empty(); }
    bool                is_no_memory() const { return no_memory_; }
    const std::string & text() const { return text_; }

private:
    std::string text_;
    bool        no_memory_ = false;
};

// A value, or the status that says why there is none.
template <typename T>
class [[nodiscard]] result {
public:
    result(T value) : value_(std::move(value)) {}
    result(status failed) : status_(std::move(failed)) {}

    bool           ok() const { return value_.has_value(); }
    const status & why() const { return status_; }
    T &            operator*() { return *value_; }
    T *            operator->() { return &*value_; }

private:
    std::optional<T> value_;
    status           status_;
};

}  // namespace gpu
