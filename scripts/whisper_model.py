#!/usr/bin/env python3
"""Write a whisper.cpp model file from CTranslate2's form of a Whisper model.

Package registries carry Whisper's weights in CTranslate2's form only, while
whisper.cpp loads its own. The numbers are the same; this script renames,
splits and reorders them, and computes the mel filters that CTranslate2 leaves
to its caller. `scripts/fetch whisper` calls it.

    scripts/whisper_model.py DIRECTORY ggml-whisper-base.bin

DIRECTORY holds tokenizer.json and model.bin, or model.bin's parts in order
(model.bin.part1, model.bin.part2, ...), at any depth.
"""

import argparse
import json
import os
import struct
import sys
from pathlib import Path

import numpy as np

# ---------------------------------------------------------------------------
# CTranslate2: model.bin
#
#   u32 format, string spec, u32 revision
#   u32 count, then for each variable: string name, u8 rank, u32[rank] shape,
#                                      u8 type, u32 bytes, the bytes
#   u32 count, then for each alias:    string alias, string variable
#
# Little-endian; a string is a u16 length that counts a closing NUL, then that
# many bytes.
# ---------------------------------------------------------------------------

FORMAT = 6
SPEC = "WhisperSpec"
TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}


class Reader:
    """Takes values off the front of a block of bytes."""

    def __init__(self, data):
        self.data = memoryview(data)
        self.at = 0

    def take(self, size):
        if self.at + size > len(self.data):
            raise ValueError("model.bin ends early: is a part of it missing?")
        self.at += size
        return self.data[self.at - size:self.at]

    def numbers(self, codes):
        return struct.unpack("<" + codes, self.take(struct.calcsize("<" + codes)))

    def number(self, code):
        return self.numbers(code)[0]

    def string(self):
        return bytes(self.take(self.number("H"))).rstrip(b"\0").decode()


def find_files(directory, pattern):
    """The files under `directory` that match, in the order of their numbers."""
    found = sorted(directory.rglob(pattern), key=lambda path: (len(path.name), path.name))
    if not found:
        raise ValueError(f"no {pattern} under {directory}")
    return found


def read_weights(directory):
    """Every variable of model.bin: {CTranslate2's name: array}."""
    parts = find_files(directory, "model.bin*")
    reader = Reader(b"".join(part.read_bytes() for part in parts))
    version, spec = reader.number("I"), reader.string()
    if (version, spec) != (FORMAT, SPEC):
        raise ValueError(f"model.bin is {spec} in format {version}; want {SPEC} in format {FORMAT}")
    reader.number("I")  # revision of the spec: 3 here, and no name read below depends on it

    weights = {}
    for _ in range(reader.number("I")):
        name = reader.string()
        shape = reader.numbers(f"{reader.number('B')}I")
        kind = TYPES.get(reader.number("B"))
        if kind is None:
            raise ValueError(f"{name} has a type that this script does not know")
        weights[name] = np.frombuffer(reader.take(reader.number("I")), kind).reshape(shape)
    # The aliases that follow name the output projection, tied to the token embedding; whisper.cpp ties it itself.
    return weights


# ---------------------------------------------------------------------------
# Names: a CTranslate2 layer and the whisper.cpp layers it becomes. CTranslate2
# stacks projections of one input (query, key, value) into one linear layer.
# ---------------------------------------------------------------------------

ENCODER_LAYERS = [
    ("conv1",      ["conv1"]),
    ("conv2",      ["conv2"]),
    ("layer_norm", ["ln_post"]),
]

DECODER_LAYERS = [
    ("layer_norm", ["ln"]),
]

BLOCK_LAYERS = [
    ("self_attention/layer_norm", ["attn_ln"]),
    ("self_attention/linear_0",   ["attn.query", "attn.key", "attn.value"]),
    ("self_attention/linear_1",   ["attn.out"]),
    ("ffn/layer_norm",            ["mlp_ln"]),
    ("ffn/linear_0",              ["mlp.0"]),
    ("ffn/linear_1",              ["mlp.2"]),
]

CROSS_ATTENTION_LAYERS = [
    ("attention/layer_norm", ["cross_attn_ln"]),
    ("attention/linear_0",   ["cross_attn.query"]),
    ("attention/linear_1",   ["cross_attn.key", "cross_attn.value"]),
    ("attention/linear_2",   ["cross_attn.out"]),
]

# A layer's two variables, by either name a layer norm or another layer has for them.
VARIABLES = [
    ("weight", "weight"),
    ("bias",   "bias"),
    ("gamma",  "weight"),
    ("beta",   "bias"),
]


def layer_tensors(weights, source, targets):
    """One CTranslate2 layer as (whisper.cpp name, array) pairs."""
    for ct2_suffix, suffix in VARIABLES:
        stacked = weights.get(f"{source}/{ct2_suffix}")
        if stacked is None:
            continue
        for target, array in zip(targets, np.split(stacked, len(targets))):
            if target.endswith(".key") and suffix == "bias":
                # Whisper's key projection has no bias; the stacked layer holds zeros in its place.
                if array.any():
                    raise ValueError(f"{source}: the key projection has a bias, which Whisper's has not")
                continue
            yield f"{target}.{suffix}", array


def count_blocks(weights, side):
    return len({name.split("/")[1] for name in weights if name.startswith(f"{side}/layer_")} - {"layer_norm"})


def side_tensors(weights, side, layers, block_layers):
    """The encoder's or the decoder's (whisper.cpp name, array) pairs."""
    yield f"{side}.positional_embedding", weights[f"{side}/position_encodings/encodings"]
    for source, targets in layers:
        yield from layer_tensors(weights, f"{side}/{source}", [f"{side}.{target}" for target in targets])
    for block in range(count_blocks(weights, side)):
        for source, targets in block_layers:
            yield from layer_tensors(weights, f"{side}/layer_{block}/{source}",
                                     [f"{side}.blocks.{block}.{target}" for target in targets])


def all_tensors(weights):
    yield from side_tensors(weights, "encoder", ENCODER_LAYERS, BLOCK_LAYERS)
    yield from side_tensors(weights, "decoder", DECODER_LAYERS, BLOCK_LAYERS + CROSS_ATTENTION_LAYERS)
    yield "decoder.token_embedding.weight", weights["decoder/embeddings/weight"]


# ---------------------------------------------------------------------------
# What CTranslate2 keeps beside or outside the weights
# ---------------------------------------------------------------------------

SAMPLE_RATE = 16000
FFT_SIZE = 400

# Slaney's mel scale: linear up to 1000 Hz, 200/3 Hz a mel, then logarithmic, 27 mels for each factor of 6.4.
HZ_PER_MEL = 200.0 / 3.0
LOG_FROM_HZ = 1000.0
LOG_FROM_MEL = LOG_FROM_HZ / HZ_PER_MEL
LOG_STEP = np.log(6.4) / 27.0


def hz_to_mel(hz):
    return hz / HZ_PER_MEL if hz < LOG_FROM_HZ else LOG_FROM_MEL + np.log(hz / LOG_FROM_HZ) / LOG_STEP


def mels_to_hz(mels):
    return np.where(mels < LOG_FROM_MEL, mels * HZ_PER_MEL, LOG_FROM_HZ * np.exp(LOG_STEP * (mels - LOG_FROM_MEL)))


def mel_filters(n_mels):
    """Triangles of equal area (Slaney's normalisation) over the bins of an FFT: [n_mels, FFT_SIZE / 2 + 1]."""
    bins = np.linspace(0.0, SAMPLE_RATE / 2, FFT_SIZE // 2 + 1)
    corners = mels_to_hz(np.linspace(0.0, hz_to_mel(SAMPLE_RATE / 2), n_mels + 2))
    left, peak, right = (corners[i:n_mels + i, None] for i in range(3))
    rising = (bins - left) / (peak - left)
    falling = (right - bins) / (right - peak)
    return np.maximum(0.0, np.minimum(rising, falling)) * 2.0 / (right - left)


def byte_of_character():
    """GPT-2's alphabet: each byte stands as a printable character; those that are not printable follow from U+0100."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


def read_vocabulary(directory):
    """The text tokens as bytes, in the order of their numbers. Special tokens are whisper.cpp's own business."""
    tokenizer = json.loads(find_files(directory, "tokenizer.json")[0].read_text(encoding="utf-8"))
    special = {token["id"] for token in tokenizer["added_tokens"]}
    numbered = sorted((number, text) for text, number in tokenizer["model"]["vocab"].items() if number not in special)
    if [number for number, _ in numbered] != list(range(len(numbered))):
        raise ValueError("tokenizer.json: the text tokens are not numbered 0, 1, 2, ...")
    alphabet = byte_of_character()
    return [bytes(alphabet[character] for character in text) for _, text in numbered]


# ---------------------------------------------------------------------------
# whisper.cpp's file
#
#   u32 magic, i32[11] hyperparameters
#   i32 mels, i32 bins, f32[mels * bins] filters
#   i32 count, then for each token: u32 bytes, the bytes
#   to the end, tensors: i32 rank, i32 bytes of the name, i32 type,
#                        i32[rank] shape, innermost first, the name, the data
# ---------------------------------------------------------------------------

MAGIC = 0x67676D6C  # "ggml"
F32, F16 = 0, 1     # ggml's type numbers; F16 is also the file's type: large tensors are f16


def hyperparameters(weights):
    embedding = weights["decoder/embeddings/weight"]
    audio = weights["encoder/position_encodings/encodings"]
    text = weights["decoder/position_encodings/encodings"]
    return [
        embedding.shape[0],                   # n_vocab
        audio.shape[0],                       # n_audio_ctx
        audio.shape[1],                       # n_audio_state
        int(weights["encoder/num_heads"]),    # n_audio_head
        count_blocks(weights, "encoder"),     # n_audio_layer
        text.shape[0],                        # n_text_ctx
        text.shape[1],                        # n_text_state
        int(weights["decoder/num_heads"]),    # n_text_head
        count_blocks(weights, "decoder"),     # n_text_layer
        weights["encoder/conv1/weight"].shape[1],  # n_mels
        F16,                                  # ftype
    ]


def write_tensor(out, name, array):
    if array.dtype not in (np.float16, np.float32):
        raise ValueError(f"{name} is {array.dtype}: quantized CTranslate2 models are not handled, only f16 and f32")
    if name.startswith("encoder.conv") and name.endswith(".bias"):
        array = array[:, None]  # whisper.cpp adds it to rows of samples
    small = array.ndim == 1 or name.endswith((".bias", ".positional_embedding"))
    out.write(struct.pack("<3i", array.ndim, len(name), F32 if small else F16))
    out.write(struct.pack(f"<{array.ndim}i", *reversed(array.shape)))
    out.write(name.encode())
    out.write(array.astype("<f4" if small else "<f2").tobytes())


def write_model(out, weights, vocabulary):
    parameters = hyperparameters(weights)
    out.write(struct.pack("<I11i", MAGIC, *parameters))

    filters = mel_filters(n_mels=parameters[9])
    out.write(struct.pack("<2i", *filters.shape))
    out.write(filters.astype("<f4").tobytes())

    out.write(struct.pack("<i", len(vocabulary)))
    for token in vocabulary:
        out.write(struct.pack("<I", len(token)) + token)

    for name, array in all_tensors(weights):
        write_tensor(out, name, array)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="CTranslate2's form of the model")
    parser.add_argument("output", type=Path, help="the whisper.cpp model file to write")
    options = parser.parse_args()

    unfinished = options.output.with_name(options.output.name + ".part")
    try:
        weights, vocabulary = read_weights(options.directory), read_vocabulary(options.directory)
        with open(unfinished, "wb") as out:
            write_model(out, weights, vocabulary)
    except (OSError, ValueError) as error:
        sys.exit(f"whisper_model.py: {error}")
    os.replace(unfinished, options.output)


if __name__ == "__main__":
    main()
