// Times single ops on one device, as any ggml host would run them.
//
//   op_speed DEVICE SECONDS COLD_MB <CASES
//
// A case is a line: an op and its words (see "cases" below). Each is run for at least SECONDS, after as long as making
// ready took, to heat the device. Copies of its tensors that take COLD_MB together are used in turn, so that no cache holds
// them. Prints, for each case,
//
//   CASE <tab> microseconds <tab> floating-point operations <tab> bytes that must be moved
//
// or CASE and a reason instead of figures.
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <ggml.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using words = std::vector<std::string>;

static int64_t number(const words & w, size_t i) {
    return std::stoll(w.at(i));
}

static ggml_type type(const words & w, size_t i) {
    for (int t = 0; t < GGML_TYPE_COUNT; t++) {
        const char * name = ggml_type_name(static_cast<ggml_type>(t));
        if (name && w.at(i) == name) {
            return static_cast<ggml_type>(t);
        }
    }
    throw std::runtime_error("no type " + w.at(i));
}

//
// cases: op, and how its words become a tensor
//

// TYPE M N K
static ggml_tensor * mul_mat(ggml_context * ctx, const words & w) {
    ggml_tensor * a = ggml_new_tensor_2d(ctx, type(w, 1), number(w, 4), number(w, 2));
    ggml_tensor * b = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, number(w, 4), number(w, 3));
    return ggml_mul_mat(ctx, a, b);
}

// TYPE M N K EXPERTS USED
static ggml_tensor * mul_mat_id(ggml_context * ctx, const words & w) {
    ggml_tensor * a   = ggml_new_tensor_3d(ctx, type(w, 1), number(w, 4), number(w, 2), number(w, 5));
    ggml_tensor * b   = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, number(w, 4), 1, number(w, 3));
    ggml_tensor * ids = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, number(w, 6), number(w, 3));
    return ggml_mul_mat_id(ctx, a, b, ids);
}

static const char * const causal_mask = "causal mask";

// TYPE HEAD_SIZE HEADS KV_HEADS KV TOKENS, which are the last of KV
static ggml_tensor * flash_attn_ext(ggml_context * ctx, const words & w) {
    const int64_t size = number(w, 2), kv = number(w, 5), tokens = number(w, 6);
    ggml_tensor * q    = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, size, tokens, number(w, 3));
    ggml_tensor * k    = ggml_new_tensor_3d(ctx, type(w, 1), size, kv, number(w, 4));
    ggml_tensor * v    = ggml_new_tensor_3d(ctx, type(w, 1), size, kv, number(w, 4));
    ggml_tensor * mask = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, kv, tokens);
    ggml_set_name(mask, causal_mask);
    return ggml_flash_attn_ext(ctx, q, k, v, mask, 1.0f / std::sqrt(static_cast<float>(size)), 0.0f, 0.0f);
}

// FROM TO COLUMNS ROWS
static ggml_tensor * cpy(ggml_context * ctx, const words & w) {
    ggml_tensor * from = ggml_new_tensor_2d(ctx, type(w, 1), number(w, 3), number(w, 4));
    return ggml_cpy(ctx, from, ggml_new_tensor_2d(ctx, type(w, 2), number(w, 3), number(w, 4)));
}

// COLUMNS ROWS
static ggml_tensor * rows(ggml_context * ctx, const words & w, ggml_tensor * (*op)(ggml_context *, ggml_tensor *) ) {
    return op(ctx, ggml_new_tensor_2d(ctx, GGML_TYPE_F32, number(w, 1), number(w, 2)));
}

static ggml_tensor * rms_norm(ggml_context * ctx, const words & w) {
    return rows(ctx, w, [](ggml_context * c, ggml_tensor * x) { return ggml_rms_norm(c, x, 1e-5f); });
}

static ggml_tensor * soft_max(ggml_context * ctx, const words & w) {
    return rows(ctx, w, ggml_soft_max);
}

static ggml_tensor * add(ggml_context * ctx, const words & w) {
    return rows(ctx, w, [](ggml_context * c, ggml_tensor * x) { return ggml_add(c, x, ggml_new_tensor(c, x->type, 4, x->ne)); });
}

static const std::map<std::string, ggml_tensor * (*) (ggml_context *, const words &)> cases = {
    { "MUL_MAT", mul_mat }, { "MUL_MAT_ID", mul_mat_id }, { "FLASH_ATTN_EXT", flash_attn_ext },
    { "CPY", cpy },         { "RMS_NORM", rms_norm },     { "SOFT_MAX", soft_max },
    { "ADD", add },
};

static double flops(const ggml_tensor * t) {
    switch (t->op) {
        case GGML_OP_MUL_MAT:
        case GGML_OP_MUL_MAT_ID: return 2.0 * static_cast<double>(t->src[0]->ne[0]) * static_cast<double>(ggml_nelements(t));
        // K times Q, and the weights times V
        case GGML_OP_FLASH_ATTN_EXT: return 4.0 * static_cast<double>(t->src[1]->ne[1]) * static_cast<double>(ggml_nelements(t));
        default: return 0;
    }
}

// Each input read once and the result written once; of experts, those that any token can have used.
static double bytes(const ggml_tensor * t) {
    // A copy's target is one of its sources.
    double sum = t->op == GGML_OP_CPY ? 0 : static_cast<double>(ggml_nbytes(t));
    for (int i = 0; i < GGML_MAX_SRC && t->src[i]; i++) {
        double size = static_cast<double>(ggml_nbytes(t->src[i]));
        if (t->op == GGML_OP_MUL_MAT_ID && i == 0) {
            const int64_t experts = t->src[0]->ne[2];
            size *= static_cast<double>(std::min(experts, ggml_nelements(t->src[2]))) / static_cast<double>(experts);
        }
        sum += size;
    }
    return sum;
}

//
// values: random, so that nothing is faster than with real ones; masks as in a prompt
//

static std::vector<char> random_values(const ggml_tensor * t, std::mt19937 & random) {
    if (t->type == GGML_TYPE_I32) {  // experts: each token's are different ones
        std::vector<char> data(ggml_nbytes(t));
        const int         experts = 32;
        std::vector<int>  order(experts);
        for (int i = 0; i < experts; i++) {
            order[i] = i;
        }
        for (int64_t row = 0; row < t->ne[1]; row++) {
            std::shuffle(order.begin(), order.end(), random);
            std::copy_n(order.begin(), t->ne[0], reinterpret_cast<int32_t *>(data.data()) + row * t->ne[0]);
        }
        return data;
    }
    // Quantising is slow for some types: a few rows, again and again.
    const int64_t                         columns = t->ne[0], rows = std::min<int64_t>(4, ggml_nrows(t));
    std::vector<float>                    values(columns * rows), importance(columns, 1.0f);
    std::uniform_real_distribution<float> spread(-1.0f, 1.0f);
    std::generate(values.begin(), values.end(), [&] { return spread(random); });

    const size_t      row_size = ggml_row_size(t->type, columns);
    std::vector<char> few(row_size * rows), data(ggml_nbytes(t));
    ggml_quantize_chunk(t->type, values.data(), few.data(), 0, rows, columns, importance.data());
    for (size_t at = 0; at < data.size(); at += few.size()) {
        std::copy_n(few.data(), std::min(few.size(), data.size() - at), data.data() + at);
    }
    return data;
}

// Each token sees those before it and itself.
static std::vector<char> causal_values(const ggml_tensor * mask) {
    const int64_t     kv = mask->ne[0], tokens = mask->ne[1];
    std::vector<char> data(ggml_nbytes(mask));
    auto *            values = reinterpret_cast<ggml_fp16_t *>(data.data());
    for (int64_t i = 0; i < tokens; i++) {
        for (int64_t j = 0; j < kv; j++) {
            values[i * kv + j] = ggml_fp32_to_fp16(j <= kv - tokens + i ? 0.0f : -INFINITY);
        }
    }
    return data;
}

static void fill(ggml_context * ctx, std::mt19937 & random) {
    std::map<std::pair<ggml_type, int64_t>, std::vector<char>> made;  // by type and size: the copies are alike
    for (ggml_tensor * t = ggml_get_first_tensor(ctx); t; t = ggml_get_next_tensor(ctx, t)) {
        if (t->op != GGML_OP_NONE) {
            continue;
        }
        if (std::string(t->name) == causal_mask) {
            ggml_backend_tensor_set(t, causal_values(t).data(), 0, ggml_nbytes(t));
            continue;
        }
        std::vector<char> & data = made[{ t->type, ggml_nelements(t) }];
        if (data.empty()) {
            data = random_values(t, random);
        }
        ggml_backend_tensor_set(t, data.data(), 0, data.size());
    }
}

//
// timing
//

static double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

static double seconds(ggml_backend_t backend, ggml_cgraph * graph) {
    const auto start = std::chrono::steady_clock::now();
    if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) {
        throw std::runtime_error("not computed");
    }
    return seconds_since(start);
}

// A graph of "count" nodes, the copies in turn, and at least each once.
static ggml_cgraph * repeated(ggml_context * ctx, const std::vector<ggml_tensor *> & copies, int count) {
    ggml_cgraph * graph = ggml_new_graph_custom(ctx, count + 4 * copies.size(), false);
    for (ggml_tensor * copy : copies) {
        ggml_build_forward_expand(graph, copy);
    }
    for (size_t i = copies.size(); i < static_cast<size_t>(count); i++) {
        ggml_graph_add_node(graph, copies[i % copies.size()]);
    }
    return graph;
}

struct figures {
    double seconds, flops, bytes;
};

static figures measure(ggml_backend_t backend, const words & w, double at_least, double cold_bytes) {
    const auto build = cases.find(w.at(0));
    if (build == cases.end()) {
        throw std::runtime_error("no such case");
    }
    const auto         start      = std::chrono::steady_clock::now();
    constexpr int      max_copies = 64, max_nodes = 2048;
    const ggml_context_ptr ctx(ggml_init({ max_copies * 8 * ggml_tensor_overhead() + 3 * ggml_graph_overhead_custom(4 * max_nodes, false),
                                           nullptr, true }));
    std::vector<ggml_tensor *> copies = { build->second(ctx.get(), w) };
    if (!ggml_backend_supports_op(backend, copies[0])) {
        throw std::runtime_error("not supported");
    }
    const figures needs = { 0, flops(copies[0]), bytes(copies[0]) };
    const auto    count = static_cast<size_t>(std::clamp(cold_bytes / needs.bytes, 2.0, double{ max_copies }));
    while (copies.size() < count) {
        copies.push_back(build->second(ctx.get(), w));
    }
    const ggml_backend_buffer_ptr memory(ggml_backend_alloc_ctx_tensors(ctx.get(), backend));
    if (!memory) {
        throw std::runtime_error("no memory");
    }
    std::mt19937 random(1);
    fill(ctx.get(), random);

    // The first run compiles kernels; the second says how many nodes make a graph of a tenth of the time.
    ggml_cgraph * once = repeated(ctx.get(), copies, static_cast<int>(copies.size()));
    seconds(backend, once);
    const double  each  = seconds(backend, once) / static_cast<double>(copies.size());
    const int     nodes = static_cast<int>(std::clamp(at_least / 10 / each, static_cast<double>(copies.size()), double{ max_nodes }));
    ggml_cgraph * graph = repeated(ctx.get(), copies, nodes);
    // A GPU that has had nothing to do while kernels were compiled takes as long to reach its full clock again.
    const double heat = std::min(seconds_since(start), 1.0);
    for (double heated = 0; heated < heat;) {
        heated += seconds(backend, graph);
    }

    std::vector<double> times;
    for (double sum = 0; sum < at_least; sum += times.back()) {
        times.push_back(seconds(backend, graph));
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return { times[times.size() / 2] / nodes, needs.flops, needs.bytes };
}

// As many threads as there are cores, where that is a question at all.
static void use_all_cores(ggml_backend_dev_t device, ggml_backend_t backend) {
    void * set = ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_backend_set_n_threads");
    if (set) {
        reinterpret_cast<ggml_backend_set_n_threads_t>(set)(backend, static_cast<int>(std::thread::hardware_concurrency()));
    }
}

int main(int argc, char ** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: op_speed DEVICE SECONDS COLD_MB <CASES\n");
        return EXIT_FAILURE;
    }
    ggml_backend_load_all();
    const ggml_backend_dev_t device = ggml_backend_dev_by_name(argv[1]);
    const ggml_backend_ptr   backend(device ? ggml_backend_dev_init(device, nullptr) : nullptr);
    if (!backend) {
        std::fprintf(stderr, "op_speed: no device %s\n", argv[1]);
        return EXIT_FAILURE;
    }
    use_all_cores(device, backend.get());
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream text(line);
        const words        w{ std::istream_iterator<std::string>(text), {} };
        try {
            const figures f = measure(backend.get(), w, std::atof(argv[2]), std::atof(argv[3]) * 1e6);
            std::printf("%s\t%.2f\t%.0f\t%.0f\n", line.c_str(), f.seconds * 1e6, f.flops, f.bytes);
        } catch (const std::exception & e) {
            std::printf("%s\t%s\n", line.c_str(), e.what());
        }
        std::fflush(stdout);
    }
    return EXIT_SUCCESS;
}
