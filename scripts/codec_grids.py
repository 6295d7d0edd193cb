#!/usr/bin/env python3
"""Writes src/shaders/codecs/parts/grid_*.wgsl, the codebooks of the iq types, from ggml's ggml-common.h.

usage: scripts/codec_grids.py path/to/ggml-common.h

A value of a codebook is one of a few levels, so an entry is stored as 16 bits: 2 bits a value for entries of eight,
3 bits for entries of four; two entries a word.
"""
import pathlib
import re
import sys

PARTS = pathlib.Path(__file__).resolve().parent.parent / "src/shaders/codecs/parts"

# name, table in ggml-common.h, values an entry, bits a value, levels, the level of code c as a WGSL expression
GRIDS = [
    ("grid_iq2_xxs", "iq2xxs_grid", 8, 2, [8, 25, 43], "(8u + 17u * c) + (c >> vec4<u32>(1u))"),
    ("grid_iq2_xs",  "iq2xs_grid",  8, 2, [8, 25, 43], "(8u + 17u * c) + (c >> vec4<u32>(1u))"),
    ("grid_iq2_s",   "iq2s_grid",   8, 2, [8, 25, 43], "(8u + 17u * c) + (c >> vec4<u32>(1u))"),
    ("grid_iq3_xxs", "iq3xxs_grid", 4, 3, [4, 12, 20, 28, 36, 44, 52, 62], "(4u + 8u * c) + 2u * ((c + 1u) >> vec4<u32>(3u))"),
    ("grid_iq3_s",   "iq3s_grid",   4, 3, [1, 3, 5, 7, 9, 11, 13, 15], "1u + 2u * c"),
    ("grid_iq1",     "iq1s_grid",   8, 2, [255, 0, 1], "bitcast<vec4<i32>>(c) - 1"),
]

TEMPLATE = """\
// {table} of ggml's ggml-common.h (MIT licence), a part of the format: {count} entries of {values} values, each value one of
// {levels}. An entry is 16 bits, {bits} bits a value with the first value lowest; two entries a word.
// Written by scripts/codec_grids.py.

var<workgroup> {name}_words: array<u32, {words}>;

// Workgroup memory, filled once: indexing the constant at each read took twice as long on an H200, and ten times as long
// with naga on a CPU, where it copies the whole table each time.
fn {name}_prepare(local_index: u32, threads: u32) {{
    var words = {name}_constant;
    for (var i = local_index; i < {words}u; i += threads) {{
        {name}_words[i] = words[i];
    }}
    workgroupBarrier();
}}

{function}

const {name}_constant = array<u32, {words}>(
{table_text}
);
"""

FOUR = """\
fn {name}(index: u32) -> vec4<f32> {{
    let entry = {name}_words[index >> 1u] >> (16u * (index & 1u));
    let c     = (vec4<u32>(entry) >> vec4<u32>(0u, 3u, 6u, 9u)) & vec4<u32>(7u);
    return vec4<f32>({level});
}}"""

EIGHT = """\
// The first (half = 0) or last (half = 1) four values of an entry.
fn {name}(index: u32, half: u32) -> vec4<f32> {{
    let entry = {name}_words[index >> 1u] >> (16u * (index & 1u) + 8u * half);
    let c     = (vec4<u32>(entry) >> vec4<u32>(0u, 2u, 4u, 6u)) & vec4<u32>(3u);
    return vec4<f32>({level});
}}"""


def table(header, name):
    body = re.search(r"GGML_TABLE_BEGIN\(uint\d+_t, " + name + r",.*?\)(.*?)GGML_TABLE_END", header, re.S).group(1)
    return [int(n, 16) for n in re.findall(r"0x[0-9a-f]+", body)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    header = pathlib.Path(sys.argv[1]).read_text()
    for name, source, values, bits, levels, level in GRIDS:
        entries = [sum(levels.index((e >> 8 * i) & 0xFF) << bits * i for i in range(values)) for e in table(header, source)]
        words = [low | high << 16 for low, high in zip(entries[0::2], entries[1::2])]
        rows = [", ".join(f"0x{w:08x}u" for w in words[i : i + 8]) for i in range(0, len(words), 8)]
        shown = ["-1" if v == 255 else str(v) for v in levels]
        text = TEMPLATE.format(
            name=name, table=source, count=len(entries), values=values, bits=bits, levels=", ".join(shown), words=len(words),
            function=(EIGHT if values == 8 else FOUR).format(name=name, level=level),
            table_text=",\n".join("    " + r for r in rows))
        (PARTS / f"{name}.wgsl").write_text(text)


if __name__ == "__main__":
    main()
