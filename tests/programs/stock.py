"""The test programs that come with stock llama.cpp."""
import glob

from programs import check

FOLDER = "/usr/libexec/*/llama.cpp-tests"


def program(name):
    found = glob.glob(f"{FOLDER}/{name}")
    check(found, f"{name} is not installed in {FOLDER}")
    return found[0]
