"""ggml's own tests of its optimisers, test-opt, pass on the device.

It takes every device there is, in the order of their registration, and the last must be the CPU. A plugin in
GGML_BACKEND_PATH comes after the CPU; one of ggml's own names, in the current folder, comes before.
"""
import pathlib
import re
import tempfile

import stock
from programs import check, once, run

NAME = "libggml-musa.so"  # a plugin that no system with a software GPU has
WEBGPU_LIBRARIES = ["libwebgpu_dawn.so", "libwgpu_native.so"]


@once
def results(device):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, NAME).symlink_to(device.plugin)
        for library in WEBGPU_LIBRARIES:
            pathlib.Path(folder, library).symlink_to(device.plugin.with_name(library))
        return run("env", f"--chdir={folder}", stock.program("test-opt"), GGML_WEBGPU_ADAPTER=device.adapter).text


def check_optimiser(device, optimiser):
    verdicts = re.findall(rf"(\d+)/(\d+) tests passed\n +Backend {device.name} {optimiser}: \S*?(OK|FAIL|SKIPPED)",
                          results(device))
    check(verdicts, f"no results of {device.name}")
    ((passed, tests, verdict),) = verdicts
    check(verdict == "OK", f"{passed} of {tests} tests pass: {verdict}")
    return f"{passed} tests"


TESTS = [(f"test-opt passes with {optimiser}", lambda on, optimiser=optimiser: check_optimiser(on, optimiser))
         for optimiser in ["adamw", "sgd"]]
