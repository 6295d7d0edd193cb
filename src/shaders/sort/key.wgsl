// What rows are sorted by: a number that grows along the result. `descending` is 0 or all bits.
#include "lib/order.wgsl"
#include "codecs/{src_TYPE}.wgsl" as src

fn key_of(row_first: u32, index: u32) -> u32 {
    return order_key(src_value(row_first + index * params.src_nb.x, 0u)) ^ params.descending;
}
