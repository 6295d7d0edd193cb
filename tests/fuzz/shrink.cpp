#include "shrink.h"

#include <algorithm>

namespace fuzz {

namespace {

class shrinker {
public:
    shrinker(genome start, const std::function<bool(const genome &)> & fails, int tries) : best(std::move(start)), fails_(fails), tries_(tries) {}

    genome best;

    // Longer runs of nodes first.
    bool drop_nodes() {
        bool any = false;
        for (size_t run = std::max<size_t>(best.genes.size() / 2, 1); run > 0; run /= 2) {
            for (size_t end = best.genes.size(); end >= run && end > 0;) {
                genome fewer = best;
                fewer.genes.erase(fewer.genes.begin() + static_cast<ptrdiff_t>(end - run), fewer.genes.begin() + static_cast<ptrdiff_t>(end));
                const bool kept = !fewer.genes.empty() && take(std::move(fewer));
                any             = any || kept;
                end             = kept ? std::min(end - run, best.genes.size()) : end - 1;
            }
        }
        return any;
    }

    bool lower_decisions() {
        bool any = false;
        for (size_t i = 0; i < best.genes.size(); i++) {
            for (size_t j = 0; j < best.genes[i].size(); j++) {
                for (const uint32_t divisor : { 0u, 2u }) {
                    while (best.genes[i][j] > 0) {
                        genome lower      = best;
                        lower.genes[i][j] = divisor == 0 ? 0 : lower.genes[i][j] / divisor;
                        if (!take(std::move(lower)) || j >= best.genes[i].size()) {
                            break;
                        }
                        any = true;
                    }
                    if (j >= best.genes[i].size()) {
                        break;
                    }
                }
                if (j < best.genes[i].size() && best.genes[i][j] > 0) {
                    genome lower = best;
                    lower.genes[i][j]--;
                    any = take(std::move(lower)) || any;
                }
            }
        }
        return any;
    }

    bool exhausted() const { return tries_ <= 0; }

private:
    bool take(genome candidate) {
        if (tries_-- <= 0 || !fails_(candidate)) {
            return false;
        }
        best = std::move(candidate);
        return true;
    }

    const std::function<bool(const genome &)> & fails_;
    int                                         tries_;
};

}  // namespace

genome shrink(genome g, const std::function<bool(const genome &)> & fails, int tries) {
    shrinker s(std::move(g), fails, tries);
    while (!s.exhausted() && (s.drop_nodes() | s.lower_decisions())) {
    }
    return s.best;
}

}  // namespace fuzz
