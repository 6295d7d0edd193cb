// ggml-webgpu: a WebGPU backend for ggml.
//
// Most programs load it as a plugin (GGML_BACKEND_PATH=.../libggml-webgpu.so) and never include this file.
#pragma once

#include "ggml-backend.h"
#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

// A backend on device `index` (0-based, in the order of ggml_backend_reg_dev_get). NULL, with one log line that says
// why, if there is no such device. Free with ggml_backend_free.
GGML_BACKEND_API ggml_backend_t ggml_backend_webgpu_init(size_t index);

// True if `backend` is one of ours.
GGML_BACKEND_API bool ggml_backend_is_webgpu(ggml_backend_t backend);

// Devices found; 0 if there is no WebGPU library or no adapter the user allows.
GGML_BACKEND_API size_t ggml_backend_webgpu_get_device_count(void);

// Where the plugin's memory on device `index` is allocated.
GGML_BACKEND_API ggml_backend_buffer_type_t ggml_backend_webgpu_buffer_type(size_t index);

// The registry, never NULL. It has no devices when the ggml it is loaded into does not match the one it was built for.
GGML_BACKEND_API ggml_backend_reg_t ggml_backend_webgpu_reg(void);

#ifdef __cplusplus
}
#endif
