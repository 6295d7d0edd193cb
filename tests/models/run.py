#!/usr/bin/env python3
"""Runs stock programs with real models on the plugin, on the software GPU unless told otherwise.

  tests/models/run.py                 all tests, a few minutes
  tests/models/run.py --only whisper  those with this in their names
  tests/models/run.py --list          the names

Each test is a promise. The first that needs a program's run waits for it; the others read it. The last line counts.
"""
import shutil
import subprocess
import sys

import perplexity
import promises
import text
import whisper
from programs import MODELS, ROOT

SUITES = {"text": text, "perplexity": perplexity, "whisper": whisper}
MODEL_NAMES = ["smollm2", "gemma", "whisper"]


def prepare():
    if any(not list(MODELS.glob(f"{name}.*")) for name in MODEL_NAMES):
        subprocess.run([ROOT / "scripts/fetch", *MODEL_NAMES], check=True)
    if not shutil.which("whisper-cli"):
        promises.enter_environment(__file__)


if __name__ == "__main__":
    sys.exit(promises.run(SUITES, __doc__, prepare))
