#!/usr/bin/env python3
"""Runs the test programs of stock llama.cpp on the plugin, and a training, on the software GPU unless told otherwise.

  tests/programs/run.py                    all tests, a few minutes
  tests/programs/run.py --only "threads"   those with this in their names
  tests/programs/run.py --list             the names

Each test is a promise. The first that needs a program's run waits for it; the others read it. The last line counts.
"""
import pathlib
import shutil
import sys

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "models"))

import archs
import fusions
import gradients
import opt
import promises
import threads
import train

SUITES = {"optimisers": opt, "gradients": gradients, "training": train, "threads": threads, "fusions": fusions, "architectures": archs}


def prepare():
    if not shutil.which("llama-quantize"):
        promises.enter_environment(__file__)


if __name__ == "__main__":
    sys.exit(promises.run(SUITES, __doc__, prepare))
