// ggml's device interface.
#include "backend/backend.h"
#include "gpu/log.h"
#include "graph/check.h"
#include "ops/plan.h"

#include <cstdlib>
#include <unistd.h>

namespace backend {

static std::string describe(const gpu::capabilities & caps) {
    return caps.name + " (" + caps.implementation + (caps.driver.empty() ? "" : ", " + caps.driver) + ")";
}

// Operations on weights in host memory are worth their transfer from this batch size on. ggml's GPU backends share the
// variable and its default.
static int64_t read_offload_min_batch() {
    const char * text = std::getenv("GGML_OP_OFFLOAD_MIN_BATCH");
    return text != nullptr ? std::atoll(text) : 32;
}

device_context::device_context(size_t index, std::shared_ptr<gpu::adapter> from, const gpu::settings & user, ggml_backend_reg_t reg)
    : adapter_(std::move(from)),
      user_(user),
      name_("WebGPU" + std::to_string(index)),
      description_(describe(adapter_->caps())),
      offload_min_batch_(read_offload_min_batch()),
      device_{ .iface = device_interface, .reg = reg, .context = this },
      buffer_type_{ .iface = buffer_type_interface, .device = &device_, .context = this },
      fusions_(!user.no_fusion) {}

gpu::result<std::shared_ptr<gpu::device>> device_context::open() {
    std::lock_guard guard(lock_);
    if (opened_ == nullptr) {
        auto opened = gpu::device::open(adapter_, user_);
        if (!opened.ok()) {
            return opened;
        }
        opened_ = *opened;
    }
    return opened_;
}

uint64_t device_context::allocated() const {
    std::lock_guard guard(lock_);
    return opened_ != nullptr ? opened_->allocated() : 0;
}

void device_context::expect(const gpu::status & outcome, const char * transfer) {
    if (outcome.ok()) {
        return;
    }
    std::lock_guard guard(lock_);
    if (problem_.empty()) {
        problem_ = std::string(transfer) + " failed: " + outcome.text();
        gpu::log(gpu::log_level::error, "%s: %s", name(), problem_.c_str());
    }
}

gpu::status device_context::health() const {
    std::lock_guard guard(lock_);
    return problem_.empty() ? gpu::status() : gpu::status::failure(problem_);
}

static const char * get_name(ggml_backend_dev_t device) {
    return context_of(device).name();
}

static const char * get_description(ggml_backend_dev_t device) {
    return context_of(device).description();
}

// A software adapter's memory is the system's, whatever its driver reports. What other programs hold is not known to
// WebGPU, so all that this process has not allocated counts as free.
static uint64_t total_memory(const gpu::capabilities & caps) {
#ifndef __EMSCRIPTEN__
    if (caps.type == gpu::capabilities::kind::software) {
        return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    }
#endif
    return caps.memory;
}

static void get_memory(ggml_backend_dev_t device, size_t * free, size_t * total) {
    const device_context & context   = context_of(device);
    const uint64_t         memory    = total_memory(context.caps());
    const uint64_t         allocated = context.allocated();
    *total                           = memory;
    *free                            = memory > allocated ? memory - allocated : 0;
}

// A software adapter calls itself a GPU too: hosts do not offload to further devices of type CPU, and its user asked for it.
static enum ggml_backend_dev_type get_type(ggml_backend_dev_t device) {
    const bool integrated = context_of(device).caps().type == gpu::capabilities::kind::integrated;
    return integrated ? GGML_BACKEND_DEVICE_TYPE_IGPU : GGML_BACKEND_DEVICE_TYPE_GPU;
}

static void get_props(ggml_backend_dev_t device, ggml_backend_dev_props * props) {
    props->name        = get_name(device);
    props->description = get_description(device);
    props->type        = get_type(device);
    props->device_id   = nullptr;
    get_memory(device, &props->memory_free, &props->memory_total);
    props->caps = {
        .async                = true,
        .host_buffer          = false,
        .buffer_from_host_ptr = false,
        .events               = true,
        // Where the GPU's memory is the system's, pages of a mapped model would hold the weights a second time. (So they do for a
        // software GPU, which is for tests: they load faster.)
        .mmap_support         = context_of(device).caps().type != gpu::capabilities::kind::integrated,
    };
}

static ggml_backend_buffer_type_t get_buffer_type(ggml_backend_dev_t device) {
    return context_of(device).buffer_type();
}

// Compiles the plan's kernels, for a test that asks about every case of the conformance suite.
static gpu::status check_kernels(device_context & context, const ops::plan & plan, const ggml_tensor * op) {
    auto opened = context.open();
    if (!opened.ok()) {
        return opened.why();
    }
    const gpu::status compiled = graph::kernels_compile(**opened, plan, op);
    if (!compiled.ok()) {
        gpu::log(gpu::log_level::error, "%s", compiled.text().c_str());
    }
    return compiled;
}

static bool supports_op(ggml_backend_dev_t device, const ggml_tensor * op) {
    device_context &  context   = context_of(device);
    const gpu::status supported = guarded([&] {
        const ops::plan plan = ops::plan_node(context.caps(), op);
        if (!plan.supported()) {
            return gpu::status::failure(plan.why);
        }
        return context.user().check_kernels ? check_kernels(context, plan, op) : gpu::status();
    });
    return supported.ok();
}

static bool supports_buft(ggml_backend_dev_t device, ggml_backend_buffer_type_t type) {
    return type == context_of(device).buffer_type();
}

// Rows that share the weights.
static int64_t batch_size(const ggml_tensor * op) {
    switch (op->op) {
        case GGML_OP_GET_ROWS: return 0;
        case GGML_OP_MUL_MAT: return op->ne[1];
        case GGML_OP_MUL_MAT_ID:
        case GGML_OP_ROPE:
        case GGML_OP_ROPE_BACK: return op->ne[2];
        default: return ggml_nrows(op);
    }
}

static bool offload_op(ggml_backend_dev_t device, const ggml_tensor * op) {
    return batch_size(op) >= context_of(device).offload_min_batch();
}

const ggml_backend_device_i device_interface = {
    .get_name             = get_name,
    .get_description      = get_description,
    .get_memory           = get_memory,
    .get_type             = get_type,
    .get_props            = get_props,
    .init_backend         = init_backend,
    .get_buffer_type      = get_buffer_type,
    .get_host_buffer_type = nullptr,
    .buffer_from_host_ptr = nullptr,
    .supports_op          = supports_op,
    .supports_buft        = supports_buft,
    .offload_op           = offload_op,
    .event_new            = event_new,
    .event_free           = event_free,
    .event_synchronize    = event_synchronize,
};

}  // namespace backend
