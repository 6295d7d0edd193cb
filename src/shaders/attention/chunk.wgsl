// A chunk of self_CHUNK columns of a tile of K or V, in units of eight halves: rows of f16 that start on multiples of 16 bytes, made
// by matmul/pack.wgsl or lying so in memory.
const self_CHUNK_OCTETS = self_CHUNK / 8u;
const self_STRIDE       = self_CHUNK + 8u;  // the padding spreads rows over the banks

// Unit `unit` of chunk `chunk` of the tile from position `base` on; zeros past the row's end. Positions past the last repeat it.
fn self_fetch(start: u32, base: u32, chunk: u32, unit: u32) -> vec4<u32> {
    let octet = chunk * self_CHUNK_OCTETS + unit % self_CHUNK_OCTETS;
    if (self_CHUNK * self_CHUNKS > self_SIZE && octet >= (self_SIZE + 7u) / 8u) {
        return vec4<u32>();
    }
    let position = min(base + unit / self_CHUNK_OCTETS, params.kv - 1u);
    return self_quad_word((params.self_offset >> 4u) + start + position * params.self_nb.y + octet);
}

// Puts it into `self_tile`.
fn self_put(unit: u32, words: vec4<u32>) {
    if (POSITIONS * self_CHUNK_OCTETS % WORKGROUP != 0u && unit >= POSITIONS * self_CHUNK_OCTETS) {
        return;
    }
    let at = unit / self_CHUNK_OCTETS * self_STRIDE + unit % self_CHUNK_OCTETS * 8u;
    let v0 = bitcast<vec2<f16>>(words.x);
    let v1 = bitcast<vec2<f16>>(words.y);
    let v2 = bitcast<vec2<f16>>(words.z);
    let v3 = bitcast<vec2<f16>>(words.w);
    self_tile[at]      = v0.x;
    self_tile[at + 1u] = v0.y;
    self_tile[at + 2u] = v1.x;
    self_tile[at + 3u] = v1.y;
    self_tile[at + 4u] = v2.x;
    self_tile[at + 5u] = v2.y;
    self_tile[at + 6u] = v3.x;
    self_tile[at + 7u] = v3.y;
}
