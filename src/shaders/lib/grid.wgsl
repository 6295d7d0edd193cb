// The op floor counts workgroups in one number; the recorder folds it into two dimensions when it passes
// WebGPU's 65,535. Groups at or past params.groups have no work and return before any barrier.
fn group_index(wid: vec3<u32>, nwg: vec3<u32>) -> u32 {
    return wid.y * nwg.x + wid.x;
}

// Position of linear index `i` in a shape of sizes `ne`, fastest dimension first.
fn position(i: u32, ne: vec4<u32>) -> vec4<u32> {
    let i1 = i / ne.x;
    let i2 = i1 / ne.y;
    let i3 = i2 / ne.z;
    return vec4<u32>(i - i1 * ne.x, i1 - i2 * ne.y, i2 - i3 * ne.z, i3);
}

// Index of a position for strides `nb`.
fn at(pos: vec4<u32>, nb: vec4<u32>) -> u32 {
    return pos.x * nb.x + pos.y * nb.y + pos.z * nb.z + pos.w * nb.w;
}
