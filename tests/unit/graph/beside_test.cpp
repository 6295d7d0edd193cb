#include "graph/beside.h"

#include "../environment.h"

#include <gtest/gtest.h>

// Letters stand for pieces of one buffer: `reads` and `writes` of a dispatch.
struct work {
    std::string reads, writes;
    bool        joins   = true;
    uint32_t    threads = 64;
};

struct placing_case {
    const char *             promise;
    std::vector<work>        in_order;
    std::vector<std::string> placed;  // the numbers of the dispatches that run together
};

class side_by_side_placing : public testing::TestWithParam<placing_case> {};

static gpu::dispatch dispatch_of(const work & w, const gpu::buffer_ref & memory, size_t number) {
    static constexpr const char * names[] = { "a", "b", "c", "d", "e", "f" };
    gpu::dispatch                 d;
    d.kernel = gpu::kernel_name("test").threads(w.threads);
    d.groups = 1;
    d.joins  = w.joins;
    d.label  = std::to_string(number);
    for (const char c : w.reads + w.writes) {
        gpu::operand o{ names[d.operands.size()], memory, 1024 * uint64_t(c - 'a'), 1024 };
        o.written = d.operands.size() >= w.reads.size();
        d.operands.push_back(o);
    }
    return d;
}

TEST_P(side_by_side_placing, holds) {
    const placing_case &       c      = GetParam();
    const auto                 memory = *test::device()->create_buffer(26 * 1024, "test");
    // Whether they are taken together or as early as they can be.
    for (const bool early : { false, true }) {
        graph::side_by_side      placing(test::device()->caps());
        std::vector<std::string> placed;
        const auto               take = [&](bool all) {
            for (const gpu::dispatch & d : placing.take(all)) {
                placed.push_back(d.label);
            }
        };
        for (size_t i = 0; i < c.in_order.size(); i++) {
            placing.add(dispatch_of(c.in_order[i], memory, i));
            if (early) {
                take(false);
            }
        }
        take(true);
        EXPECT_EQ(placed, c.placed) << c.promise;
    }
}

INSTANTIATE_TEST_SUITE_P(
    cases, side_by_side_placing,
    testing::Values(
        placing_case{ "what is independent runs together", { { "x", "a" }, { "x", "b" }, { "x", "c" } }, { "0 | 1 | 2" } },
        placing_case{ "a reader waits for the writer", { { "x", "a" }, { "a", "b" } }, { "0", "1" } },
        placing_case{ "a writer waits for the reader", { { "a", "b" }, { "x", "a" } }, { "0", "1" } },
        placing_case{ "two writers keep their order", { { "x", "a" }, { "y", "a" } }, { "0", "1" } },
        placing_case{ "one moves over what does not concern it", { { "x", "a" }, { "a", "b", false }, { "x", "c" } }, { "0 | 2", "1" } },
        placing_case{ "but not over what it needs", { { "x", "a" }, { "a", "b", false }, { "b", "c" } }, { "0", "1", "2" } },
        placing_case{ "nor over what needs the old values", { { "x", "a" }, { "c", "b", false }, { "x", "c" } }, { "0", "1", "2" } },
        placing_case{ "nor from beside another", { { "x", "a" }, { "y", "b" }, { "b", "c" } }, { "0 | 1", "2" } },
        placing_case{ "large ones stay alone", { { "x", "a", false }, { "x", "b", false } }, { "0", "1" } },
        placing_case{ "workgroups must be alike", { { "x", "a" }, { "x", "b", true, 128 } }, { "0", "1" } },
        placing_case{ "chains run in step", { { "x", "a" }, { "a", "b" }, { "x", "c" }, { "c", "d" } }, { "0 | 2", "1 | 3" } },
        placing_case{ "four at most", { { "x", "a" }, { "x", "b" }, { "x", "c" }, { "x", "d" }, { "x", "e" } }, { "0 | 1 | 2 | 3", "4" } }));
