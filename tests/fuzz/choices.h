// The decisions a graph is made from. They are kept as numbers, one list a node, so that a failing graph can be made
// again, and shrunk by dropping lists and lowering numbers: whatever the numbers, the graph they make is a valid one.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace fuzz {

// SplitMix64 (Steele, Lea and Flood, 2014): one step for any state.
inline uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

struct genome {
    uint64_t                           seed = 0;  // of the values in the graph's leaves
    std::vector<std::vector<uint32_t>> genes;     // one a node
};

// "SEED:1,2,3/4,5/..."; --graph reads it.
std::string to_text(const genome & g);
bool        from_text(const std::string & text, genome & g);

// Hands out the decisions of one gene. Past its end they are 0, the simplest, or, while a genome is being made, random.
class choices {
public:
    choices(std::vector<uint32_t> & gene, uint64_t * random) : gene_(&gene), random_(random) {}

    uint32_t below(uint32_t n) {
        if (at_ == gene_->size()) {
            gene_->push_back(random_ != nullptr ? static_cast<uint32_t>((*random_ = mixed(*random_)) >> 32) % n : 0);
        }
        return (*gene_)[at_++] % n;
    }

    // The likelier a decision, the higher; 0 is "no".
    bool chance(uint32_t percent) { return below(100) >= 100 - percent; }

    template <typename T> T of(std::initializer_list<T> list) { return list.begin()[below(static_cast<uint32_t>(list.size()))]; }

private:
    std::vector<uint32_t> * gene_;
    uint64_t *              random_;
    size_t                  at_ = 0;
};

}  // namespace fuzz
