#include "single_op.h"

#include <cstring>
#include <random>

namespace test {

std::string text(const sizes & ne) {
    return "[" + std::to_string(ne[0]) + "," + std::to_string(ne[1]) + "," + std::to_string(ne[2]) + "," + std::to_string(ne[3]) + "]";
}

std::vector<uint8_t> encoded(ggml_type type, const std::vector<float> & values, int64_t row) {
    const int64_t        n = static_cast<int64_t>(values.size());
    std::vector<uint8_t> bytes(ggml_row_size(type, n));
    if (type == GGML_TYPE_I32) {
        std::vector<int32_t> integers(n);
        std::transform(values.begin(), values.end(), integers.begin(), [](float v) { return static_cast<int32_t>(1000 * v); });
        std::memcpy(bytes.data(), integers.data(), bytes.size());
    } else {
        const std::vector<float> importance(row, 1.0f);
        ggml_quantize_chunk(type, values.data(), bytes.data(), 0, n / row, row, importance.data());
    }
    return bytes;
}

std::vector<float> decoded(ggml_type type, const std::vector<uint8_t> & bytes) {
    const int64_t      n = static_cast<int64_t>(bytes.size() / ggml_type_size(type)) * ggml_blck_size(type);
    std::vector<float> values(n);
    if (type == GGML_TYPE_F32) {
        std::memcpy(values.data(), bytes.data(), bytes.size());
    } else if (type == GGML_TYPE_I32) {
        const auto * integers = reinterpret_cast<const int32_t *>(bytes.data());
        std::copy(integers, integers + n, values.begin());
    } else {
        ggml_get_type_traits(type)->to_float(bytes.data(), values.data(), n);
    }
    return values;
}

// Random blocks of a type, made once. Their number shares no factor with the sizes of tensors.
static const std::vector<uint8_t> & random_blocks(ggml_type type) {
    static auto & made  = *new std::map<ggml_type, std::vector<uint8_t>>;
    auto &        bytes = made[type];
    if (bytes.empty()) {
        std::mt19937                          engine(1);
        std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
        std::vector<float>                    values(61 * 256);
        std::generate(values.begin(), values.end(), [&] { return uniform(engine); });
        bytes = encoded(type, values, 256);
    }
    return bytes;
}

void single_op::keep(const ggml_tensor * t, std::vector<uint8_t> bytes) {
    values_[t] = t->type == GGML_TYPE_I64 ? std::vector<float>() : decoded(t->type, bytes);
    bytes_[t]  = std::move(bytes);
}

ggml_tensor * single_op::random(ggml_type type, const sizes & ne) {
    ggml_tensor *        t      = ggml_new_tensor(ctx(), type, 4, ne.data());
    const auto &         blocks = random_blocks(type);
    const size_t         size   = ggml_type_size(type);
    std::vector<uint8_t> bytes(ggml_nbytes(t));
    size_t               from = 7 * bytes_.size() * size;  // no tensor like another
    for (size_t to = 0; to < bytes.size(); to += size, from += size) {
        std::memcpy(&bytes[to], &blocks[from % blocks.size()], size);
    }
    keep(t, std::move(bytes));
    return t;
}

ggml_tensor * single_op::floats(ggml_type type, const sizes & ne, const std::vector<float> & values) {
    ggml_tensor * t = ggml_new_tensor(ctx(), type, 4, ne.data());
    keep(t, encoded(type, values, ne[0]));
    return t;
}

ggml_tensor * single_op::integers(ggml_type type, const sizes & ne, const std::vector<int64_t> & values) {
    ggml_tensor *        t = ggml_new_tensor(ctx(), type, 4, ne.data());
    std::vector<uint8_t> bytes(ggml_nbytes(t));
    for (size_t i = 0; i < values.size(); i++) {
        std::memcpy(&bytes[i * ggml_type_size(type)], &values[i], ggml_type_size(type));  // of two sizes, the low end comes first
    }
    keep(t, std::move(bytes));
    return t;
}

ggml_status single_op::status(ggml_tensor * result) {
    static ggml_backend_t on = ggml_backend_dev_init(ggml_device(), nullptr);  // its kernels serve all cases
    ggml_cgraph *         graph = ggml_new_graph(ctx());
    ggml_build_forward_expand(graph, result);
    memory_.reset(ggml_backend_alloc_ctx_tensors(ctx(), on));
    if (memory_ == nullptr) {
        return GGML_STATUS_ALLOC_FAILED;
    }
    for (const auto & [t, bytes] : bytes_) {
        ggml_backend_tensor_set(const_cast<ggml_tensor *>(t), bytes.data(), 0, bytes.size());
    }
    return ggml_backend_graph_compute(on, graph);
}

bool single_op::compute(ggml_tensor * result) {
    if (!ggml_backend_dev_supports_op(ggml_device(), result)) {
        ADD_FAILURE() << "not supported";
        return false;
    }
    if (const ggml_status s = status(result); s != GGML_STATUS_SUCCESS) {
        ADD_FAILURE() << ggml_status_to_string(s);
        return false;
    }
    values_[root(result)] = decoded(result->type, bytes_of(root(result)));
    return true;
}

single_op::reader single_op::values(const ggml_tensor * t) const {
    const int64_t size   = static_cast<int64_t>(ggml_type_size(t->type));
    const int64_t values = ggml_blck_size(t->type);
    reader        r;
    r.values_ = values_.at(root(t)).data() + static_cast<int64_t>(t->view_offs) / size * values;
    r.step_   = { values == 1 ? static_cast<int64_t>(t->nb[0]) / size : 1, static_cast<int64_t>(t->nb[1]) / size * values,
                  static_cast<int64_t>(t->nb[2]) / size * values, static_cast<int64_t>(t->nb[3]) / size * values };
    return r;
}

}  // namespace test
