#!/usr/bin/env python3
"""Measures backends side by side on an NVIDIA GPU; run by bench/h200.

    bench/matrix.py --work FOLDER [--seconds N] [--only REGEX] [--backends LIST] [--resume]

Measurements are made in the order of the list below, each with all backends in turn. With --seconds those that there is
no time for are left out, and the log says which. Results are written to bench/results/h200.json after each of them;
--resume keeps the rows of other measurements that are there already."""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import re
import subprocess
import time

import measure

BENCH = pathlib.Path(__file__).resolve().parent
RESULTS = BENCH / "results/h200.json"
TYPES = ["f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq1_s", "iq1_m",
         "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq4_nl", "iq4_xs", "mxfp4", "nvfp4", "tq1_0", "tq2_0"]
MAIN_TYPES = ["f16", "q4_0", "q8_0", "q4_K", "q6_K", "iq2_xxs", "mxfp4", "f32"]
COLUMNS = [1, 2, 4, 8, 16, 32, 64, 128, 512]
MAIN_COLUMNS = [1, 8, 512]


def products(types, columns):
    return [f"MUL_MAT {t} 4096 {n} 14336" for t in types for n in columns]


@dataclasses.dataclass
class Speed:
    """llama-bench with one model. Its first test heats the card for the others: a long prompt, or one at some depth."""
    shape: str
    type: str
    tests: list
    limit: int           # seconds for one backend

    def __str__(self):
        return f"{self.shape} {self.type} {' '.join(self.tests)}"


@dataclasses.dataclass
class Load:
    """Seconds to load a model."""
    shape: str
    type: str
    limit: int

    def __str__(self):
        return f"load {self.shape} {self.type}"


@dataclasses.dataclass
class Ops:
    """op_speed with a list of cases."""
    name: str
    cases: list
    limit: int

    def __str__(self):
        return f"ops {self.name}"


DEPTHS = ["-p", "512", "-n", "128", "-r", "3", "-d", "8192,0"]
USUAL = ["-p", "2048,512", "-n", "128", "-r", "3"]
BATCHES = ["-p", "2048,2,4,8,16,32,64,128", "-n", "0", "-r", "5"]
MEASUREMENTS = [
    Ops("roofs", ["CPY f32 f32 8192 8192", "MUL_MAT f16 8192 8192 8192"], 15),
    Speed("8b", "q4_k", DEPTHS, 60),
    Ops("main products", products(MAIN_TYPES, MAIN_COLUMNS), 60),
    Ops("attention", [f"FLASH_ATTN_EXT f16 {case}" for case in
                      ("64 32 8 7680 1", "128 32 8 4096 1", "128 32 8 16384 1", "128 32 8 8192 512")], 15),
    Speed("1b", "q4_k", DEPTHS, 30),
    Load("8b", "q4_k", 20),
    Speed("8b", "q4_k", BATCHES, 30),
    *(Speed("1b", type, USUAL, 20) for type in ("f16", "q4_0", "q8_0", "q6_k", "iq4_xs", "mxfp4")),
    Speed("moe", "q4_k", USUAL, 30),
    Ops("experts", [f"MUL_MAT_ID {t} 1536 {n} 2048 32 4" for t in ("q4_K", "mxfp4") for n in (1, 32, 512)], 20),
    Ops("other columns", products(MAIN_TYPES, [n for n in COLUMNS if n not in MAIN_COLUMNS]), 120),
    Ops("other types", products([t for t in TYPES if t not in MAIN_TYPES], COLUMNS), 300),
    Speed("8b", "q4_k", ["-p", "512", "-n", "128", "-r", "2", "-d", "2048,16384"], 90),
]


def model_file(work, shape, type):
    """Made on first use."""
    path = work / "models" / f"{shape}-{type}.gguf"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        subprocess.run(["python3", BENCH / "make_model.py", f"{path}.new", "--shape", shape, "--type", type], check=True)
        os.rename(f"{path}.new", path)
    return path


class Results:
    """The file of results: "speed", "load" and "ops" are lists of rows."""

    def __init__(self, resume, commit):
        self.stamp = {"commit": commit, "date": datetime.datetime.now().isoformat(" ", "minutes")}
        self.rows = {"speed": [], "load": [], "ops": []}
        if resume and RESULTS.exists():
            self.rows.update({k: v for k, v in json.loads(RESULTS.read_text()).items() if k in self.rows})
        self.gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                                  capture_output=True, text=True).stdout.strip()

    def add(self, kind, row, what):
        """Instead of an older row of the same thing."""
        key = lambda r: [r.get(k) for k in ("model", "test", "op", "backend")]
        row = {**what, **row, **self.stamp}
        self.rows[kind] = [r for r in self.rows[kind] if key(r) != key(row)] + [row]
        figure = row.get("tokens_per_second") or row.get("microseconds") or row.get("seconds") or row.get("why")
        name = " ".join(filter(None, (row.get(k) for k in ("model", "test", "op"))))
        print(f"{name:40} {row['backend']:10} {figure} {row.get('clock_mhz') or ''}", flush=True)

    def write(self):
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps({"gpu": self.gpu, **self.rows}, indent=1) + "\n")


def run(measurement, backend, work, limit, results, log):
    llama_bench = str(work / "peers/bin/llama-bench")
    match measurement:
        case Ops(cases=cases):
            for row in measure.op_times(str(work / "op_speed"), backend, cases, 0.1, 256, limit, log):
                results.add("ops", row, {})
        case Speed(shape=shape, type=type, tests=tests):
            model = model_file(work, shape, type)
            for row in measure.tokens_per_second(llama_bench, backend, model, tests, limit, log):
                results.add("speed", row, {"model": model.stem})
        case Load(shape=shape, type=type):
            model = model_file(work, shape, type)
            results.add("load", {"backend": backend.name, "test": "load", "seconds": measure.load_seconds(
                llama_bench, backend, model, limit)}, {"model": model.stem})


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--work", type=pathlib.Path, required=True)
    arguments.add_argument("--commit", default="")
    arguments.add_argument("--seconds", type=float, default=1e9, help="to spend on measuring")
    arguments.add_argument("--only", default="", help="measurements whose names match, as the log prints them")
    arguments.add_argument("--backends", default="ours,upstream,Vulkan,CUDA")
    arguments.add_argument("--resume", action="store_true")
    arguments = arguments.parse_args()
    end = time.time() + arguments.seconds
    work = arguments.work.resolve()
    backends = [
        measure.Backend("ours", "WebGPU0", str(work / "plugin/libggml-webgpu.so")),
        measure.Backend("upstream", "WebGPU", str(work / "peers/webgpu/libggml-webgpu.so")),
        measure.Backend("Vulkan", "Vulkan0", str(work / "vulkan/libggml-vulkan.so")),
        measure.Backend("CUDA", "CUDA0", str(work / "peers/cuda/libggml-cuda.so")),
    ]
    backends = [backend for backend in backends if backend.name in arguments.backends.split(",")]
    results = Results(arguments.resume, arguments.commit)
    measure.clock.start()
    with open(work / "run.log", "w") as log:
        for measurement in MEASUREMENTS:
            if not re.search(arguments.only, str(measurement)):
                continue
            for backend in backends:
                left = end - time.time()
                if left < measurement.limit / 3:
                    print(f"left out, no time: {measurement}, {backend.name}")
                    continue
                since = time.time()
                run(measurement, backend, work, min(left, measurement.limit), results, log)
                print(f"-- {measurement}, {backend.name}: {time.time() - since:.0f} s", flush=True)
            results.write()
    measure.clock.stop()


if __name__ == "__main__":
    main()
