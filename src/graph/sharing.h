// Products that read the same tensor share its prepared form (columns quantised, or packed for matrices): a step that would
// prepare once more what is still there is left out. So is one whose work the op that made the tensor has done (plan.prepared).
#pragma once

#include "ops/plan.h"

#include <optional>
#include <string>

namespace graph {

class shared_preparation {
public:
    // Removes what need not be done from the plan of nodes [begin, end), which are planned in the order they run.
    void share(ops::plan & plan, ggml_tensor * const * begin, ggml_tensor * const * end);

private:
    struct held {
        std::string         key;         // of the step that prepared
        const ggml_tensor * source;      // from this
        bool                in_scratch;  // which any plan may overwrite
        uint64_t            offset;      // in the prepared memory, of what it left
    };

    std::optional<held> held_;
};

}  // namespace graph
