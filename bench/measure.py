"""How a backend is measured: ggml's own llama-bench, op_speed of this folder, and the log of a model being loaded.

A Backend is a name for tables, ggml's name of its device, and the plugin that brings it. Nothing here knows which
backends or models there are."""
import dataclasses
import json
import os
import statistics
import subprocess
import threading
import time


@dataclasses.dataclass
class Backend:
    name: str                # in tables
    device: str              # ggml's name: WebGPU0, CUDA0, CPU
    library: str = ""        # the plugin; empty: one that the programs load by themselves
    environment: dict = dataclasses.field(default_factory=dict)

    def variables(self):
        variables = dict(os.environ, OMP_WAIT_POLICY="passive", **self.environment)
        variables.pop("GGML_BACKEND_PATH", None)
        if self.library:
            variables["GGML_BACKEND_PATH"] = self.library
        return variables

    def llama_bench_options(self):
        if self.device == "CPU":
            return ["-dev", "none", "-ngl", "0"]
        return ["-dev", self.device, "-ngl", "99", "-fa", "1"]


@dataclasses.dataclass
class Clock:
    """The GPU's clock, read in the background while something else runs."""
    reader: subprocess.Popen | None = None
    samples: list = dataclasses.field(default_factory=list)  # (time, MHz)

    def start(self):
        try:
            self.reader = subprocess.Popen(
                ["nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits", "--loop-ms=100"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except FileNotFoundError:
            return
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.reader.stdout:
            if line.strip().isdigit():
                self.samples.append((time.time(), int(line)))

    def stop(self):
        if self.reader:
            self.reader.kill()

    def median(self, since, until):
        values = sorted(mhz for at, mhz in self.samples if since <= at <= until)
        return values[len(values) // 2] if values else None


clock = Clock()


def lines(command, backend, limit, feed="", log=None):
    """Yields the lines of a command's output as they come, and ends it after "limit" seconds."""
    process = subprocess.Popen(command, env=backend.variables(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=log or subprocess.DEVNULL, text=True)
    timer = threading.Timer(limit, process.kill)
    timer.start()
    process.stdin.write(feed)
    process.stdin.close()
    yield from process.stdout
    status = process.wait()
    timer.cancel()
    if status:
        print(f"{backend.name}: {os.path.basename(command[0])} ended with status {status}", flush=True)


def test_name(prompt, generated, depth):
    """llama-bench's own names: pp512, tg128, pp512 @ d8192."""
    name = f"pp{prompt}" if prompt else f"tg{generated}"
    return f"{name} @ d{depth}" if depth else name


def tokens_per_second(program, backend, model, options, limit, log=None):
    """Rows of llama-bench: test, tokens_per_second, clock_mhz. What it has done when the limit comes is kept.

    Of its runs the median counts: it warms up without a context, so the first with one compiles kernels."""
    command = [program, "-m", model, *backend.llama_bench_options(), *options, "-o", "jsonl"]
    since = time.time()
    for line in lines(command, backend, limit, log=log):
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        measured = sum(row["samples_ns"]) / 1e9
        yield {
            "test": test_name(row["n_prompt"], row["n_gen"], row["n_depth"]),
            "backend": backend.name,
            "tokens_per_second": round(statistics.median(row["samples_ts"]), 2),
            "clock_mhz": clock.median(max(since, time.time() - measured), time.time()),
        }
        since = time.time()


def op_times(program, backend, cases, seconds, cold_mb, limit, log=None):
    """Rows of op_speed: op, microseconds, flops, bytes, clock_mhz; microseconds is None where it says why not."""
    feed = "".join(case + "\n" for case in cases)
    for line in lines([program, backend.device, str(seconds), str(cold_mb)], backend, limit, feed, log):
        op, *figures = line.rstrip("\n").split("\t")
        row = {"op": op, "backend": backend.name, "microseconds": None}
        if len(figures) == 3:
            row.update(microseconds=float(figures[0]), flops=int(figures[1]), bytes=int(figures[2]),
                       clock_mhz=clock.median(time.time() - seconds, time.time()))
        else:
            row["why"] = figures[0] if figures else ""
        yield row


def load_seconds(program, backend, model, limit):
    """From the program's start to the line after the last one about the model: devices found, tensors made, read and set.
    Some backends make their device when they are loaded, others when it is first used, so both count."""
    command = [program, "-m", model, *backend.llama_bench_options(), "-p", "1", "-n", "0", "-r", "1", "--no-warmup", "-v"]
    start = time.time()
    process = subprocess.Popen(command, env=backend.variables(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, errors="replace")
    timer = threading.Timer(limit, process.kill)
    timer.start()
    end = None
    for line in process.stderr:
        if end is None and "llama_context: constructing" in line:
            end = time.time()
    process.wait()
    timer.cancel()
    return round(end - start, 3) if end else None
