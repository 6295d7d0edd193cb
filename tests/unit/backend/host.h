// The backend as a ggml host sees it.
#pragma once

#include "../environment.h"
#include "ggml-webgpu.h"

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace test {

struct release {
    void operator()(ggml_backend_t b) const { ggml_backend_free(b); }
    void operator()(ggml_backend_buffer_t b) const { ggml_backend_buffer_free(b); }
    void operator()(ggml_context * c) const { ggml_free(c); }
};

using backend_ref = std::unique_ptr<ggml_backend, release>;
using buffer_ref  = std::unique_ptr<ggml_backend_buffer, release>;
using context_ref = std::unique_ptr<ggml_context, release>;

inline ggml_backend_dev_t ggml_device() {
    const ggml_backend_dev_t device = ggml_backend_reg_dev_get(ggml_backend_webgpu_reg(), 0);
    if (device == nullptr) {
        std::exit(EXIT_FAILURE);  // the registry has said why
    }
    return device;
}

inline context_ref make_context(size_t tensors = 16) {
    return context_ref(ggml_init({ tensors * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true }));
}

inline std::vector<uint8_t> bytes_of(const ggml_tensor * t) {
    std::vector<uint8_t> bytes(ggml_nbytes(t));
    ggml_backend_tensor_get(t, bytes.data(), 0, bytes.size());
    return bytes;
}

// Collects ggml's log instead of printing it.
class log_capture {
public:
    log_capture() {
        ggml_log_set([](ggml_log_level, const char * text, void * user) { static_cast<log_capture *>(user)->text_ += text; }, this);
    }
    log_capture(const log_capture &)             = delete;
    log_capture & operator=(const log_capture &) = delete;
    ~log_capture() { ggml_log_set(nullptr, nullptr); }

    const std::string & text() const { return text_; }
    size_t              lines() const { return std::count(text_.begin(), text_.end(), '\n'); }

private:
    std::string text_;
};

}  // namespace test
