// self(local, x): the x of all threads of the workgroup combined. Every thread calls it, in uniform control flow, and gets
// the same result. Before including it as NAME a kernel may define
//     NAME_VALUE     the type (default f32)
//     NAME_LARGEST   1: the maximum, not the sum
#if !defined(self_VALUE)
#define self_VALUE f32
#endif

#if self_LARGEST
#define self_OF_SUBGROUP subgroupMax
fn self_of_two(a: self_VALUE, b: self_VALUE) -> self_VALUE {
    return max(a, b);
}
#else
#define self_OF_SUBGROUP subgroupAdd
fn self_of_two(a: self_VALUE, b: self_VALUE) -> self_VALUE {
    return a + b;
}
#endif

#if SUBGROUPS && WORKGROUP <= SUBGROUP_MIN
fn self(local: u32, x: self_VALUE) -> self_VALUE {
    return self_OF_SUBGROUP(x);
}
#elif SUBGROUPS
// Subgroups are runs of neighbouring threads, as on all implementations.
var<workgroup> self_parts: array<self_VALUE, (WORKGROUP + SUBGROUP_MIN - 1) / SUBGROUP_MIN>;

fn self(local: u32, x: self_VALUE) -> self_VALUE {
    let part = self_OF_SUBGROUP(x);
#if SUBGROUP_MIN == SUBGROUP_MAX
    let size = u32(SUBGROUP_MIN);
#else
    let size = subgroupAdd(1u);
#endif
    if (local % size == 0u) {
        self_parts[local / size] = part;
    }
    workgroupBarrier();
    var all = self_parts[0];
    for (var i = 1u; i * size < WORKGROUP; i++) {
        all = self_of_two(all, self_parts[i]);
    }
    workgroupBarrier(); // before the next call stores
    return all;
}
#else
// Two levels, so that there are two barriers and not one for each halving.
const self_PARTS = WORKGROUP / 16u;
var<workgroup> self_values: array<self_VALUE, WORKGROUP>;
var<workgroup> self_parts:  array<self_VALUE, self_PARTS>;

fn self(local: u32, x: self_VALUE) -> self_VALUE {
    self_values[local] = x;
    workgroupBarrier();
    if (local < self_PARTS) {
        var part = self_values[local];
        for (var i = local + self_PARTS; i < WORKGROUP; i += self_PARTS) {
            part = self_of_two(part, self_values[i]);
        }
        self_parts[local] = part;
    }
    workgroupBarrier();
    var all = self_parts[0];
    for (var i = 1u; i < self_PARTS; i++) {
        all = self_of_two(all, self_parts[i]);
    }
    return all;
}
#endif
