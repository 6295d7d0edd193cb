// What runs: a kernel is a shader file with defines, its operands and parameters. One text key names it everywhere:
// in the cache, in the profiler and in messages.
#pragma once

#include "gpu/device.h"

#include <array>
#include <cstring>
#include <future>
#include <initializer_list>
#include <map>
#include <semaphore>
#include <string_view>
#include <type_traits>

namespace gpu {

// Shader file (relative to src/shaders, without ".wgsl") and the defines that select a variant.
class kernel_name {
public:
    kernel_name() = default;
    kernel_name(const char * shader) : shader_(shader), text_(shader) {
        text_.reserve(256);
        defines_.reserve(16);
    }

    kernel_name & define(const char * name, uint32_t value = 1) { return define(name, std::to_string(value)); }
    kernel_name & define(const char * name, std::string value) {
        text_.append(" ").append(name).append("=").append(value);
        defines_.emplace_back(name, std::move(value));
        return *this;
    }
    // Threads of a workgroup; the shader reads it as WORKGROUP.
    kernel_name & threads(uint32_t n) {
        threads_ = n;
        return define("WORKGROUP", n);
    }

    const std::string & shader() const { return shader_; }
    uint32_t            threads() const { return threads_; }
    // The shader and all defines, as they came.
    const std::string & text() const { return text_; }
    const std::vector<std::pair<const char *, std::string>> & defined() const { return defines_; }

private:
    std::string                                       shader_;
    std::string                                       text_;
    std::vector<std::pair<const char *, std::string>> defines_;
    uint32_t                                          threads_ = 0;
};

// The fields of `struct Params`, in order; the C++ side is the only declaration, WGSL's is generated from it.
class params {
public:
    struct field {
        const char * name;
        const char * type;
        size_t       words;  // 4 are aligned to 16 bytes
    };

    params & add(const char * name, uint32_t value) { return scalar(name, "u32", value); }
    params & add(const char * name, int32_t value) { return scalar(name, "i32", static_cast<uint32_t>(value)); }
    params & add(const char * name, float value) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        return scalar(name, "f32", bits);
    }
    params & add(const char * name, const std::array<uint32_t, 4> & v) {
        words_.resize((words_.size() + 3) / 4 * 4);
        words_.insert(words_.end(), v.begin(), v.end());
        fields_.push_back({ name, "vec4<u32>", 4 });
        return *this;
    }
    // The fields of these names of `other`, in its order.
    params & append(const params & other, std::initializer_list<std::string_view> names);
    // Anything else must be cast on purpose: a 64-bit value does not fit.
    template <typename T> params & add(const char *, T) = delete;

    const std::vector<field> &    fields() const { return fields_; }
    const std::vector<uint32_t> & words() const { return words_; }

private:
    params & scalar(const char * name, const char * type, uint32_t bits) {
        if (words_.empty()) {
            words_.reserve(48);
            fields_.reserve(24);
        }
        fields_.push_back({ name, type, 1 });
        words_.push_back(bits);
        return *this;
    }

    std::vector<field>    fields_;
    std::vector<uint32_t> words_;
};

// A range of a buffer that a kernel reads or writes under `name`.
struct operand {
    const char * name;
    buffer_ref   memory;
    uint64_t     offset;           // bytes, any value
    uint64_t     size;             // bytes
    const char * type   = "f32";   // codec
    bool         wide   = false;   // read as vec4 words; offset must be a multiple of 16
    bool         atomic = false;   // stores narrower than a word, or atomics
    bool         pairs  = false;   // read as vec2 words; offset must be a multiple of 8
    bool         floats = false;   // declared as f32, for kernels that store matrices there
    bool         written = true;   // or only read
};

struct dispatch {
    kernel_name           kernel;
    std::vector<operand>  operands;
    params                values;
    uint64_t              groups = 0;     // workgroups; 0 = nothing to do
    std::string           label;          // for the profiler and debug log
    bool                  joins = false;  // small enough to run beside others
    std::vector<dispatch> beside;         // run in the same WebGPU dispatch (gpu/side_by_side.h); independent of this one and each other
};

// The dispatch and those beside it, and the operands of all.
std::vector<const dispatch *> jobs_of(const dispatch & d);
std::vector<operand>          operands_of(const dispatch & d);

// A binding as WebGPU gets it: operands that overlap share one.
struct binding {
    buffer_ref memory;
    uint64_t   offset;
    uint64_t   size;
    bool       wide;
    bool       atomic;
    bool       pairs  = false;
    bool       floats = false;
};

// Where each operand ended up, and the bindings in order.
struct binding_plan {
    std::vector<binding>  bindings;
    std::vector<uint32_t> slot;      // of each operand
    std::vector<uint32_t> residual;  // bytes from the binding's start to the operand
};

// The one place for WebGPU's binding rules: offsets aligned down, overlapping ranges merged (WebGPU forbids writable
// aliasing), neighbouring ones too where the device has not as many bindings, sizes rounded up. Fails when a merged range passes
// the binding limit.
result<binding_plan> plan_bindings(const std::vector<operand> & operands, const capabilities & caps);

// A compiled pipeline; `pipeline` is null until the compilation ends, `failure` says why it never will.
struct kernel {
    std::string         key;
    WGPUComputePipeline pipeline = nullptr;
    std::string         failure;
    std::future<void>   compiled;        // on a thread of ours; else
    WGPUFuture          future   = {};   // by the implementation
    std::atomic<bool>   done     = false;
};

// WGSL of a dispatch, complete. `plan` is that of operands_of(d).
result<std::string> compose_kernel(const dispatch & d, const binding_plan & plan, const capabilities & caps);
std::string         kernel_key(const dispatch & d, const binding_plan & plan);

class kernel_cache {
public:
    explicit kernel_cache(device & owner);
    ~kernel_cache();

    // Starts compiling unless known; the same key always gives the same object.
    kernel * request(const dispatch & d, const binding_plan & plan);
    // Waits for the compilation.
    status await(kernel & k);
    // Whether `await` would not wait.
    bool is_compiled(kernel & k);

    // Layouts depend on the number of storage bindings alone.
    WGPUBindGroupLayout group_layout(size_t storage_bindings);
    size_t              compiled() const { return kernels_.size(); }
    // Keys of all kernels asked for so far.
    std::vector<std::string> keys();

    static constexpr uint32_t params_bytes = 1024;  // of every dispatch's uniform binding

private:
    struct layouts {
        WGPUBindGroupLayout group    = nullptr;
        WGPUPipelineLayout  pipeline = nullptr;
    };
    layouts & layouts_for(size_t storage_bindings);
    void      compile(kernel & k, const std::string & source, WGPUPipelineLayout layout);

    device &                                                  owner_;
    const bool                                                own_threads_;
    std::counting_semaphore<>                                 processors_;  // not in use by them
    std::recursive_mutex                                      lock_;
    std::map<std::string, std::unique_ptr<kernel>, std::less<>> kernels_;
    std::map<size_t, layouts>                                 layouts_;
};

}  // namespace gpu
