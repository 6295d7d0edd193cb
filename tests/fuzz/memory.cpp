#include "memory.h"

#include "choices.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

namespace fuzz {

static constexpr uint8_t unwritten = 0xff;  // as f32, f16 and bf16 not a number

//
// layout
//

memory_plan plan_memory(const graph & g, uint64_t seed, const std::vector<ggml_backend_buffer_type_t> & types) {
    size_t alignment = 1;
    for (const auto type : types) {
        alignment = std::max(alignment, ggml_backend_buft_get_alignment(type));
    }
    memory_plan plan;
    plan.buffers.assign(1 + mixed(seed) % 3, alignment);
    plan.places.resize(g.tensors.size());
    for (size_t i = 0; i < g.tensors.size(); i++) {
        const ggml_tensor * t = g.tensors[i];
        if (t->view_src != nullptr) {
            continue;
        }
        size_t size = 0;
        for (const auto type : types) {
            size = std::max(size, ggml_backend_buft_get_alloc_size(type, t));
        }
        const uint64_t random = mixed(seed + 1000 + i);
        auto &         place  = plan.places[i];
        place.buffer          = random % plan.buffers.size();
        size_t & end          = plan.buffers[place.buffer];
        place.offset          = end + alignment * (random >> 8 & 1);
        end                   = (place.offset + std::max<size_t>(size, 1) + alignment - 1) / alignment * alignment;
    }
    // A view is where its root is.
    std::map<const ggml_tensor *, size_t> line_of;
    for (size_t i = 0; i < g.tensors.size(); i++) {
        line_of[g.tensors[i]] = i;
        if (g.tensors[i]->view_src != nullptr) {
            plan.places[i] = plan.places[line_of.at(g.tensors[i]->view_src)];
            plan.places[i].offset += g.tensors[i]->view_offs;
        }
    }
    return plan;
}

world::world(ggml_backend_t backend, const recipe & r, const memory_plan & plan, bytes * host_memory) : backend_(backend), graph_(build(r)) {
    const size_t tensors = plan.buffers.size();
    context_.reset(ggml_init({ tensors * ggml_tensor_overhead() + ggml_graph_overhead_custom(1, false), nullptr, true }));
    single_ = ggml_new_graph_custom(context_.get(), 1, false);
    for (size_t b = 0; b < plan.buffers.size(); b++) {
        const size_t size = plan.buffers[b];
        buffers_.emplace_back(host_memory != nullptr ? ggml_backend_cpu_buffer_from_ptr((*host_memory)[b].data(), size)
                                                     : ggml_backend_alloc_buffer(backend, size));
        wholes_.push_back(ggml_new_tensor_1d(context_.get(), GGML_TYPE_I8, static_cast<int64_t>(size)));
        ggml_backend_tensor_alloc(buffers_.back().get(), wholes_.back(), ggml_backend_buffer_get_base(buffers_.back().get()));
    }
    for (size_t i = 0; i < graph_.tensors.size(); i++) {
        ggml_tensor * t = graph_.tensors[i];
        if (t->view_src != nullptr) {
            ggml_backend_view_init(t);
        } else {
            ggml_backend_buffer_t buffer = buffers_[plan.places[i].buffer].get();
            ggml_backend_tensor_alloc(buffer, t, static_cast<char *>(ggml_backend_buffer_get_base(buffer)) + plan.places[i].offset);
        }
    }
}

void world::set(const bytes & all) {
    for (size_t b = 0; b < wholes_.size(); b++) {
        ggml_backend_tensor_set(wholes_[b], all[b].data(), 0, all[b].size());
    }
}

void world::get(bytes & all) const {
    for (size_t b = 0; b < wholes_.size(); b++) {
        ggml_backend_tensor_get(wholes_[b], all[b].data(), 0, all[b].size());
    }
}

std::string world::compute(size_t line) {
    ggml_graph_clear(single_);
    ggml_graph_add_node(single_, graph_.tensors[line]);
    const ggml_status status = ggml_backend_graph_compute(backend_, single_);
    return status == GGML_STATUS_SUCCESS ? "" : std::string("graph_compute: ") + ggml_status_to_string(status);
}

//
// values
//

// A number in [0, 1) for the i-th of a leaf.
static double unit(uint64_t seed, int64_t i) {
    return static_cast<double>(mixed(seed ^ mixed(static_cast<uint64_t>(i))) >> 11) * 0x1p-53;
}

static double value(const fill & f, const line & l, uint64_t seed, int64_t i) {
    const double  u = unit(seed, i), lo = static_cast<double>(f.lo), hi = static_cast<double>(f.hi);
    const int64_t length = l.n[1];
    switch (f.is) {
        case fill::kind::uniform: return lo + (hi - lo) * u;
        case fill::kind::index:   return std::floor(hi * u);
        case fill::kind::mask:    return i % length == 0 || u < 0.6 ? 0.0 : -INFINITY;
        case fill::kind::stairs:  return lo + static_cast<double>(i);
        case fill::kind::special: {
            static constexpr double rare[] = { NAN, INFINITY, -INFINITY, 0.0, -0.0, 3e4, 1e9, -1e9 };
            return u < 0.03 ? rare[mixed(static_cast<uint64_t>(i) + seed) % std::size(rare)] : lo + (hi - lo) * u;
        }
        case fill::kind::permutation: break;
    }
    return NAN;
}

// Rows of different numbers below f.hi.
static std::vector<double> permutations(const fill & f, const line & l, uint64_t seed, int64_t count) {
    std::vector<int64_t> numbers(static_cast<size_t>(f.hi));
    std::vector<double>  values;
    for (int64_t i = 0; i < count; i++) {
        const auto at = static_cast<size_t>(i % l.n[1]);
        if (at == 0) {
            std::iota(numbers.begin(), numbers.end(), 0);
        }
        std::swap(numbers[at], numbers[at + static_cast<size_t>(unit(seed, i) * static_cast<double>(numbers.size() - at))]);
        values.push_back(static_cast<double>(numbers[at]));
    }
    return values;
}

// Types whose values are numbers of a grid's rows: all bits are right but those of the scale, and encoding takes minutes.
static float grid_scale(ggml_type type) {
    switch (type) {
        case GGML_TYPE_IQ1_S:
        case GGML_TYPE_IQ1_M:   return 0.06f;
        case GGML_TYPE_IQ2_XXS:
        case GGML_TYPE_IQ2_XS:
        case GGML_TYPE_IQ2_S:   return 0.005f;
        case GGML_TYPE_IQ3_XXS:
        case GGML_TYPE_IQ3_S:   return 0.002f;
        default:                return 0.0f;
    }
}

static void set_scale(ggml_type type, uint8_t * block) {
    const uint16_t d = ggml_fp32_to_fp16(grid_scale(type));
    if (type != GGML_TYPE_IQ1_M) {
        std::memcpy(block, &d, sizeof d);
        return;
    }
    // Its digits are the highest of each of the last four halves.
    uint8_t * scales = block + ggml_type_size(type) - 8;
    for (int i = 0; i < 4; i++) {
        scales[2 * i + 1] = static_cast<uint8_t>((scales[2 * i + 1] & 0x0f) | (d >> 4 * i & 0x0f) << 4);
    }
}

// Leaves are made of these.
static const std::vector<uint8_t> & some_blocks(ggml_type type) {
    static constexpr int64_t                         count = 256;
    static std::map<ggml_type, std::vector<uint8_t>> made;
    std::vector<uint8_t> &                           blocks = made[type];
    if (!blocks.empty()) {
        return blocks;
    }
    const size_t size = ggml_type_size(type);
    blocks.resize(static_cast<size_t>(count) * size);
    if (grid_scale(type) != 0.0f) {
        for (size_t i = 0; i < blocks.size(); i++) {
            blocks[i] = static_cast<uint8_t>(mixed(i));
        }
        for (size_t b = 0; b < blocks.size(); b += size) {
            set_scale(type, blocks.data() + b);
        }
        return blocks;
    }
    std::vector<float> values(static_cast<size_t>(count * ggml_blck_size(type)));
    for (size_t i = 0; i < values.size(); i++) {
        values[i] = static_cast<float>(2.0 * unit(type, static_cast<int64_t>(i)) - 1.0);
    }
    ggml_quantize_chunk(type, values.data(), blocks.data(), 0, count, ggml_blck_size(type), nullptr);
    return blocks;
}

static std::vector<uint8_t> block_bytes(ggml_type type, int64_t values, uint64_t seed) {
    const std::vector<uint8_t> & blocks = some_blocks(type);
    const size_t                 size = ggml_type_size(type), count = blocks.size() / size;
    std::vector<uint8_t>         bytes;
    for (int64_t b = 0; b < values / ggml_blck_size(type); b++) {
        const auto block = blocks.begin() + static_cast<ptrdiff_t>(mixed(seed ^ mixed(static_cast<uint64_t>(b))) % count * size);
        bytes.insert(bytes.end(), block, block + static_cast<ptrdiff_t>(size));
    }
    return bytes;
}

template <typename T> static void put(std::vector<uint8_t> & bytes, T value) {
    const auto at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::vector<uint8_t> leaf_bytes(const line & l, uint64_t seed) {
    const auto    type  = static_cast<ggml_type>(l.n[0]);
    const int64_t count = l.n[1] * l.n[2] * l.n[3] * l.n[4];
    if (ggml_is_quantized(type)) {
        return block_bytes(type, count, seed);
    }
    std::vector<double> permuted;
    if (l.values.is == fill::kind::permutation) {
        permuted = permutations(l.values, l, seed, count);
    }
    std::vector<uint8_t> bytes;
    bytes.reserve(static_cast<size_t>(count) * ggml_type_size(type));
    for (int64_t i = 0; i < count; i++) {
        const double v = permuted.empty() ? value(l.values, l, seed, i) : permuted[static_cast<size_t>(i)];
        switch (type) {
            case GGML_TYPE_F32:  put(bytes, static_cast<float>(v)); break;
            case GGML_TYPE_F16:  put(bytes, ggml_fp32_to_fp16(static_cast<float>(v))); break;
            case GGML_TYPE_BF16: put(bytes, ggml_fp32_to_bf16(static_cast<float>(v))); break;
            case GGML_TYPE_I32:  put(bytes, static_cast<int32_t>(v)); break;
            case GGML_TYPE_I64:  put(bytes, static_cast<int64_t>(v)); break;
            default:             break;
        }
    }
    return bytes;
}

bytes first_bytes(const recipe & r, const memory_plan & plan, uint64_t seed) {
    bytes all;
    for (const size_t size : plan.buffers) {
        all.emplace_back(size, unwritten);
    }
    for (size_t i = 0; i < r.size(); i++) {
        if (is_leaf(r[i])) {
            const auto values = leaf_bytes(r[i], mixed(seed + i));
            std::copy(values.begin(), values.end(), in(all, plan, i));
        }
    }
    return all;
}

}  // namespace fuzz
