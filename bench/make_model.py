#!/usr/bin/env python3
"""Write a GGUF language model with random weights, for speed measurements only.

Speed does not depend on the values, so a model of any size and quantisation can be made in
seconds where nothing can be downloaded. The vocabulary is empty (tokenizer "none"): llama-bench
runs such a file, a chat does not. Random values are small enough that nothing overflows.

    make_model.py OUT.gguf --shape 1b --type q4_k [--output-type q6_k]
"""
import argparse
import dataclasses
import math
import struct

import numpy as np


@dataclasses.dataclass
class Shape:
    layers: int
    embd: int
    ffn: int             # of each expert, if there are experts
    heads: int
    kv_heads: int
    vocab: int
    tied: bool           # the output is the embedding
    experts: int = 0
    experts_used: int = 0


SHAPES = {
    "135m": Shape(30, 576, 1536, 9, 3, 49152, tied=True),      # SmolLM2-135M
    "1b": Shape(16, 2048, 8192, 32, 8, 128256, tied=True),     # Llama-3.2-1B
    "3b": Shape(28, 3072, 8192, 24, 8, 128256, tied=True),     # Llama-3.2-3B
    "8b": Shape(32, 4096, 14336, 32, 8, 128256, tied=False),   # Llama-3.1-8B
    "moe": Shape(16, 2048, 1536, 32, 8, 128256, tied=True, experts=32, experts_used=4),  # 5B, 0.9B of them a token
}


@dataclasses.dataclass
class Type:
    id: int              # ggml's
    values: int          # of a block
    size: int            # of a block, in bytes
    scales: tuple = ()   # offsets of its f16 scales
    exponents: tuple = ()  # offsets of its scales that are a power of two, in a byte
    file: int = 0        # llama.cpp's name of a file of it


TYPES = {
    "f32": Type(0, 1, 4, file=0), "f16": Type(1, 1, 2, file=1), "bf16": Type(30, 1, 2, file=32),
    "q4_0": Type(2, 32, 18, (0,), file=2), "q4_1": Type(3, 32, 20, (0, 2), file=3),
    "q5_0": Type(6, 32, 22, (0,), file=8), "q5_1": Type(7, 32, 24, (0, 2), file=9),
    "q8_0": Type(8, 32, 34, (0,), file=7), "mxfp4": Type(39, 32, 17, exponents=(0,), file=38),
    "q2_k": Type(10, 256, 84, (80, 82), file=10), "q3_k": Type(11, 256, 110, (108,), file=12),
    "q4_k": Type(12, 256, 144, (0, 2), file=15), "q5_k": Type(13, 256, 176, (0, 2), file=17),
    "q6_k": Type(14, 256, 210, (208,), file=18),
    "iq4_nl": Type(20, 32, 18, (0,), file=25), "iq4_xs": Type(23, 256, 136, (0,), file=30),
}
# Of the embedding and the output, which are kept finer where the rest is coarse; the others are of the model's type.
OUTPUT_TYPES = {"q4_k": "q6_k", "iq4_xs": "q6_k", "mxfp4": "q8_0"}
ALIGN = 32
PIECE = 1 << 22  # random values that are made; a tensor repeats them


def string(s):
    return struct.pack("<Q", len(s)) + s.encode()


def key_value(key, value):
    if isinstance(value, str):
        return string(key) + struct.pack("<I", 8) + string(value)
    if isinstance(value, float):
        return string(key) + struct.pack("<If", 6, value)
    return string(key) + struct.pack("<II", 4, value)


def random_blocks(rng, type_name, count):
    """"count" values of a type, as its bytes."""
    if type_name in ("f32", "f16", "bf16"):
        f = rng.random(count, np.float32) * np.float32(0.04) - np.float32(0.02)
        if type_name == "bf16":
            return (f.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        return f.astype(np.float32 if type_name == "f32" else np.float16).view(np.uint8)
    t = TYPES[type_name]
    blocks = rng.integers(0, 256, (count // t.values, t.size), np.uint8)
    for at in t.scales:
        blocks[:, at:at + 2] = np.frombuffer(np.float16(2e-4).tobytes(), np.uint8)
    for at in t.exponents:
        blocks[:, at] = 114
    return blocks.reshape(-1)


def write_tensor(f, rng, type_name, dims, pieces):
    size = tensor_size(type_name, dims)
    if len(dims) == 1:  # a norm's weights
        f.write(np.ones(dims[0], np.float32).tobytes())
    else:
        if type_name not in pieces:
            pieces[type_name] = random_blocks(rng, type_name, PIECE)
        piece = pieces[type_name]
        for at in range(0, size, len(piece)):
            f.write(piece[:size - at])
    f.write(b"\0" * (-size % ALIGN))


def tensor_size(type_name, dims):
    return math.prod(dims) // TYPES[type_name].values * TYPES[type_name].size


def tensors_of(shape, type_name, output_type):
    """(name, type, dimensions) of all tensors, in the order of the file."""
    embd, kv = shape.embd, shape.kv_heads * (shape.embd // shape.heads)
    yield "token_embd.weight", output_type, (embd, shape.vocab)
    yield "output_norm.weight", "f32", (embd,)
    if not shape.tied:
        yield "output.weight", output_type, (embd, shape.vocab)
    if shape.experts:
        ffn = [("ffn_gate_inp", "f32", (embd, shape.experts)),
               ("ffn_gate_exps", type_name, (embd, shape.ffn, shape.experts)),
               ("ffn_up_exps", type_name, (embd, shape.ffn, shape.experts)),
               ("ffn_down_exps", type_name, (shape.ffn, embd, shape.experts))]
    else:
        ffn = [("ffn_gate", type_name, (embd, shape.ffn)), ("ffn_up", type_name, (embd, shape.ffn)),
               ("ffn_down", type_name, (shape.ffn, embd))]
    layer = [("attn_norm", "f32", (embd,)), ("ffn_norm", "f32", (embd,)), ("attn_q", type_name, (embd, embd)),
             ("attn_k", type_name, (embd, kv)), ("attn_v", type_name, (embd, kv)),
             ("attn_output", type_name, (embd, embd)), *ffn]
    for i in range(shape.layers):
        for name, t, dims in layer:
            yield f"blk.{i}.{name}.weight", t, dims


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("out")
    ap.add_argument("--shape", choices=SHAPES, default="1b")
    ap.add_argument("--type", choices=TYPES, default="q4_k")
    ap.add_argument("--output-type", choices=TYPES, help="type of the embedding and output; default: --type, or a finer one")
    args = ap.parse_args()
    shape = SHAPES[args.shape]
    tensors = list(tensors_of(shape, args.type, args.output_type or OUTPUT_TYPES.get(args.type, args.type)))
    for name, t, dims in tensors:
        if dims[0] % TYPES[t].values:
            ap.error(f"{name}: rows of {dims[0]} values do not divide into {t} blocks of {TYPES[t].values}")
    kvs = [
        ("general.architecture", "llama"), ("general.name", f"random-{args.shape}"),
        ("general.file_type", TYPES[args.type].file), ("llama.block_count", shape.layers),
        ("llama.context_length", 131072), ("llama.embedding_length", shape.embd),
        ("llama.feed_forward_length", shape.ffn), ("llama.attention.head_count", shape.heads),
        ("llama.attention.head_count_kv", shape.kv_heads), ("llama.attention.layer_norm_rms_epsilon", 1e-5),
        ("llama.rope.freq_base", 500000.0), ("llama.rope.dimension_count", shape.embd // shape.heads),
        ("llama.vocab_size", shape.vocab), ("tokenizer.ggml.model", "none"),
    ]
    if shape.experts:
        kvs += [("llama.expert_count", shape.experts), ("llama.expert_used_count", shape.experts_used)]
    rng = np.random.default_rng(1)
    pieces = {}
    with open(args.out, "wb") as f:
        f.write(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(kvs)))
        for k, v in kvs:
            f.write(key_value(k, v))
        offset = 0
        for name, t, dims in tensors:
            f.write(string(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims))
            f.write(struct.pack("<IQ", TYPES[t].id, offset))
            offset += (tensor_size(t, dims) + ALIGN - 1) // ALIGN * ALIGN
        f.write(b"\0" * (-f.tell() % ALIGN))
        for name, t, dims in tensors:
            write_tensor(f, rng, t, dims, pieces)


if __name__ == "__main__":
    main()
