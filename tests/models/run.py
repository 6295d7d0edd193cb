#!/usr/bin/env python3
"""Runs stock programs with real models on the plugin, on the software GPU unless told otherwise.

  tests/models/run.py                 all tests, a few minutes
  tests/models/run.py --only whisper  those with this in their names
  tests/models/run.py --list          the names

Each test is a promise. The first that needs a program's run waits for it; the others read it. The last line counts.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import time

import perplexity
import text
import whisper
from programs import MODELS, ROOT, Device, Failed

SUITES = {"text": text, "perplexity": perplexity, "whisper": whisper}
MODEL_NAMES = ["smollm2", "gemma", "whisper"]


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="TEXT", default="", help="tests with this in their names")
    parser.add_argument("--list", action="store_true", help="print the chosen tests and run nothing")
    parser.add_argument("--plugin", type=pathlib.Path, default=ROOT / "build/libggml-webgpu.so")
    parser.add_argument("--device", default="WebGPU0", help="its name in ggml (default: %(default)s)")
    parser.add_argument("--adapter", default=os.environ.get("GGML_WEBGPU_ADAPTER", "software"),
                        help="GGML_WEBGPU_ADAPTER (default: %(default)s)")
    return parser.parse_args()


def choose_tests(wanted):
    tests = {f"{suite}: {name}": test for suite, module in SUITES.items() for name, test in module.TESTS}
    return {name: test for name, test in tests.items() if wanted in name}


def prepare():
    """Fetches the models. Where this system has no stock programs, starts over inside scripts/env, which has."""
    if any(not list(MODELS.glob(f"{name}.*")) for name in MODEL_NAMES):
        subprocess.run([ROOT / "scripts/fetch", *MODEL_NAMES], check=True)
    if not shutil.which("whisper-cli"):
        environment = ROOT / "scripts/env"
        os.execv(environment, [environment, "python3", __file__, *sys.argv[1:]])


def is_kept(name, test, device):
    print(name, end=" ... ", flush=True)
    start = time.monotonic()
    try:
        figure = test(device)
    except Failed as failure:
        print("FAILED\n" + textwrap.indent(str(failure), "    "), flush=True)
        return False
    print(f"ok{f', {figure}' if figure else ''} ({time.monotonic() - start:.0f} s)", flush=True)
    return True


def main():
    arguments = read_arguments()
    tests = choose_tests(arguments.only)
    if not tests:
        sys.exit(f"no test has \"{arguments.only}\" in its name")
    if arguments.list:
        print(*tests, sep="\n")
        return 0
    prepare()
    if not arguments.plugin.exists():
        sys.exit(f"no plugin {arguments.plugin}: run \"make build\"")
    device = Device(arguments.device, arguments.plugin.resolve(), arguments.adapter)
    kept = [is_kept(name, test, device) for name, test in tests.items()]
    print(f"{kept.count(True)} passed, {kept.count(False)} failed")
    return int(False in kept)


if __name__ == "__main__":
    sys.exit(main())
