// A chunk of self_CHUNK columns of a tile of K or V, in units of eight halves: rows of f16 that start on multiples of 16 bytes, made
// by matmul/pack.wgsl or lying so in memory.
const self_CHUNK_OCTETS = self_CHUNK / 8u;

// Unit `unit` of chunk `chunk` of the tile from position `base` on; zeros past the row's end. Positions past the last repeat it.
fn self_fetch(start: u32, base: u32, chunk: u32, unit: u32) -> vec4<u32> {
    let octet = chunk * self_CHUNK_OCTETS + unit % self_CHUNK_OCTETS;
    if (self_CHUNK * self_CHUNKS > self_SIZE && octet >= (self_SIZE + 7u) / 8u) {
        return vec4<u32>();
    }
    let position = min(base + unit / self_CHUNK_OCTETS, params.kv - 1u);
    return self_quad_word((params.self_offset >> 4u) + start + position * params.self_nb.y + octet);
}

// Where it goes in workgroup memory.
fn self_place(unit: u32, stride: u32) -> u32 {
    return unit / self_CHUNK_OCTETS * stride + unit % self_CHUNK_OCTETS * 8u;
}
