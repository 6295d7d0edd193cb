// Unit `i` of the row that starts at value `row`.
#include "lib/grid.wgsl"
#include "lib/unit.wgsl"

fn self_unit(row: u32, i: u32) -> UNIT {
#if QUADS
    return self_quad(row, i);
#else
    return self_value(row + along_row(i, params.self_nb), 0u);
#endif
}
