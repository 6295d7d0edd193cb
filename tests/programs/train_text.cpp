// Trains a small llama-like model on the bytes of a text with ggml-opt, as any ggml host would.
//
//   train_text TEXT DEVICE EPOCHS
//
// Prints "epoch N: loss X" for each; X is the mean cross entropy of the next byte.
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <ggml-opt.h>
#include <ggml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

static constexpr int64_t embedding = 48, heads = 3, layers = 2, feed_forward = 96, length = 48;
static constexpr float   learning_rate = 3e-3f;

[[noreturn]] static void fail(const std::string & why) {
    std::fprintf(stderr, "train_text: %s\n", why.c_str());
    std::exit(EXIT_FAILURE);
}

//
// text
//

// Bytes of the text are numbered as they first occur.
struct corpus {
    std::vector<int32_t> tokens;
    int64_t              vocabulary = 0;

    explicit corpus(const char * path) {
        std::ifstream     file(path, std::ios::binary);
        const std::string text{ std::istreambuf_iterator<char>(file), {} };
        std::array<int32_t, 256> number;
        number.fill(-1);
        for (const char c : text) {
            int32_t & n = number[static_cast<uint8_t>(c)];
            n           = n < 0 ? static_cast<int32_t>(vocabulary++) : n;
            tokens.push_back(n);
        }
        if (static_cast<int64_t>(tokens.size()) <= length) {
            fail(std::string(path) + " is too short");
        }
    }

    size_t sequences() const { return (tokens.size() - 1) / length; }
};

//
// model
//

struct model {
    ggml_context_ptr           weights, compute;
    ggml_backend_buffer_ptr    memory;
    ggml_tensor *              tokens;
    ggml_tensor *              positions;
    ggml_tensor *              mask;
    ggml_tensor *              logits;
    std::vector<ggml_tensor *> parameters;

    model(ggml_backend_t backend, int64_t vocabulary) {
        weights.reset(ggml_init({ 64 * ggml_tensor_overhead(), nullptr, true }));
        // Forward, backward and optimiser graphs.
        compute.reset(ggml_init({ 4096 * ggml_tensor_overhead() + 3 * ggml_graph_overhead_custom(GGML_DEFAULT_GRAPH_SIZE, true), nullptr, true }));
        tokens    = ggml_new_tensor_1d(weights.get(), GGML_TYPE_I32, length);
        positions = ggml_new_tensor_1d(weights.get(), GGML_TYPE_I32, length);
        mask      = ggml_new_tensor_2d(weights.get(), GGML_TYPE_F32, length, length);
        logits    = forward(vocabulary);
        memory.reset(ggml_backend_alloc_ctx_tensors(weights.get(), backend));
        set_inputs();
        set_parameters();
    }

private:
    ggml_tensor * parameter(int64_t ne0, int64_t ne1 = 1) {
        ggml_tensor * t = ggml_new_tensor_2d(weights.get(), GGML_TYPE_F32, ne0, ne1);
        ggml_set_param(t);
        parameters.push_back(t);
        return t;
    }

    ggml_tensor * project(ggml_tensor * x, int64_t to) { return ggml_mul_mat(compute.get(), parameter(x->ne[0], to), x); }

    ggml_tensor * normalise(ggml_tensor * x) { return ggml_mul(compute.get(), ggml_rms_norm(compute.get(), x, 1e-5f), parameter(embedding)); }

    // [embedding, length] as [head size, length, heads].
    ggml_tensor * by_head(ggml_tensor * x) { return ggml_permute(compute.get(), x, 0, 2, 1, 3); }

    ggml_tensor * turned(ggml_tensor * x) {
        return ggml_rope(compute.get(), ggml_reshape_3d(compute.get(), x, embedding / heads, heads, length), positions, embedding / heads, GGML_ROPE_TYPE_NEOX);
    }

    ggml_tensor * attend(ggml_tensor * x) {
        ggml_context * ctx    = compute.get();
        ggml_tensor *  q      = by_head(turned(project(x, embedding)));
        ggml_tensor *  k      = by_head(turned(project(x, embedding)));
        ggml_tensor *  v      = ggml_reshape_3d(ctx, project(x, embedding), embedding / heads, heads, length);
        ggml_tensor *  scores = ggml_soft_max_ext(ctx, ggml_mul_mat(ctx, k, q), mask, 1.0f / std::sqrt(static_cast<float>(embedding / heads)), 0.0f);
        ggml_tensor *  mixed  = ggml_mul_mat(ctx, ggml_cont(ctx, ggml_permute(ctx, v, 1, 2, 0, 3)), scores);
        return project(ggml_cont_2d(ctx, by_head(mixed), embedding, length), embedding);
    }

    ggml_tensor * forward(int64_t vocabulary) {
        ggml_context * ctx = compute.get();
        ggml_tensor *  x   = ggml_get_rows(ctx, parameter(embedding, vocabulary), tokens);
        for (int64_t layer = 0; layer < layers; layer++) {
            x               = ggml_add(ctx, x, attend(normalise(x)));
            ggml_tensor * h = normalise(x);
            x               = ggml_add(ctx, x, project(ggml_swiglu_split(ctx, project(h, feed_forward), project(h, feed_forward)), embedding));
        }
        return project(normalise(x), vocabulary);
    }

    void set_inputs() {
        std::vector<int32_t> numbers(length);
        std::vector<float>   causal(length * length, 0.0f);
        for (int64_t i = 0; i < length; i++) {
            numbers[static_cast<size_t>(i)] = static_cast<int32_t>(i);
            std::fill(causal.begin() + i * length + i + 1, causal.begin() + (i + 1) * length, -INFINITY);
        }
        ggml_backend_tensor_set(positions, numbers.data(), 0, ggml_nbytes(positions));
        ggml_backend_tensor_set(mask, causal.data(), 0, ggml_nbytes(mask));
    }

    void set_parameters() {
        std::mt19937 random(1);
        for (ggml_tensor * t : parameters) {
            std::vector<float> values(static_cast<size_t>(ggml_nelements(t)), 1.0f);
            if (t->ne[1] > 1) {
                const float range = std::sqrt(3.0f / static_cast<float>(t->ne[0]));
                for (float & v : values) {
                    v = range * (2.0f * static_cast<float>(random()) / static_cast<float>(std::mt19937::max()) - 1.0f);
                }
            }
            ggml_backend_tensor_set(t, values.data(), 0, ggml_nbytes(t));
        }
    }
};

//
// training
//

static ggml_opt_optimizer_params optimiser(void *) {
    ggml_opt_optimizer_params p = ggml_opt_get_default_optimizer_params(nullptr);
    p.adamw.alpha               = learning_rate;
    return p;
}

static void set_sequence(const model & m, ggml_opt_context_t training, const corpus & text, size_t sequence) {
    const int32_t *    from = text.tokens.data() + sequence * length;
    std::vector<float> labels(static_cast<size_t>(text.vocabulary * length), 0.0f);
    for (int64_t i = 0; i < length; i++) {
        labels[static_cast<size_t>(i * text.vocabulary + from[i + 1])] = 1.0f;
    }
    ggml_backend_tensor_set(m.tokens, from, 0, ggml_nbytes(m.tokens));
    ggml_backend_tensor_set(ggml_opt_labels(training), labels.data(), 0, labels.size() * sizeof(float));
}

static double run_epoch(const model & m, ggml_opt_context_t training, const corpus & text) {
    double sum = 0.0;
    for (size_t s = 0; s < text.sequences(); s++) {
        ggml_opt_alloc(training, true);
        set_sequence(m, training, text, s);
        ggml_opt_eval(training, nullptr);
        float loss = 0.0f;
        ggml_backend_tensor_get(ggml_opt_loss(training), &loss, 0, sizeof loss);
        sum += static_cast<double>(loss);
    }
    return sum / static_cast<double>(text.sequences());
}

int main(int argc, char ** argv) {
    if (argc != 4) {
        fail("usage: train_text TEXT DEVICE EPOCHS");
    }
    const corpus text(argv[1]);
    ggml_backend_load_all();
    const auto device = ggml_backend_dev_by_name(argv[2]), cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (device == nullptr || cpu == nullptr) {
        fail(std::string("no device ") + argv[2]);
    }
    const ggml_backend_ptr      on(ggml_backend_dev_init(device, nullptr)), rest(ggml_backend_dev_init(cpu, nullptr));
    std::vector<ggml_backend_t> backends = { on.get(), rest.get() };
    if (device == cpu) {
        backends.pop_back();
    }
    const ggml_backend_sched_ptr scheduler(
        ggml_backend_sched_new(backends.data(), nullptr, static_cast<int>(backends.size()), GGML_DEFAULT_GRAPH_SIZE, false, true));

    const model     m(on.get(), text.vocabulary);
    ggml_opt_params settings = ggml_opt_default_params(scheduler.get(), GGML_OPT_LOSS_TYPE_CROSS_ENTROPY);
    settings.ctx_compute     = m.compute.get();
    settings.inputs          = m.tokens;
    settings.outputs         = m.logits;
    settings.get_opt_pars    = optimiser;
    const ggml_opt_context_t training = ggml_opt_init(settings);
    for (int epoch = 1; epoch <= std::atoi(argv[3]); epoch++) {
        std::printf("epoch %d: loss %.6f\n", epoch, run_epoch(m, training, text));
        std::fflush(stdout);
    }
    ggml_opt_free(training);
}
