#include "ops/plan.h"

#include <algorithm>
#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace ops {

operand bind(const char * name, const ggml_tensor * tensor) {
    operand o{ name };
    o.tensor = tensor;
    o.type   = codec(tensor->type);
    return o;
}

operand bind_source(const char * name, const ggml_tensor * tensor, bool in_quads) {
    operand o = bind(name, tensor);
    o.wide    = in_quads && tensor->type == GGML_TYPE_F32;
    return o;
}

operand bind_dest(const char * name, const ggml_tensor * tensor, bool in_quads) {
    operand o = bind_source(name, tensor, in_quads);
    o.atomic  = !in_quads && ggml_type_size(tensor->type) % 4 != 0;
    return o;
}

operand bind_scratch(const char * name, uint64_t offset, uint64_t size, const char * type) {
    operand o{ name };
    o.where  = operand::kind::scratch;
    o.type   = type;
    o.offset = offset;
    o.size   = size;
    return o;
}

operand bind_prepared(const char * name, uint64_t size, bool written) {
    operand o{ name };
    o.where   = operand::kind::prepared;
    o.size    = size;
    o.written = written;
    return o;
}

operand bind_fault() {
    operand o{ "fault" };
    o.where  = operand::kind::fault;
    o.atomic = true;
    return o;
}

operand bind_debug() {
    operand o{ "debug" };
    o.where = operand::kind::debug;
    return o;
}

plan unsupported(const char * format, ...) {
    char    text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    plan p;
    p.why = text;
    return p;
}

plan nothing() {
    return {};
}

void append(plan & whole, plan part) {
    whole.why     = whole.supported() ? part.why : whole.why;
    whole.scratch = std::max(whole.scratch, part.scratch);
    std::move(part.steps.begin(), part.steps.end(), std::back_inserter(whole.steps));
    whole.slices.splice(whole.slices.end(), part.slices);
}

const char * codec(ggml_type type) {
    static const std::array<std::string, GGML_TYPE_COUNT> names = [] {
        std::array<std::string, GGML_TYPE_COUNT> lower;
        for (int i = 0; i < GGML_TYPE_COUNT; i++) {
            const char * name = ggml_type_name(static_cast<ggml_type>(i));
            for (const char * c = name != nullptr ? name : ""; *c != '\0'; c++) {
                lower[i] += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
            }
        }
        return lower;
    }();
    return names[type].c_str();
}

bool is_float(ggml_type type) {
    return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
}

// The quantised types of src/shaders/codecs, with the threads that encode a block together; 0: it can only be read.
static constexpr struct {
    ggml_type type;
    uint32_t  encoders;
} block_types[] = {
    { GGML_TYPE_Q4_0, 1 },  { GGML_TYPE_Q4_1, 1 },     { GGML_TYPE_Q5_0, 1 },    { GGML_TYPE_Q5_1, 1 },   { GGML_TYPE_Q8_0, 1 },
    { GGML_TYPE_Q1_0, 1 },  { GGML_TYPE_Q2_0, 1 },     { GGML_TYPE_MXFP4, 1 },   { GGML_TYPE_NVFP4, 1 },  { GGML_TYPE_Q2_K, 1 },
    { GGML_TYPE_Q3_K, 1 },  { GGML_TYPE_Q4_K, 1 },     { GGML_TYPE_Q5_K, 1 },    { GGML_TYPE_Q6_K, 1 },   { GGML_TYPE_TQ1_0, 1 },
    { GGML_TYPE_TQ2_0, 1 }, { GGML_TYPE_IQ2_XXS, 32 }, { GGML_TYPE_IQ2_XS, 32 }, { GGML_TYPE_IQ2_S, 32 }, { GGML_TYPE_IQ3_XXS, 32 },
    { GGML_TYPE_IQ3_S, 32 }, { GGML_TYPE_IQ1_S, 32 },  { GGML_TYPE_IQ1_M, 32 },  { GGML_TYPE_IQ4_NL, 1 }, { GGML_TYPE_IQ4_XS, 1 },
};

bool is_block(ggml_type type) {
    return std::any_of(std::begin(block_types), std::end(block_types), [=](const auto & known) { return known.type == type; });
}

std::optional<encoder> encoder_of(ggml_type type) {
    for (const auto & known : block_types) {
        if (known.type == type && known.encoders > 0) {
            const bool together = known.encoders > 1;
            return encoder{ together ? known.encoders : 64, static_cast<uint32_t>(ggml_blck_size(type)) / known.encoders, together };
        }
    }
    return std::nullopt;
}

// Finding the entry is a workgroup's work.
bool has_grid(ggml_type type) {
    const auto by = encoder_of(type);
    return by && by->together;
}

shape ne(const ggml_tensor * t) {
    return { uint32_t(t->ne[0]), uint32_t(t->ne[1]), uint32_t(t->ne[2]), uint32_t(t->ne[3]) };
}

shape nb(const ggml_tensor * t) {
    const size_t size = ggml_type_size(t->type);
    return { uint32_t(t->nb[0] / size), uint32_t(t->nb[1] / size), uint32_t(t->nb[2] / size), uint32_t(t->nb[3] / size) };
}

uint32_t rows(const ggml_tensor * t) {
    return static_cast<uint32_t>(ggml_nrows(t));
}

uint32_t count(const ggml_tensor * t) {
    return static_cast<uint32_t>(ggml_nelements(t));
}

uint64_t span(const ggml_tensor * t) {
    return ggml_nbytes(t);
}

bool quads(const ggml_tensor * t) {
    const size_t size = ggml_type_size(t->type);
    if (ggml_is_quantized(t->type) || t->nb[0] != size || t->ne[0] % 4 != 0 || reinterpret_cast<uintptr_t>(t->data) % (4 * size) != 0) {
        return false;
    }
    for (int d = 1; d < GGML_MAX_DIMS; d++) {
        if (t->ne[d] > 1 && t->nb[d] % (4 * size) != 0) {
            return false;
        }
    }
    return true;
}

float param_f32(const ggml_tensor * t, int i) {
    float value;
    std::memcpy(&value, t->op_params + i, sizeof value);
    return value;
}

int32_t param_i32(const ggml_tensor * t, int i) {
    return t->op_params[i];
}

}  // namespace ops
