"""llama.cpp's test-thread-safety: models on the device, on the CPU and on both, each computed by several threads at once."""
import collections
import pathlib
import re
import tempfile

import stock
import tiny
from programs import check, once

THREADS = 4  # of each model
TOKENS = 32
PROMPT = "Down the rabbit hole"
MODELS = 3   # the device's, the CPU's, and that of both


@once
def results(device):
    with tempfile.TemporaryDirectory() as folder:
        weights = pathlib.Path(folder, "tiny.gguf")
        tiny.write(weights)
        output = device.run(stock.program("test-thread-safety"), "--model", weights, "--parallel", THREADS, "--predict", TOKENS,
                            "--prompt", PROMPT, "--ctx-size", 128, "--gpu-layers", 99, "--threads", 1, "--temp", 0)
    return output.text + output.log


def check_end(device):
    check("All threads finished without errors" in results(device), "not all threads finished")


def check_texts(device):
    texts = collections.Counter(re.findall(rf"Model \d+/{MODELS}, Context \d+/{THREADS}: (.*)", results(device)))
    check(texts.total() == MODELS * THREADS, f"{texts.total()} texts of {MODELS * THREADS} threads")
    check(len(texts) == 1, f"the texts differ: {dict(texts)}")


TESTS = [
    ("test-thread-safety ends well",                check_end),
    ("all threads of all models have the same text", check_texts),
]
