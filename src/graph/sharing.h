// Products that read the same tensor share its prepared form (quantised columns in scratch memory): a step that would
// prepare once more what scratch memory still holds is left out.
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
        std::string         key;     // of the step that wrote scratch memory
        const ggml_tensor * source;  // from which
    };

    std::optional<held> held_;
};

}  // namespace graph
