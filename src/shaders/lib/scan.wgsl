// self(local, x): for each thread of the workgroup the sum of x over the threads before it, and over all. Every thread calls
// it, in uniform control flow.
struct self_sums {
    before: f32,
    all:    f32,
}

#if SUBGROUPS
// Subgroups are runs of neighbouring threads, as on all implementations.
var<workgroup> self_parts: array<f32, (WORKGROUP + SUBGROUP_MIN - 1) / SUBGROUP_MIN>;

fn self(local: u32, x: f32) -> self_sums {
    let part = subgroupAdd(x);
    let size = subgroupAdd(1u);
    let mine = local / size;
    if (local % size == 0u) {
        self_parts[mine] = part;
    }
    workgroupBarrier();
    var sums = self_sums(subgroupExclusiveAdd(x), 0.0);
    for (var i = 0u; i * size < WORKGROUP; i++) {
        sums.before += select(0.0, self_parts[i], i < mine);
        sums.all += self_parts[i];
    }
    workgroupBarrier(); // before the next call stores
    return sums;
}
#else
// Runs of 16 threads: each adds up what its run has before it, one thread of 16 its whole run.
var<workgroup> self_values: array<f32, WORKGROUP>;
var<workgroup> self_parts:  array<f32, WORKGROUP / 16>;

fn self(local: u32, x: f32) -> self_sums {
    self_values[local] = x;
    workgroupBarrier();
    let run  = local / 16u;
    var sums = self_sums(0.0, 0.0);
    for (var i = 16u * run; i < local; i++) {
        sums.before += self_values[i];
    }
    if (local % 16u == 15u) {
        self_parts[run] = sums.before + x;
    }
    workgroupBarrier();
    var before_run = 0.0;
    for (var i = 0u; i < WORKGROUP / 16u; i++) {
        before_run += select(0.0, self_parts[i], i < run);
        sums.all += self_parts[i];
    }
    sums.before += before_run;
    return sums;
}
#endif
