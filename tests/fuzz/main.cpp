// Random graphs, computed by a device of the plugin in GGML_BACKEND_PATH and by the CPU backend.
//
//   graph_fuzz [--count N] [--seed FIRST]   one graph a seed
//   graph_fuzz --graph TEXT                 the graph of a report
//   graph_fuzz --print TEXT                 its C++, without computing it
//   options: --device NAME, --jobs N processes, --seconds N after which no further graph is begun
//
// A failing graph is made smaller and printed as C++. The last line is "N passed, N failed".
#include "check.h"
#include "maker.h"
#include "shrink.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fuzz {

static constexpr unsigned seconds_a_graph  = 300;  // then it hangs
static constexpr int      tries_to_shrink  = 400, tries_after_crash = 80;
static constexpr int      most_shrunk      = 10;    // failures of a process
static constexpr uint64_t graphs_a_process = 500;   // the kernels they compile are kept, about 1.5 GiB of them
static constexpr uint64_t graphs_a_line    = 1000;  // of progress

using clock = std::chrono::steady_clock;

struct options {
    uint64_t    seed = 1, count = 2000, step = 1;
    uint64_t    seconds = 0;  // or as long as it takes
    unsigned    jobs   = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);  // each takes memory, see graphs_a_process
    std::string device = "WebGPU0";
    std::string graph;
    bool        worker = false, print = false, shrinks = true;
};

// When the time of a process is up; the same in its own words for its workers, which begin later.
class deadline {
public:
    explicit deadline(const options & o) : limited_(o.seconds > 0), end_(clock::now() + std::chrono::seconds(o.seconds)) {}

    bool passed() const { return limited_ && clock::now() >= end_; }

    std::string as_option() const {
        const auto left = std::chrono::duration_cast<std::chrono::seconds>(end_ - clock::now()).count();
        return limited_ ? " --seconds " + std::to_string(std::max<int64_t>(left, 1)) : "";
    }

private:
    bool              limited_;
    clock::time_point end_;
};

//
// one process: its graphs, one after the other
//

struct backends {
    ggml_backend_ptr cpu, device;
};

static ggml_backend_dev_t cpu_device() {
    return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
}

static backends open_backends(const options & o) {
    backends b;
    b.cpu.reset(ggml_backend_dev_init(cpu_device(), nullptr));
    if (const auto device = ggml_backend_dev_by_name(o.device.c_str())) {
        b.device.reset(ggml_backend_dev_init(device, nullptr));
    }
    if (b.cpu == nullptr || b.device == nullptr) {
        std::fprintf(stderr, "no device %s: is GGML_BACKEND_PATH the plugin's?\n", o.device.c_str());
        std::exit(2);
    }
    const auto registry    = ggml_backend_dev_backend_reg(cpu_device());
    const auto set_threads = reinterpret_cast<ggml_backend_set_n_threads_t>(ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads"));
    if (set_threads != nullptr) {
        set_threads(b.cpu.get(), 1);
    }
    return b;
}

// Their words are those of a worker's lines and of the summary.
static std::array<std::pair<const char *, std::map<std::string, size_t> *>, 3> tallies(tally & t) {
    return { { { "computed", &t.computed }, { "unjudged", &t.unjudged }, { "unsupported", &t.unsupported } } };
}

static std::optional<failure> check_genome(genome g, const backends & b, tally & seen, recipe & made) {
    made = make_graph(g, nullptr, cpu_device());
    return made.empty() ? std::nullopt : check(made, g.seed, b.cpu.get(), b.device.get(), seen);
}

static void report(const genome & g, const recipe & r, const failure & f) {
    std::ostringstream out;
    out << "FAILED t" << f.line << ", " << r[f.line].made_by->name << ": " << f.what << "\n" << to_cpp(r) << "    // --graph " << to_text(g) << "\n";
    std::fputs(out.str().c_str(), stdout);
    std::fflush(stdout);
}

// A graph that is known to fail, at the op that is known to.
static void shrink_and_report(genome g, recipe r, failure f, const backends & b, const deadline & end) {
    const std::string op = r[f.line].made_by->name;
    tally             ignored;
    const genome      smaller = shrink(std::move(g), [&](const genome & candidate) {
        recipe made;
        if (end.passed()) {
            return false;
        }
        const auto failed = check_genome(candidate, b, ignored, made);
        return failed && made[failed->line].made_by->name == op;
    }, tries_to_shrink);
    if (const auto failed = check_genome(smaller, b, ignored, r)) {
        report(smaller, r, *failed);
    }
}

static int work(const options & o) {
    const deadline end(o);
    const backends b = open_backends(o);
    tally          seen;
    int            failures = 0;
    for (uint64_t seed = o.seed; seed < o.seed + o.count && !end.passed(); seed += o.step) {
        std::printf("# seed %llu\n", (unsigned long long) seed);
        std::fflush(stdout);
        genome g = random_genome(seed, cpu_device());
        if (!o.graph.empty() && !from_text(o.graph, g)) {
            std::fprintf(stderr, "--graph: not the text of a graph\n");
            return 2;
        }
        std::printf("# graph %s\n", to_text(g).c_str());
        std::fflush(stdout);
        alarm(seconds_a_graph);
        recipe     r;
        const auto failed = check_genome(g, b, seen, r);
        if (failed) {
            failures++;
            alarm(10 * seconds_a_graph);
            o.shrinks && failures <= most_shrunk ? shrink_and_report(g, r, *failed, b, end) : report(g, r, *failed);
        }
        std::printf("# %s\n", failed ? "failed" : "passed");
        std::fflush(stdout);
    }
    alarm(0);
    for (const auto & [word, nodes] : tallies(seen)) {
        for (const auto & [name, count] : *nodes) {
            std::printf("# %s %zu %s\n", word, count, name.c_str());
        }
    }
    std::puts("# end");
    return 0;
}

static int print(const options & o) {
    genome g;
    if (!from_text(o.graph, g)) {
        std::fprintf(stderr, "--print: not the text of a graph\n");
        return 2;
    }
    std::fputs(to_cpp(make_graph(g, nullptr, cpu_device())).c_str(), stdout);
    return 0;
}

//
// several processes
//

struct totals {
    std::mutex lock;
    uint64_t   passed = 0, failed = 0;
    tally      seen;
};

static std::string own_path() {
    char          path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return length > 0 ? std::string(path, static_cast<size_t>(length)) : "graph_fuzz";
}

static FILE * start(const options & o, const std::string & arguments) {
    return popen(("'" + own_path() + "' --device '" + o.device + "' " + arguments).c_str(), "r");
}

// The signal that ended a process of popen's, or 0.
static int signal_of(int status) {
    if (WIFSIGNALED(status)) {
        return WTERMSIG(status);
    }
    // The shell's way to say it.
    return WIFEXITED(status) && WEXITSTATUS(status) > 128 ? WEXITSTATUS(status) - 128 : 0;
}

static void shrink_crash(const options & o, const deadline & time, const std::string & text, int signal) {
    genome g;
    if (!from_text(text, g)) {
        return;
    }
    g = shrink(std::move(g), [&](const genome & candidate) {
        if (time.passed()) {
            return false;
        }
        FILE * process = start(o, "--worker --unshrunk --count 1 --graph " + to_text(candidate) + " 2>/dev/null");
        while (std::fgetc(process) != EOF) {
        }
        return signal_of(pclose(process)) == signal;
    }, tries_after_crash);
    if (FILE * process = start(o, "--print " + to_text(g))) {
        char line[4096];
        while (std::fgets(line, sizeof line, process) != nullptr) {
            std::fputs(line, stdout);
        }
        pclose(process);
    }
    std::printf("    // --graph %s\n", to_text(g).c_str());
}

static void count_graph(const std::string & passed_or_failed, totals & all) {
    (passed_or_failed == "passed" ? all.passed : all.failed)++;
    if (const uint64_t graphs = all.passed + all.failed; graphs % graphs_a_line == 0) {
        std::printf("%llu graphs, %llu failed\n", (unsigned long long) graphs, (unsigned long long) all.failed);
        std::fflush(stdout);
    }
}

// Runs a worker from `seed` on. Returns the seed from which the next one goes on.
static uint64_t run_worker(const options & o, const deadline & time, uint64_t seed, totals & all) {
    const uint64_t     end = o.seed + o.count;
    std::ostringstream arguments;
    arguments << "--worker --seed " << seed << " --count " << std::min(end - seed, graphs_a_process * o.jobs) << " --step " << o.jobs << time.as_option();
    if (!o.graph.empty()) {
        arguments << " --graph " << o.graph;
    }
    FILE *      process = start(o, arguments.str());
    std::string text;
    uint64_t    running = seed;
    bool        ended   = false;
    char *      line    = nullptr;
    size_t      room    = 0;
    while (getline(&line, &room, process) > 0) {
        std::lock_guard    guard(all.lock);
        std::istringstream words(line);
        std::string        mark, word, name;
        words >> mark >> word;
        if (mark != "#") {
            std::fputs(line, stdout);
        } else if (word == "seed") {
            words >> running;
            text.clear();  // until it is made
        } else if (word == "graph") {
            words >> text;
        } else if (word == "end") {
            ended = true;
        } else if (word == "passed" || word == "failed") {
            count_graph(word, all);
        } else {
            size_t nodes = 0;
            words >> nodes;
            std::getline(words >> std::ws, name);
            for (const auto & [known, sums] : tallies(all.seen)) {
                if (word == known) {
                    (*sums)[name] += nodes;
                }
            }
        }
    }
    std::free(line);
    const int status = pclose(process);
    if (ended) {
        return running + o.jobs;
    }
    std::lock_guard guard(all.lock);
    all.failed++;
    const int signal = signal_of(status);
    if (signal == 0) {
        std::printf("FAILED: a process ended with status %d\n", WEXITSTATUS(status));
        return end;  // it would not start again
    }
    std::printf("FAILED seed %llu: %s\n", (unsigned long long) running, signal == SIGALRM ? "it does not end" : strsignal(signal));
    std::fflush(stdout);
    if (signal != SIGALRM && !text.empty()) {
        shrink_crash(o, time, text, signal);
    }
    std::fflush(stdout);
    return running + o.jobs;
}

static void print_nodes(const char * title, const std::map<std::string, size_t> & nodes) {
    std::string text;
    size_t      sum = 0;
    for (const auto & [name, count] : nodes) {
        text += count > 0 ? " " + name + " " + std::to_string(count) : "";
        sum += count;
    }
    if (sum > 0) {
        std::printf("nodes %s: %zu,%s\n", title, sum, text.c_str());
    }
}

static int run(options o) {
    if (!o.graph.empty()) {
        o.count = o.jobs = 1;
    }
    const deadline           end(o);
    totals                   all;
    std::vector<std::thread> threads;
    for (unsigned job = 0; job < o.jobs && job < o.count; job++) {
        threads.emplace_back([&, job] {
            for (uint64_t seed = o.seed + job; seed < o.seed + o.count && !end.passed();) {
                seed = run_worker(o, end, seed, all);
            }
        });
    }
    for (std::thread & t : threads) {
        t.join();
    }
    for (const auto & [word, nodes] : tallies(all.seen)) {
        print_nodes(word, *nodes);
    }
    std::printf("%llu passed, %llu failed\n", (unsigned long long) all.passed, (unsigned long long) all.failed);
    return all.failed == 0 && all.passed > 0 ? 0 : 1;
}

static bool read_options(int argc, char ** argv, options & o) {
    for (int i = 1; i < argc; i++) {
        const std::string_view name  = argv[i];
        const char *           value = i + 1 < argc ? argv[i + 1] : "";
        if (name == "--worker" || name == "--unshrunk") {
            (name == "--worker" ? o.worker : o.shrinks) = name == "--worker";
            continue;
        }
        if (name == "--seed") {
            o.seed = std::strtoull(value, nullptr, 10);
        } else if (name == "--count") {
            o.count = std::strtoull(value, nullptr, 10);
        } else if (name == "--step") {
            o.step = std::strtoull(value, nullptr, 10);
        } else if (name == "--seconds") {
            o.seconds = std::strtoull(value, nullptr, 10);
        } else if (name == "--jobs") {
            o.jobs = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
        } else if (name == "--device") {
            o.device = value;
        } else if (name == "--graph" || name == "--print") {
            o.graph = value;
            o.print = name == "--print";
        } else {
            return false;
        }
        i++;
    }
    return o.count > 0 && o.step > 0 && o.jobs > 0;
}

static int run_program(int argc, char ** argv) {
    options o;
    if (!read_options(argc, argv, o)) {
        std::fprintf(stderr, "usage: %s [--count N] [--seed FIRST] [--jobs N] [--seconds N] [--device NAME] | --graph TEXT | --print TEXT\n", argv[0]);
        return 2;
    }
    if (!o.worker && !o.print) {
        return run(o);
    }
    ggml_log_set([](ggml_log_level level, const char * text, void *) {
        if (level >= GGML_LOG_LEVEL_WARN && level != GGML_LOG_LEVEL_CONT) {
            std::fputs(text, stderr);
        }
    }, nullptr);
    ggml_backend_load_all();
    return o.print ? print(o) : work(o);
}

}  // namespace fuzz

int main(int argc, char ** argv) {
    return fuzz::run_program(argc, argv);
}
