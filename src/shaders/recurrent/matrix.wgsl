// A thread's part of a state row. The matrix starts at `start`; a row's values are neighbours, or with TRANSPOSED those of a column.
fn self_load_row(start: u32, row: u32, lane: u32) -> Row {
    var m = Row();
    for (var n = 0u; n < SHARE; n++) {
        for (var i = 0u; i < 4u; i++) {
            let column = 4u * (lane + n * TEAM) + i;
            if (column < SIZE) {
#if TRANSPOSED
                m[n][i] = self_value(start + column * params.rows + row, 0u);
#else
                m[n][i] = self_value(start + row * SIZE + column, 0u);
#endif
            }
        }
    }
    return m;
}

fn self_store_row(start: u32, row: u32, lane: u32, m: Row) {
    for (var n = 0u; n < SHARE; n++) {
        for (var i = 0u; i < 4u; i++) {
            let column = 4u * (lane + n * TEAM) + i;
            if (column < SIZE) {
#if TRANSPOSED
                self_store(start + column * params.rows + row, m[n][i]);
#else
                self_store(start + row * SIZE + column, m[n][i]);
#endif
            }
        }
    }
}
