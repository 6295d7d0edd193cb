// Over a row of logits: their maximum, and the sum of exp(logit - maximum).
#include "lib/reduce.wgsl" as total
#define largest_LARGEST 1
#include "lib/reduce.wgsl" as largest
#include "lib/unit_load.wgsl" as logits

struct row_sums {
    top: f32,
    sum: f32,
}

fn sums_of_row(local: u32, row: u32) -> row_sums {
    var top = -3.4028234e38;
    for (var i = local; i < params.units; i += WORKGROUP) {
        top = max(top, largest_of(logits_unit(row, i)));
    }
    top = largest(local, top);
    var sum = 0.0;
    for (var i = local; i < params.units; i += WORKGROUP) {
        sum += sum_of(exp(logits_unit(row, i) - top));
    }
    return row_sums(top, total(local, sum));
}
