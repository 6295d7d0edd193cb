#!/usr/bin/env python3
"""Ours, ggml's own WebGPU backend and its CPU backend, side by side without a GPU. Run by "make bench" in scripts/env.

    bench/lavapipe.py [--plugin build/libggml-webgpu.so] [--commit NAME] [--only REGEX]

Builds ggml's own WebGPU backend from third_party/ggml-0.26 on the first run, for the programs of the installed ggml.
Prints a table and writes bench/results/lavapipe.json. Measure on an idle machine: the software GPU is its cores."""
import argparse
import datetime
import json
import math
import os
import pathlib
import re
import shutil
import subprocess

import measure

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
PARTS = CHECKOUT / "third_party"
BUILD = CHECKOUT / "build/bench"
MODEL = PARTS / "models/smollm2.gguf"
RESULTS = CHECKOUT / "bench/results/lavapipe.json"
BACKENDS = ["ours", "upstream", "CPU"]

OPS = [
    *(f"MUL_MAT {type} 1024 {n} 1024" for type in ("f32", "f16", "q4_0", "q4_1", "q8_0", "q4_K", "q6_K", "iq4_xs")
      for n in (1, 128)),
    "MUL_MAT_ID q4_0 256 1 1024 32 4", "MUL_MAT_ID q4_0 256 32 1024 32 4",
    "FLASH_ATTN_EXT f16 64 9 3 512 1", "FLASH_ATTN_EXT f16 64 9 3 128 128",
    "CPY f32 f16 1024 256", "CPY f32 f32 1024 256", "CPY f32 q8_0 1024 256",
    "RMS_NORM 576 128", "SOFT_MAX 512 128", "ADD 576 128",
]


def build_peer(build):
    subprocess.run(["cmake", "-S", CHECKOUT / "bench/peers", "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DBUILD_SHARED_LIBS=ON", f"-DPEERS_SOURCE={PARTS}/ggml-0.26/ggml", "-DGGML_BACKEND_DL=ON",
                    "-DGGML_NATIVE=OFF", "-DGGML_CPU=OFF", "-DGGML_WEBGPU=ON",
                    f"-DWEBGPU_HEADERS_DIR={PARTS}/webgpu-headers", f"-DWEBGPU_LIBRARY={PARTS}/dawn/libwebgpu_dawn.so"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build, "--target", "ggml-webgpu"], check=True)
    return next(build.rglob("libggml-webgpu.so"))


def build_op_speed(program):
    source = CHECKOUT / "bench/op_speed.cpp"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["g++", "-std=c++20", "-O2", source, "-o", program, "-lggml", "-lggml-base"], check=True)


def table(title, rows, names, figure, faster):
    """A line for each of "names" of the rows, a column for each backend, ours over the others': above 1 is faster."""
    print(f"\n{title:40}" + "".join(f"{b:>12}" for b in BACKENDS) + "   ours is faster than upstream, CPU")
    for name in names:
        of = {row["backend"]: row[figure] for row in rows if name in row.values() and row.get(figure)}
        ratios = [faster(of["ours"], of[b]) if "ours" in of and b in of else None for b in BACKENDS[1:]]
        print(f"{name:40}" + "".join(f"{of.get(b, '-'):>12}" for b in BACKENDS)
              + "   " + ", ".join(f"{r:.2f} x" if r else "-" for r in ratios), flush=True)


def fastest(rows, name, figure):
    """Of the rows with the same name and backend the one with the smallest figure, or one without any."""
    best = {}
    for row in rows:
        key = row[name], row["backend"]
        if key not in best or (row[figure] or math.inf) < (best[key][figure] or math.inf):
            best[key] = row
    return list(best.values())


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--plugin", default=CHECKOUT / "build/libggml-webgpu.so", type=pathlib.Path)
    arguments.add_argument("--commit", default="", help="what the plugin was built from")
    arguments.add_argument("--only", default="", help="ops, tests or \"load\" that match")
    arguments = arguments.parse_args()
    wanted = lambda name: re.search(arguments.only, name)

    BUILD.mkdir(parents=True, exist_ok=True)
    op_speed = BUILD / "op_speed"
    build_op_speed(op_speed)
    backends = [
        measure.Backend("ours", "WebGPU0", str(arguments.plugin.resolve()), {"GGML_WEBGPU_ADAPTER": "software"}),
        measure.Backend("upstream", "WebGPU", str(build_peer(BUILD / "upstream"))),
        measure.Backend("CPU", "CPU"),
    ]
    llama_bench = shutil.which("llama-bench")
    log = open(BUILD / "log", "w")
    load = os.getloadavg()[0]
    result = {
        "date": datetime.date.today().isoformat(), "cores": os.cpu_count(), "load_at_start": round(load, 1),
        "commit": arguments.commit,
        "speed": [], "load": [], "ops": [],
    }
    if load > 0.5:
        print(f"Something else is running here (load {load:.1f}): figures will be too low, and ratios uncertain.")

    # In rounds, of which the best counts: other work on the machine comes and goes.
    ops = [op for op in OPS if wanted(op)]
    for backend in backends * 3 if ops else []:
        result["ops"] += measure.op_times(op_speed, backend, ops, 0.1, 0, 300, log)
    if wanted("load"):
        for backend in backends * 5:
            result["load"].append({"model": MODEL.name, "test": "load", "backend": backend.name,
                                   "seconds": measure.load_seconds(llama_bench, backend, MODEL, 120)})
    result["ops"] = fastest(result["ops"], "op", "microseconds")
    result["load"] = fastest(result["load"], "test", "seconds")
    tests = [option for option, name in ((["-p", "128"], "pp128"), (["-n", "16"], "tg16")) if wanted(name)]
    for test in tests:
        for backend in backends:
            options = ["-p", "0", "-n", "0", *test, "-r", "2", "-t", str(os.cpu_count())]
            result["speed"] += [{"model": MODEL.name, **row} for row in
                                measure.tokens_per_second(llama_bench, backend, MODEL, options, 200, log)]

    table("tokens a second", result["speed"], dict.fromkeys(r["test"] for r in result["speed"]),
          "tokens_per_second", lambda ours, other: ours / other)
    table("seconds", result["load"], ["load"] if result["load"] else [], "seconds", lambda ours, other: other / ours)
    table("microseconds", result["ops"], ops, "microseconds", lambda ours, other: other / ours)
    if not arguments.only:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(result, indent=1) + "\n")
        print(f"\nWritten: {RESULTS.relative_to(CHECKOUT)}")


if __name__ == "__main__":
    main()
