// Row numbers read from the operand `index`, i32 or i64. The bound table may be a window of the whole one.
#include "lib/fault.wgsl"
#include "codecs/{index_TYPE}.wgsl" as index

const no_row = 0xffffffffu;

// The row of the bound table that number `i` means: no_row if it lies in another window, or in none, which is a fault.
fn table_row(i: u32) -> u32 {
    let row = bitcast<u32>(index_int(i));
    if (index_high_int(i) != 0 || row >= params.whole) {
        raise_fault();
        return no_row;
    }
    return select(no_row, row - params.begin, row >= params.begin && row - params.begin < params.held);
}
