// From a ggml tensor to dispatches. Every op has one function
//
//     plan plan_xyz(const gpu::capabilities & caps, const ggml_tensor * dst);
//
// that answers "can you?" and "do it" at once: supports_op asks it and looks at `why`, the graph floor asks it and records
// the steps. It binds tensors; alignment, aliasing, slices and grids are the business of the floors around it.
#pragma once

#include "gpu/kernel.h"

#include <array>
#include <ggml.h>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace ops {

// A kernel operand: a tensor, a range of the plan's scratch memory or of what was prepared for several plans, or the fault word.
struct operand {
    enum class kind { tensor, scratch, prepared, fault, debug };

    const char *        name;
    kind                where  = kind::tensor;
    const ggml_tensor * tensor = nullptr;
    const char *        type   = "f32";
    bool                wide   = false;
    bool                atomic = false;
    bool                pairs  = false;
    bool                floats = false;
    uint64_t            offset = 0;  // scratch, prepared: bytes from its start
    uint64_t            size   = 0;  // and bytes
    bool                written = true;  // prepared: or only read
};

// A tensor under the name the shader knows it by.
operand bind(const char * name, const ggml_tensor * tensor);
// The same for kernels that load or store four values at once where `in_quads` holds (see `quads`). A destination that is
// not written in quads and whose values are narrower than a word becomes atomic.
operand bind_source(const char * name, const ggml_tensor * tensor, bool in_quads);
operand bind_dest(const char * name, const ggml_tensor * tensor, bool in_quads);
// Memory for the steps of one plan: `offset` from plan.scratch's start, a multiple of 256.
operand bind_scratch(const char * name, uint64_t offset, uint64_t size, const char * type = "f32");
// Memory that a step which prepares writes and later plans may read again: nothing else is ever written there.
operand bind_prepared(const char * name, uint64_t size, bool written);
// One word; a kernel that meets an index out of range stores 1 + the op's number there and touches nothing else.
operand bind_fault();
// Slots for values that a kernel under development wants printed, see shaders/lib/debug.wgsl.
operand bind_debug();

struct step {
    gpu::kernel_name     kernel;
    std::vector<operand> operands;
    gpu::params          params;
    uint64_t             groups = 0;  // workgroups; 0 = nothing to do
    bool                 prepares = false;  // from its only tensor, for the plan's other steps; see graph/sharing.h
    bool                 joins    = false;  // small enough to run beside others, see graph/beside.h
    bool                 quantises = false;  // its kernel can quantise what it makes, see ops/columns.h
};

struct plan {
    std::vector<step>       steps;
    uint64_t                scratch = 0;  // bytes
    std::string             why;          // not empty: unsupported
    std::list<ggml_tensor>  slices;       // tensors made for the plan, see split.h
    std::optional<step>     prepared;     // the preparation that later plans need not do: these steps leave its result as well

    plan() = default;
    plan(step only) { steps.push_back(std::move(only)); }

    bool supported() const { return why.empty(); }
};

// printf-style reason, for `webgpu-info --why`.
plan unsupported(const char * format, ...) __attribute__((format(printf, 1, 2)));
// A supported op with nothing to compute (views, empty tensors).
plan nothing();
// `part` after what the plan already does; both or neither are supported.
void append(plan & whole, plan part);

//
// reading tensors
//

// ggml's type name in lower case: the codec file.
const char * codec(ggml_type type);
bool         is_float(ggml_type type);  // f32, f16, bf16
bool         is_block(ggml_type type);  // quantised, with a codec

// How blocks of a quantised type are made: each thread makes its own, or a workgroup makes one together.
struct encoder {
    uint32_t threads;   // of a workgroup
    uint32_t values;    // that a thread takes
    bool     together;
};
// None if the codec can only read.
std::optional<encoder> encoder_of(ggml_type type);
// Values are entries of a grid, which kernels first copy into workgroup memory: at most grid_bytes.
bool                      has_grid(ggml_type type);
inline constexpr uint32_t grid_bytes = 10240;

using shape = std::array<uint32_t, 4>;

// Sizes in values.
shape ne(const ggml_tensor * t);
// Strides in blocks (plain types: values).
shape nb(const ggml_tensor * t);
uint32_t rows(const ggml_tensor * t);   // ggml_nrows
uint32_t count(const ggml_tensor * t);  // ggml_nelements

// Bytes from the tensor's first to its last value, whatever its strides.
uint64_t span(const ggml_tensor * t);

// The tensor can be read and written four values at a time along its first dimension: contiguous there, sizes, strides
// and start multiples of four values (and of 16 bytes for f32).
bool quads(const ggml_tensor * t);

float   param_f32(const ggml_tensor * t, int i);
int32_t param_i32(const ggml_tensor * t, int i);

// Workgroups of `threads` for `items`.
inline uint64_t groups_for(uint64_t items, uint32_t threads) {
    return (items + threads - 1) / threads;
}

//
// all ops
//

// The plan of a node, whatever its op: looks it up in the table, splits what is larger than a binding.
plan plan_node(const gpu::capabilities & caps, const ggml_tensor * node);

// Null, or what differs between the ggml this was compiled with and the one running (op and type numbers move).
std::string version_mismatch();

}  // namespace ops
