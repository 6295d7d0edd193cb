#include "gpu/kernel.h"

#include "gpu/log.h"
#include "gpu/side_by_side.h"
#include "gpu/wgsl.h"

#include <algorithm>
#include <thread>
#include <tuple>

namespace gpu {

//
// jobs
//

std::vector<const dispatch *> jobs_of(const dispatch & d) {
    std::vector<const dispatch *> jobs = { &d };
    for (const dispatch & other : d.beside) {
        jobs.push_back(&other);
    }
    return jobs;
}

std::vector<operand> operands_of(const dispatch & d) {
    std::vector<operand> all;
    for (const dispatch * job : jobs_of(d)) {
        all.insert(all.end(), job->operands.begin(), job->operands.end());
    }
    return all;
}

params & params::append(const params & other, std::initializer_list<std::string_view> names) {
    size_t at = 0;
    for (const field & f : other.fields_) {
        const bool quad = f.words == 4;
        at              = quad ? (at + 3) / 4 * 4 : at;
        if (std::find(names.begin(), names.end(), f.name) != names.end()) {
            if (quad) {
                add(f.name, std::array<uint32_t, 4>{ other.words_[at], other.words_[at + 1], other.words_[at + 2], other.words_[at + 3] });
            } else {
                scalar(f.name, f.type, other.words_[at]);
            }
        }
        at += quad ? 4 : 1;
    }
    return *this;
}

//
// bindings
//

static uint64_t align_down(uint64_t value, uint64_t alignment) {
    return value / alignment * alignment;
}

static uint64_t align_up(uint64_t value, uint64_t alignment) {
    return align_down(value + alignment - 1, alignment);
}

// Bindings a < b of one buffer become one.
static void merge(binding_plan & plan, size_t a, size_t b) {
    binding &      x   = plan.bindings[a];
    const binding  y   = plan.bindings[b];
    const uint64_t end = std::max(x.offset + x.size, y.offset + y.size);
    x.offset = std::min(x.offset, y.offset);
    x.size   = end - x.offset;
    x.wide   = x.wide && y.wide;
    x.atomic = x.atomic || y.atomic;
    x.pairs  = x.pairs && y.pairs;
    x.floats = x.floats && y.floats;
    plan.bindings.erase(plan.bindings.begin() + static_cast<std::ptrdiff_t>(b));
    for (uint32_t & slot : plan.slot) {
        slot = static_cast<uint32_t>(slot == b ? a : slot > b ? slot - 1 : slot);
    }
}

// Merges the first pair that `fits`, and says whether there was one.
template <typename F> static bool merge_one(binding_plan & plan, F && fits) {
    for (size_t a = 0; a < plan.bindings.size(); a++) {
        for (size_t b = a + 1; b < plan.bindings.size(); b++) {
            if (plan.bindings[a].memory == plan.bindings[b].memory && fits(plan.bindings[a], plan.bindings[b])) {
                merge(plan, a, b);
                return true;
            }
        }
    }
    return false;
}

static bool overlap(const binding & a, const binding & b) {
    return a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

static uint64_t merged_size(const binding & a, const binding & b) {
    return std::max(a.offset + a.size, b.offset + b.size) - std::min(a.offset, b.offset);
}

// Merges the pair that makes the smallest binding, of those that are bound alike.
static bool merge_nearest(binding_plan & plan, const capabilities & caps) {
    const auto alike = [](const binding & a, const binding & b) { return std::tie(a.wide, a.atomic, a.pairs, a.floats) == std::tie(b.wide, b.atomic, b.pairs, b.floats); };
    uint64_t   least = caps.max_binding + 1;
    for (const binding & a : plan.bindings) {
        for (const binding & b : plan.bindings) {
            if (&a != &b && a.memory == b.memory && alike(a, b)) {
                least = std::min(least, merged_size(a, b));
            }
        }
    }
    return least <= caps.max_binding && merge_one(plan, [&](const binding & a, const binding & b) { return alike(a, b) && merged_size(a, b) == least; });
}

result<binding_plan> plan_bindings(const std::vector<operand> & operands, const capabilities & caps) {
    binding_plan plan;
    plan.slot.resize(operands.size());
    plan.residual.resize(operands.size());
    for (size_t i = 0; i < operands.size(); i++) {
        const operand & o     = operands[i];
        const uint64_t  begin = align_down(o.offset, caps.storage_alignment);
        const uint64_t  end   = std::min(align_up(std::max<uint64_t>(o.offset + o.size, begin + 16), 16), o.memory->padded_size());
        plan.bindings.push_back({ o.memory, begin, end - begin, o.wide, o.atomic, o.pairs, o.floats });
        plan.slot[i] = static_cast<uint32_t>(i);
    }
    // Until nothing overlaps: a merged range can reach a third one. There are few.
    while (merge_one(plan, overlap)) {
    }
    while (plan.bindings.size() > caps.max_storage_buffers) {
        if (!merge_nearest(plan, caps)) {
            return status::failure(format("a kernel needs more than this device's %u storage buffers", caps.max_storage_buffers));
        }
        while (merge_one(plan, overlap)) {
        }
    }
    for (binding & b : plan.bindings) {
        b.wide   = b.wide && !b.atomic;
        b.pairs  = b.pairs && !b.atomic && !b.wide;
        b.floats = b.floats && !b.atomic && !b.wide && !b.pairs;
        if (b.size > align_up(caps.max_binding, 256)) {
            return status::failure(format("a tensor range of %llu bytes is larger than this device's binding limit of %llu bytes",
                                          (unsigned long long) b.size, (unsigned long long) caps.max_binding));
        }
    }
    for (size_t i = 0; i < operands.size(); i++) {
        plan.residual[i] = static_cast<uint32_t>(operands[i].offset - plan.bindings[plan.slot[i]].offset);
    }
    return plan;
}

//
// source
//

// Made for every dispatch of a new graph, so it takes no detours.
std::string kernel_key(const dispatch & d, const binding_plan & plan) {
    std::string      key;
    const uint32_t * slot = plan.slot.data();
    const auto       add  = [&](const dispatch & job) {
        key += job.kernel.text();
        for (const operand & o : job.operands) {
            const binding & b = plan.bindings[*slot];
            key.append(" ").append(o.name).append(":").append(o.type);
            key.append(b.atomic ? "a" : b.wide ? "w" : b.pairs ? "p" : b.floats ? "f" : "").append("@").append(std::to_string(*slot++));
        }
    };
    add(d);
    for (const dispatch & other : d.beside) {
        key += " + ";
        add(other);
    }
    return key;
}

static const char * element_type(const binding & b) {
    return b.atomic ? "atomic<u32>" : b.wide ? "vec4<u32>" : b.pairs ? "vec2<u32>" : b.floats ? "f32" : "u32";
}

static defines defines_of(const dispatch & d, const capabilities & caps) {
    defines defs;
    if (caps.subgroups) {
        defs["SUBGROUPS"]    = "1";
        defs["SUBGROUP_MIN"] = std::to_string(caps.subgroup_min);
        defs["SUBGROUP_MAX"] = std::to_string(caps.subgroup_max);
    }
    if (caps.f16) defs["F16"] = "1";
    if (caps.packed_dot) defs["PACKED_DOT"] = "1";
    if (caps.subgroup_matrix()) defs["SUBGROUP_MATRIX"] = "1";
    for (const auto & [name, value] : d.kernel.defined()) {
        defs[name] = value;
    }
    return defs;
}

// The kernel without directives and without the variable `params`. `slot` points to its operands' bindings; `variables` holds the
// name of each binding's variable, empty until a job declares it, with `prefix` before it.
static result<std::string> compose_job(const dispatch & d, const binding_plan & plan, const uint32_t * slots, std::vector<std::string> & variables,
                                       const std::string & prefix, const capabilities & caps) {
    defines     defs   = defines_of(d, caps);
    std::string fields = "    groups: u32,\n";
    std::string declarations, includes;
    for (size_t i = 0; i < d.operands.size(); i++) {
        const operand &   o    = d.operands[i];
        const std::string name = o.name;
        const binding &   b    = plan.bindings[slots[i]];
        defs[name + "_TYPE"]   = o.type;
        defs[name + "_WIDTH"]  = b.wide ? "4" : b.pairs ? "2" : "1";
        defs[name + "_ATOMIC"] = b.atomic ? "1" : "0";
        defs[name + "_FLOATS"] = b.floats ? "1" : "0";
        fields += "    " + name + "_offset: u32,\n";
        includes += "#include \"lib/binding.wgsl\" as " + name + "\n";
        std::string & variable = variables[slots[i]];
        if (variable.empty()) {
            variable = prefix + name + "_buffer";
            declarations += format("@group(0) @binding(%u) var<storage, read_write> %s_buffer: array<%s>;\n", slots[i] + 1, o.name, element_type(b));
        } else {
            defs[name + "_buffer"] = variable;
        }
    }
    for (const params::field & f : d.values.fields()) {
        fields += std::string("    ") + f.name + ": " + f.type + ",\n";
    }
    return expand_text(d.kernel.shader(), "struct Params {\n" + fields + "}\n" + declarations + includes + "#include \"" + d.kernel.shader() + ".wgsl\"\n", defs);
}

result<std::string> compose_kernel(const dispatch & d, const binding_plan & plan, const capabilities & caps) {
    std::string directives;
    if (caps.f16) directives += "enable f16;\n";
    if (caps.subgroups && caps.implementation != "wgpu-native") directives += "enable subgroups;\n";  // naga has them without
    const auto jobs        = jobs_of(d);
    const bool with_matrix = std::any_of(jobs.begin(), jobs.end(), [&](const dispatch * job) { return defines_of(*job, caps).count("USES_MATRIX") != 0; });
    if (with_matrix) {
        directives += "enable chromium_experimental_subgroup_matrix;\ndiagnostic(off, chromium.subgroup_matrix_uniformity);\n";
    }
    std::vector<std::string> variables(plan.bindings.size());
    std::vector<std::string> texts;
    const uint32_t *         slots = plan.slot.data();
    for (const dispatch * job : jobs) {
        auto text = compose_job(*job, plan, slots, variables, jobs.size() > 1 ? job_prefix(texts.size()) : "", caps);
        if (!text.ok()) {
            return text;
        }
        texts.push_back(with_matrix ? *text + assert_whole_quads(*text) : std::move(*text));
        slots += job->operands.size();
    }
    if (texts.size() == 1) {
        return directives + "@group(0) @binding(0) var<uniform> params: Params;\n" + texts[0];
    }
    return directives + side_by_side(texts);
}

//
// cache
//

// Dawn checks a kernel's text on the thread that hands it over, and has two threads for the rest; both cost milliseconds for each kernel.
// An implementation that may not be called from several threads at once compiles in its own way.
kernel_cache::kernel_cache(device & owner)
    : owner_(owner), own_threads_(owner.caps().implicit_sync), processors_(std::max(1u, std::thread::hardware_concurrency())) {}

kernel_cache::~kernel_cache() {
    for (auto & [key, k] : kernels_) {
        (void) await(*k);
        if (k->pipeline != nullptr) wgpu().ComputePipelineRelease(k->pipeline);
    }
    for (auto & [n, l] : layouts_) {
        wgpu().PipelineLayoutRelease(l.pipeline);
        wgpu().BindGroupLayoutRelease(l.group);
    }
}

kernel_cache::layouts & kernel_cache::layouts_for(size_t storage_bindings) {
    layouts & l = layouts_[storage_bindings];
    if (l.group != nullptr) {
        return l;
    }
    std::vector<WGPUBindGroupLayoutEntry> entries(storage_bindings + 1);
    for (uint32_t i = 0; i < entries.size(); i++) {
        entries[i]            = {};
        entries[i].binding    = i;
        entries[i].visibility = WGPUShaderStage_Compute;
        entries[i].buffer.type             = i == 0 ? WGPUBufferBindingType_Uniform : WGPUBufferBindingType_Storage;
        entries[i].buffer.hasDynamicOffset = i == 0;
    }
    WGPUBindGroupLayoutDescriptor group = {};
    group.entryCount                    = entries.size();
    group.entries                       = entries.data();
    l.group                             = wgpu().DeviceCreateBindGroupLayout(owner_.handle(), &group);

    WGPUPipelineLayoutDescriptor pipeline = {};
    pipeline.bindGroupLayoutCount         = 1;
    pipeline.bindGroupLayouts             = &l.group;
    l.pipeline                            = wgpu().DeviceCreatePipelineLayout(owner_.handle(), &pipeline);
    return l;
}

WGPUBindGroupLayout kernel_cache::group_layout(size_t storage_bindings) {
    std::lock_guard guard(lock_);
    return layouts_for(storage_bindings).group;
}

std::vector<std::string> kernel_cache::keys() {
    std::lock_guard          guard(lock_);
    std::vector<std::string> all;
    for (const auto & [key, k] : kernels_) {
        all.push_back(key);
    }
    return all;
}

kernel * kernel_cache::request(const dispatch & d, const binding_plan & plan) {
    std::string     key = kernel_key(d, plan);
    std::lock_guard guard(lock_);
    auto &          entry = kernels_[key];
    if (entry != nullptr) {
        return entry.get();
    }
    entry      = std::make_unique<kernel>();
    entry->key = std::move(key);
    result<std::string> source = compose_kernel(d, plan, owner_.caps());
    if (!source.ok()) {
        entry->failure = source.why().text();
        entry->done    = true;
        return entry.get();
    }
    if (owner_.user().debug) {
        log(log_level::debug, "compile %s\n%s", entry->key.c_str(), source->c_str());
    }
    WGPUPipelineLayout layout = layouts_for(plan.bindings.size()).pipeline;
    if (!own_threads_) {
        compile(*entry, *source, layout);
        return entry.get();
    }
    entry->compiled = std::async([this, layout, &k = *entry, text = std::move(*source)] {
        processors_.acquire();
        compile(k, text, layout);
        processors_.release();
    });
    return entry.get();
}

// The first error that `calls` meet: this kernel's failure, not the device's. Each thread has scopes of its own.
template <typename F> static std::string error_of(WGPUDevice device, F && calls) {
    static constexpr WGPUErrorFilter kinds[] = { WGPUErrorFilter_Validation, WGPUErrorFilter_OutOfMemory, WGPUErrorFilter_Internal };
    struct answer {
        std::string       text;
        std::atomic<bool> done = false;
    };
    std::vector<answer> answers(wgpu().implementation == "wgpu-native" ? 1 : std::size(kinds));  // it ends the process on internal ones
    for (size_t i = 0; i < answers.size(); i++) {
        wgpu().DevicePushErrorScope(device, kinds[i]);
    }
    calls();
    for (answer & a : answers) {
        WGPUPopErrorScopeCallbackInfo popped = {};
        popped.mode      = device::callback_mode();
        popped.userdata1 = &a;
        popped.callback  = [](WGPUPopErrorScopeStatus, WGPUErrorType type, WGPUStringView message, void * user, void *) {
            answer & a = *static_cast<answer *>(user);
            if (type != WGPUErrorType_NoError) {
                a.text = text(message);
            }
            a.done = true;
        };
        wait_for(wgpu().DevicePopErrorScope(device, popped), a.done, device);
    }
    for (const answer & a : answers) {
        if (!a.text.empty()) {
            return a.text;
        }
    }
    return "";
}

void kernel_cache::compile(kernel & k, const std::string & source, WGPUPipelineLayout layout) {
    WGPUShaderSourceWGSL wgsl = {};
    wgsl.chain.sType          = WGPUSType_ShaderSourceWGSL;
    wgsl.code                 = view(source);

    WGPUShaderModuleDescriptor module_descriptor = {};
    module_descriptor.nextInChain                = &wgsl.chain;
    module_descriptor.label                      = view(k.key);

    WGPUComputePipelineDescriptor descriptor = {};
    descriptor.label                         = view(k.key);
    descriptor.layout                        = layout;
    descriptor.compute.entryPoint            = view("main");

    WGPUCreateComputePipelineAsyncCallbackInfo callback = {};
    callback.mode      = device::callback_mode();
    callback.userdata1 = &k;
    callback.callback  = [](WGPUCreatePipelineAsyncStatus status, WGPUComputePipeline pipeline, WGPUStringView message, void * user, void *) {
        kernel & k = *static_cast<kernel *>(user);
        if (status == WGPUCreatePipelineAsyncStatus_Success) {
            k.pipeline = pipeline;
        } else if (k.failure.empty()) {  // the shader's own error says more
            k.failure = text(message);
        }
        k.done = true;
    };
    const std::string error = error_of(owner_.handle(), [&] {
        descriptor.compute.module = wgpu().DeviceCreateShaderModule(owner_.handle(), &module_descriptor);
        if (!own_threads_ && wgpu().DeviceCreateComputePipelineAsync != nullptr) {
            k.future = wgpu().DeviceCreateComputePipelineAsync(owner_.handle(), &descriptor, callback);
        } else {
            k.pipeline = wgpu().DeviceCreateComputePipeline(owner_.handle(), &descriptor);
            k.done     = true;
        }
        wgpu().ShaderModuleRelease(descriptor.compute.module);
    });
    if (!error.empty()) {
        k.failure = error;
    }
}

bool kernel_cache::is_compiled(kernel & k) {
    return k.compiled.valid() ? k.compiled.wait_for(std::chrono::seconds(0)) == std::future_status::ready : k.done.load();
}

status kernel_cache::await(kernel & k) {
    if (k.compiled.valid()) {
        k.compiled.wait();
    } else {
        std::lock_guard guard(lock_);
        if (!k.done) {
            wait_for(k.future, k.done, owner_.handle());
        }
    }
    if (k.pipeline == nullptr || !k.failure.empty()) {
        return status::failure("kernel '" + k.key + "' does not compile on this device: " + k.failure);
    }
    return {};
}

}  // namespace gpu
