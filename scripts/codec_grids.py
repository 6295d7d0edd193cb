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

# name, table in ggml-common.h, values an entry, bits a value, levels, the level of code c as a WGSL expression, the same for
# four codes in the bytes of a word (None: codes are what the integer view wants)
EIGHT_CODED = ([8, 25, 43], "(8u + 17u * c) + (c >> vec4<u32>(1u))", "(0x08080808u + 17u * c) + ((c >> 1u) & 0x01010101u)")
GRIDS = [
    ("grid_iq2_xxs", "iq2xxs_grid", 8, 2, *EIGHT_CODED),
    ("grid_iq2_xs",  "iq2xs_grid",  8, 2, *EIGHT_CODED),
    ("grid_iq2_s",   "iq2s_grid",   8, 2, *EIGHT_CODED),
    ("grid_iq3_xxs", "iq3xxs_grid", 4, 3, [4, 12, 20, 28, 36, 44, 52, 62], "(4u + 8u * c) + 2u * ((c + 1u) >> vec4<u32>(3u))",
     "(0x04040404u + 8u * c) + 2u * (((c + 0x01010101u) >> 3u) & 0x01010101u)"),
    ("grid_iq3_s",   "iq3s_grid",   4, 3, [1, 3, 5, 7, 9, 11, 13, 15], "1u + 2u * c", "0x01010101u + 2u * c"),
    ("grid_iq1",     "iq1s_grid",   8, 2, [255, 0, 1], "bitcast<vec4<i32>>(c) - 1", None),
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

{integers}

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

FOUR_BYTES = """\
// The same as bytes, in a table of its own.
var<workgroup> {name}_table: array<u32, {count}>;

fn {name}_bytes_prepare(local_index: u32, threads: u32) {{
    var words = {name}_constant;
    for (var i = local_index; i < {count}u; i += threads) {{
        let entry = words[i >> 1u] >> (16u * (i & 1u));
        let c     = (entry & 0x7u) | ((entry & 0x38u) << 5u) | ((entry & 0x1c0u) << 10u) | ((entry & 0xe00u) << 15u);
        {name}_table[i] = {packed};
    }}
    workgroupBarrier();
}}

fn {name}_bytes(index: u32) -> u32 {{
    return {name}_table[index];
}}"""

SPREAD_CODES = """\
    let entry = {words}[{index} >> 1u] >> (16u * ({index} & 1u));
    let pairs = vec2<u32>(entry & 0xffu, (entry >> 8u) & 0xffu);
    let runs  = (pairs | (pairs << vec2<u32>(12u))) & vec2<u32>(0x000f000fu);
    let c     = (runs | (runs << vec2<u32>(6u))) & vec2<u32>(0x03030303u);"""

EIGHT_BYTES = """\
// The same as bytes, in a table of its own.
var<workgroup> {name}_table: array<vec2<u32>, {count}>;

fn {name}_bytes_prepare(local_index: u32, threads: u32) {{
    var words = {name}_constant;
    for (var i = local_index; i < {count}u; i += threads) {{
{spread_entry}
        {name}_table[i] = {packed};
    }}
    workgroupBarrier();
}}

fn {name}_bytes(index: u32) -> vec2<u32> {{
    return {name}_table[index];
}}"""

EIGHT_CODES = """\
// The codes of an entry, value + 1, as bytes. A table of them would fill the workgroup memory.
fn {name}_bytes(index: u32) -> vec2<u32> {{
{spread_index}
    return c;
}}"""


def integer_view(name, values, count, packed):
    if values == 4:
        return FOUR_BYTES.format(name=name, count=count, packed=packed)
    if packed is None:
        return EIGHT_CODES.format(name=name, spread_index=SPREAD_CODES.format(words=f"{name}_words", index="index"))
    wide  = packed.replace("c >> 1u", "c >> vec2<u32>(1u)").replace("& 0x01010101u", "& vec2<u32>(0x01010101u)")
    lines = SPREAD_CODES.format(words="words", index="i").splitlines()
    return EIGHT_BYTES.format(name=name, count=count, packed=wide, spread_entry="\n".join("    " + line for line in lines))


def table(header, name):
    body = re.search(r"GGML_TABLE_BEGIN\(uint\d+_t, " + name + r",.*?\)(.*?)GGML_TABLE_END", header, re.S).group(1)
    return [int(n, 16) for n in re.findall(r"0x[0-9a-f]+", body)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    header = pathlib.Path(sys.argv[1]).read_text()
    for name, source, values, bits, levels, level, packed in GRIDS:
        entries = [sum(levels.index((e >> 8 * i) & 0xFF) << bits * i for i in range(values)) for e in table(header, source)]
        words = [low | high << 16 for low, high in zip(entries[0::2], entries[1::2])]
        rows = [", ".join(f"0x{w:08x}u" for w in words[i : i + 8]) for i in range(0, len(words), 8)]
        shown = ["-1" if v == 255 else str(v) for v in levels]
        text = TEMPLATE.format(
            name=name, table=source, count=len(entries), values=values, bits=bits, levels=", ".join(shown), words=len(words),
            function=(EIGHT if values == 8 else FOUR).format(name=name, level=level),
            integers=integer_view(name, values, len(entries), packed),
            table_text=",\n".join("    " + r for r in rows))
        (PARTS / f"{name}.wgsl").write_text(text)


if __name__ == "__main__":
    main()
