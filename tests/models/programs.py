"""Runs stock ggml programs, on the plugin's device or on the CPU, and reads what they print."""
import dataclasses
import functools
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "third_party/models"  # filled by scripts/fetch
SECONDS = 1200                        # a program that takes longer hangs, on the slowest machine this ran on too
LOG_LINES_SHOWN = 15


class Failed(Exception):
    """A promise was not kept; the text says how."""


def check(kept, how_not):
    if not kept:
        raise Failed(how_not)


@dataclasses.dataclass(frozen=True)
class Device:
    """A ggml device of the plugin."""
    name: str
    plugin: pathlib.Path
    adapter: str

    def run(self, program, *arguments, **variables):
        return run(program, *arguments, GGML_BACKEND_PATH=self.plugin, GGML_WEBGPU_ADAPTER=self.adapter, **variables)


@dataclasses.dataclass(frozen=True)
class Output:
    text: str
    log: str

    def number(self, pattern):
        """The first group of a pattern, in the text or the log, as a number."""
        found = re.search(pattern, self.text + self.log, re.MULTILINE)
        check(found, f"nothing printed like {pattern}")
        return float(found[1])


def once(function):
    """Keeps what a function returned, or how it failed, for the next call with the same arguments."""
    @functools.cache
    def outcome(*arguments):
        try:
            return function(*arguments), None
        except Failed as failure:
            return None, failure

    def kept(*arguments):
        value, failure = outcome(*arguments)
        if failure:
            raise failure
        return value
    return kept


def model(name):
    """The file of a model that scripts/fetch knows by this name."""
    (found,) = MODELS.glob(f"{name}.*")
    return found


def run(program, *arguments, **variables):
    """Runs a program with further environment variables. Its text is standard output, its log standard error."""
    check(shutil.which(program), f"{program} is not installed")
    command = [program, *map(str, arguments)]
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    try:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              encoding="utf-8", errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Failed(f"{program} took longer than {SECONDS} s") from None
    last_lines = "\n".join(done.stderr.splitlines()[-LOG_LINES_SHOWN:])
    check(done.returncode == 0, f"{program} ended with status {done.returncode}; the end of its log:\n{last_lines}")
    return Output(done.stdout, done.stderr)


# ---- llama.cpp ---------------------------------------------------------------------------------------------------

# One thread: with a device in use the CPU has nothing to do but look up tokens, and more threads would wait for it in
# loops that take the cores from a software GPU. No fitting: what goes to the device is said, not guessed from memory.
LLAMA_OPTIONS = ["--threads", 1, "--fit", "off", "--no-warmup", "--no-log-prefix", "--no-log-timestamps"]


def llama_on_cpu(program, weights, *options):
    return run(program, "--model", weights, "--device", "none", *LLAMA_OPTIONS, *options)


def llama_on(device, program, weights, *options):
    """Runs a llama.cpp program with all of a model on a device; the log tells where each node was computed."""
    return device.run(program, "--model", weights, "--device", device.name, "--gpu-layers", "all",
                      *LLAMA_OPTIONS, "--verbosity", 5, *options, GGML_SCHED_DEBUG=2)
