// Stores unit `i` of the row that starts at value `row`.
#include "lib/grid.wgsl"
#include "lib/unit.wgsl"

fn self_store_unit(row: u32, i: u32, v: UNIT) {
#if QUADS
    self_store_quad(row + 4u * i, v);
#else
    self_store(row + along_row(i, params.self_nb), v);
#endif
}
