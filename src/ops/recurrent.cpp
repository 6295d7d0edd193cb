// Layers with a state instead of a KV cache: RWKV_WKV6, RWKV_WKV7, GATED_LINEAR_ATTN, GATED_DELTA_NET, SSM_SCAN, SSM_CONV; and SOLVE_TRI.
#include "ops/families.h"
#include "ops/split.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ops {

static constexpr uint32_t threads = 64;

namespace {

// A tensor and which of its dimensions 1, 2 and 3 count the heads, tokens and sequences of the recurrence.
struct source {
    const char * name;
    ggml_tensor  tensor;
    bool         by_head, by_token, by_seq;
};

// A state matrix for each head and sequence is led through the tokens. dst holds the outputs and after them the states: the last one,
// and of `snapshots` tokens in all the ones before.
struct recurrence {
    const ggml_tensor * dst;
    gpu::kernel_name    kernel;
    gpu::params         params;
    std::vector<source> sources;
    ggml_tensor         state;      // [row_size * rows, heads, 1, sequences, or more and named by ids]
    uint32_t            row_size;   // values of a state row
    uint32_t            rows;       // rows of a state matrix, outputs of a head
    int64_t             heads, tokens, seqs;
    int64_t             snapshots = 1;
    const ggml_tensor * ids       = nullptr;
};

// A part of the work.
struct range {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
    std::pair<range, range> halves() const { return { { begin, begin + size() / 2 }, { begin + size() / 2, end } }; }
};

// The same memory as `t` in another contiguous shape, `offset` values on.
ggml_tensor reshaped(const ggml_tensor * t, std::array<int64_t, 4> ne, int64_t offset = 0) {
    ggml_tensor r = *t;
    r.data        = static_cast<char *>(t->data) + offset * ggml_element_size(t);
    for (int d = 0; d < GGML_MAX_DIMS; d++) {
        r.ne[d] = ne[d];
        r.nb[d] = d == 0 ? ggml_element_size(t) : r.nb[d - 1] * r.ne[d - 1];
    }
    return r;
}

class recurrence_planner {
public:
    recurrence_planner(const gpu::capabilities & caps, const recurrence & r) : caps_(caps), r_(r) {
        const int64_t state_size = int64_t(r.row_size) * r.rows;
        const int64_t outputs    = r.rows * r.heads * r.tokens * r.seqs;
        outputs_                 = reshaped(r.dst, { r.rows, r.heads, r.tokens, r.seqs });
        // Snapshot 0 is the last state, snapshot s the one s tokens before.
        for (int64_t s = 0; s < r.snapshots; s++) {
            snapshots_.push_back(reshaped(r.dst, { state_size, r.heads, 1, r.seqs }, outputs + s * state_size * r.heads * r.seqs));
        }
        // A CPU is best off with one thread a row: then all threads read the same values of the vectors. For few tokens it matters little.
        const bool     alone   = caps.type == gpu::capabilities::kind::software && r.tokens > 8;
        const uint32_t largest = caps.subgroups && !alone ? std::min(caps.subgroup_min, 8u) : 1;
        while (team_ < largest && 4 * team_ < r.row_size) {
            team_ *= 2;
        }
    }

    plan make() {
        add({ 0, r_.heads }, { 0, r_.seqs });
        return std::move(whole_);
    }

private:
    const ggml_tensor * part(const source & s, range heads, range tokens, range seqs) {
        ggml_tensor * t   = &whole_.slices.emplace_back(s.tensor);
        const auto    cut = [&](bool along, int d, range r) {
            if (along && r.size() != t->ne[d]) {
                t = part_of(t, d, r.begin, r.end, whole_.slices);
            }
        };
        cut(s.by_head, 1, heads);
        cut(s.by_token, 2, tokens);
        cut(s.by_seq, 3, seqs);
        return t;
    }

    source state_in() const { return { "state", r_.state, true, false, r_.ids == nullptr }; }
    source state_out(int64_t snapshot) const { return { "states", snapshots_[snapshot], true, false, true }; }
    source outputs() const { return { "y", outputs_, true, true, true }; }

    // Heads and sequences are independent: cut until the states and the vectors of one token fit.
    void add(range heads, range seqs) {
        const bool states_fit = fits(caps_, part(state_out(0), heads, {}, seqs)) && (r_.ids != nullptr || fits(caps_, part(state_in(), heads, {}, seqs)));
        const bool fit        = states_fit && vectors_fit(heads, { 0, 1 }, seqs);
        if (!fit && seqs.size() > 1) {
            const auto [first, second] = seqs.halves();
            add(heads, first);
            add(heads, second);
        } else if (!fit && heads.size() > 1) {
            const auto [first, second] = heads.halves();
            add(first, seqs);
            add(second, seqs);
        } else if (!fit) {
            whole_.why = "the state of one head is larger than a binding";
        } else {
            add_tokens(heads, seqs);
        }
    }

    bool vectors_fit(range heads, range tokens, range seqs) {
        return fits(caps_, part(outputs(), heads, tokens, seqs)) &&
               std::all_of(r_.sources.begin(), r_.sources.end(), [&](const source & s) { return fits(caps_, part(s, heads, tokens, seqs)); });
    }

    // Tokens go one after the other. Each that leaves a snapshot ends a step, and the next goes on from there.
    void add_tokens(range heads, range seqs) {
        const ggml_tensor * from = nullptr;
        int64_t             done = 0;
        while (done < r_.tokens) {
            const int64_t end      = std::min(std::max(r_.tokens - r_.snapshots + 1, done + 1), r_.tokens);
            const int64_t snapshot = r_.tokens - end;
            const auto    to       = part(state_out(snapshot), heads, {}, seqs);
            while (done < end) {
                range tokens{ done, end };
                while (tokens.size() > 1 && !vectors_fit(heads, tokens, seqs)) {
                    tokens = tokens.halves().first;
                }
                add_step(heads, tokens, seqs, from, to);
                from = to;
                done = tokens.end;
            }
        }
    }

    // `from` is null for the first tokens, which start from the state of the op.
    void add_step(range heads, range tokens, range seqs, const ggml_tensor * from, const ggml_tensor * to) {
        if (from != nullptr) {
            whole_.steps.push_back(make_step(heads, tokens, seqs, from, to));
            return;
        }
        const ggml_tensor * state = part(state_in(), heads, {}, seqs);
        if (r_.ids == nullptr) {
            whole_.steps.push_back(make_step(heads, tokens, seqs, state, to));
            return;
        }
        // Named states: as many at once as fit.
        int64_t size = state->ne[3];
        while (size > 1 && !fits(caps_, part_of(state, 3, 0, size, whole_.slices))) {
            size = (size + 1) / 2;
        }
        for (int64_t first = 0; first < state->ne[3]; first += size) {
            const ggml_tensor * window = part_of(state, 3, first, std::min(first + size, state->ne[3]), whole_.slices);
            step                s      = make_step(heads, tokens, seqs, window, to);
            const ggml_tensor * ids    = part_of(r_.ids, 0, seqs.begin, seqs.end, whole_.slices);
            s.kernel.define("HAS_IDS");
            s.operands.push_back(bind("ids", ids));
            s.params.add("first_state", static_cast<uint32_t>(first)).add("bound_states", static_cast<uint32_t>(window->ne[3]));
            if (s.operands.size() < caps_.max_storage_buffers) {
                s.kernel.define("HAS_FAULT");
                s.operands.push_back(bind_fault());
                s.params.add("all_states", static_cast<uint32_t>(state->ne[3])).add("op", static_cast<uint32_t>(r_.dst->op));
            }
            whole_.steps.push_back(std::move(s));
        }
    }

    step make_step(range heads, range tokens, range seqs, const ggml_tensor * from, const ggml_tensor * to) {
        step s;
        s.kernel = r_.kernel;
        s.kernel.threads(threads).define("SIZE", r_.row_size).define("TEAM", team_);
        s.params = r_.params;
        for (const source & whole : r_.sources) {
            const ggml_tensor * t = part(whole, heads, tokens, seqs);
            s.operands.push_back(bind_source(whole.name, t, quads(t)));
            s.params.add(strides(whole.name), nb(t));
        }
        // With dst as one operand outputs and states share a binding.
        const ggml_tensor * y = part(outputs(), heads, tokens, seqs);
        operand             y_operand = bind("y", y);
        if (y->data == r_.dst->data && fits(caps_, r_.dst)) {
            y_operand.tensor = r_.dst;
        }
        s.operands.push_back(bind("state", from));
        s.operands.push_back(y_operand);
        s.operands.push_back(bind("states", to));
        s.params.add("state_nb", nb(from)).add("y_nb", nb(y)).add("states_nb", nb(to));
        s.params.add("rows", r_.rows).add("heads", static_cast<uint32_t>(heads.size())).add("first_head", static_cast<uint32_t>(heads.begin));
        s.params.add("seqs", static_cast<uint32_t>(seqs.size())).add("tokens", static_cast<uint32_t>(tokens.size()));
        if (r_.rows * team_ < threads) {
            s.kernel.define("ACROSS_HEADS");
            s.groups = groups_for(uint64_t(r_.rows) * heads.size() * seqs.size() * team_, threads);
        } else {
            s.groups = groups_for(uint64_t(r_.rows) * team_, threads) * heads.size() * seqs.size();
        }
        return s;
    }

    // The parameter that holds an operand's strides.
    static const char * strides(const std::string & name) {
        static const std::map<std::string, std::string> names = {
            { "q", "q_nb" },         { "k", "k_nb" }, { "v", "v_nb" }, { "g", "g_nb" },   { "beta", "beta_nb" }, { "decay", "decay_nb" },
            { "first", "first_nb" }, { "a", "a_nb" }, { "b", "b_nb" }, { "c", "c_nb" },   { "x", "x_nb" },       { "dt", "dt_nb" },
        };
        return names.at(name).c_str();
    }

    const gpu::capabilities & caps_;
    const recurrence &        r_;
    plan                      whole_;
    ggml_tensor               outputs_;
    std::vector<ggml_tensor>  snapshots_;
    uint32_t                  team_ = 1;  // threads that share a row
};

bool all_f32(const ggml_tensor * dst, int sources) {
    return std::all_of(dst->src, dst->src + sources, [](const ggml_tensor * t) { return t->type == GGML_TYPE_F32 && t->nb[0] == sizeof(float); });
}

}  // namespace

// RWKV_WKV6, GATED_LINEAR_ATTN, RWKV_WKV7: tokens of all sequences in one dimension, everything contiguous.
plan plan_linear_attention(const gpu::capabilities & caps, const ggml_tensor * dst) {
    struct role {
        const char * name;
        int          src;
    };
    std::vector<role> roles;
    const char *      define    = "GLA";
    int               state_src = 4;
    float             scale     = 1.0f;
    switch (dst->op) {
        case GGML_OP_RWKV_WKV6:
            define    = "WKV6";
            roles     = { { "k", 0 }, { "v", 1 }, { "q", 2 }, { "first", 3 }, { "decay", 4 } };
            state_src = 5;
            break;
        case GGML_OP_RWKV_WKV7:
            define    = "WKV7";
            roles     = { { "q", 0 }, { "decay", 1 }, { "k", 2 }, { "v", 3 }, { "a", 4 }, { "b", 5 } };
            state_src = 6;
            break;
        default:
            roles = { { "k", 0 }, { "v", 1 }, { "q", 2 }, { "decay", 3 } };
            scale = param_f32(dst, 0);
    }
    if (!all_f32(dst, state_src + 1)) {
        return unsupported("operands that are not contiguous f32");
    }
    const ggml_tensor * state = dst->src[state_src];
    const ggml_tensor * v     = dst->src[1];
    const int64_t       size = v->ne[0], heads = v->ne[1], seqs = state->ne[1], tokens = v->ne[2] / seqs;

    recurrence r{};
    r.dst    = dst;
    r.kernel = gpu::kernel_name("recurrent/linear").define(define);
    if (dst->op != GGML_OP_RWKV_WKV7) {
        r.kernel.define("TRANSPOSED");
    }
    r.params.add("scale", scale);
    for (const role & of : roles) {
        const bool by_token = std::string_view(of.name) != "first";
        r.sources.push_back({ of.name, reshaped(dst->src[of.src], { size, heads, by_token ? tokens : 1, by_token ? seqs : 1 }), true, by_token, by_token });
    }
    r.state    = reshaped(state, { size * size, heads, 1, seqs });
    r.row_size = r.rows = static_cast<uint32_t>(size);
    r.heads    = heads;
    r.tokens   = tokens;
    r.seqs     = seqs;
    return recurrence_planner(caps, r).make();
}

plan plan_gated_delta_net(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * q    = dst->src[0];
    const ggml_tensor * k    = dst->src[1];
    const ggml_tensor * v    = dst->src[2];
    const ggml_tensor * g    = dst->src[3];
    const ggml_tensor * beta = dst->src[4];
    if (!all_f32(dst, 6)) {
        return unsupported("operands that are not rows of f32");
    }
    const int64_t size = v->ne[0], heads = v->ne[1], seqs = v->ne[3];

    recurrence r{};
    r.dst    = dst;
    r.kernel = gpu::kernel_name("recurrent/gated_delta_net");
    if (g->ne[0] != 1) {
        r.kernel.define("VECTOR_GATE");
    }
    // q and k may have fewer heads and sequences, which those of v share; they are cut along the tokens only then.
    r.sources = {
        { "q", *q, false, true, q->ne[3] == seqs }, { "k", *k, false, true, k->ne[3] == seqs }, { "v", *v, true, true, true },
        { "g", *g, true, true, true },              { "beta", *beta, true, true, true },
    };
    r.params.add("scale", 1.0f / std::sqrt(static_cast<float>(size))).add("q_ne", ne(q)).add("k_ne", ne(k));
    r.params.add("q_repeat", static_cast<uint32_t>(seqs / q->ne[3])).add("k_repeat", static_cast<uint32_t>(seqs / k->ne[3]));
    r.state     = reshaped(dst->src[5], { size * size, heads, 1, seqs });
    r.row_size  = r.rows = static_cast<uint32_t>(size);
    r.heads     = heads;
    r.tokens    = v->ne[2];
    r.seqs      = seqs;
    r.snapshots = param_i32(dst, 0);
    return recurrence_planner(caps, r).make();
}

plan plan_ssm_scan(const gpu::capabilities & caps, const ggml_tensor * dst) {
    const ggml_tensor * state = dst->src[0];
    const ggml_tensor * x     = dst->src[1];
    const ggml_tensor * dt    = dst->src[2];
    const ggml_tensor * a     = dst->src[3];
    const ggml_tensor * b     = dst->src[4];
    const ggml_tensor * c     = dst->src[5];
    if (!all_f32(dst, 6) || dst->src[6]->type != GGML_TYPE_I32) {
        return unsupported("operands that are not rows of f32");
    }
    recurrence r{};
    r.dst      = dst;
    r.row_size = static_cast<uint32_t>(state->ne[0]);
    r.rows     = static_cast<uint32_t>(x->ne[0]);
    r.heads    = x->ne[1];
    r.tokens   = x->ne[2];
    r.seqs     = x->ne[3];
    r.kernel   = gpu::kernel_name("recurrent/ssm_scan");
    if (a->ne[0] != 1) {
        r.kernel.define("VECTOR_DECAY");
    }
    r.sources = {
        { "x", *x, true, true, true },  { "dt", reshaped(dt, { 1, r.heads, r.tokens, r.seqs }), true, true, true },
        { "a", *a, true, false, false }, { "b", *b, false, true, true },
        { "c", *c, false, true, true },
    };
    r.params.add("group_heads", static_cast<uint32_t>(r.heads / b->ne[1]));
    r.state     = reshaped(state, { state->ne[0] * state->ne[1], r.heads, 1, state->ne[3] });
    r.snapshots = param_i32(dst, 0);
    r.ids       = dst->src[6];
    return recurrence_planner(caps, r).make();
}

plan plan_ssm_conv(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * src     = dst->src[0];
    const ggml_tensor * filters = dst->src[1];
    if (src->type != GGML_TYPE_F32 || filters->type != GGML_TYPE_F32) {
        return unsupported("%s, %s", ggml_type_name(src->type), ggml_type_name(filters->type));
    }
    step s;
    s.kernel   = gpu::kernel_name("recurrent/ssm_conv").threads(threads);
    s.operands = { bind("src", src), bind("filters", filters), bind("dst", dst) };
    s.params.add("count", count(dst)).add("taps", static_cast<uint32_t>(filters->ne[0]));
    s.params.add("src_nb", nb(src)).add("filters_nb", nb(filters)).add("dst_ne", ne(dst)).add("dst_nb", nb(dst));
    s.groups = groups_for(count(dst), threads);
    return s;
}

plan plan_solve_tri(const gpu::capabilities &, const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const ggml_tensor * b = dst->src[1];
    if (a->type != GGML_TYPE_F32 || b->type != GGML_TYPE_F32) {
        return unsupported("%s, %s", ggml_type_name(a->type), ggml_type_name(b->type));
    }
    step s;
    s.kernel   = gpu::kernel_name("recurrent/solve_tri").threads(threads);
    s.operands = { bind("a", a), bind("b", b), bind("dst", dst) };
    const uint32_t columns = static_cast<uint32_t>(dst->ne[0] * dst->ne[2] * dst->ne[3]);
    s.params.add("count", columns).add("a_nb", nb(a)).add("b_nb", nb(b)).add("dst_ne", ne(dst)).add("dst_nb", nb(dst));
    s.groups = groups_for(columns, threads);
    return s;
}

}  // namespace ops
