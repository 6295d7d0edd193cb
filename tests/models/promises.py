"""Runs suites of promises: named functions that take a device, and return a figure or fail."""
import argparse
import os
import pathlib
import sys
import textwrap
import time

from programs import ROOT, Device, Failed


def read_arguments(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="TEXT", default="", help="tests with this in their names")
    parser.add_argument("--list", action="store_true", help="print the chosen tests and run nothing")
    parser.add_argument("--plugin", type=pathlib.Path, default=ROOT / "build/libggml-webgpu.so")
    parser.add_argument("--device", default="WebGPU0", help="its name in ggml (default: %(default)s)")
    parser.add_argument("--adapter", default=os.environ.get("GGML_WEBGPU_ADAPTER", "software"),
                        help="GGML_WEBGPU_ADAPTER (default: %(default)s)")
    return parser.parse_args()


def choose_tests(suites, wanted):
    tests = {f"{suite}: {name}": test for suite, module in suites.items() for name, test in module.TESTS}
    return {name: test for name, test in tests.items() if wanted in name}


def enter_environment(program):
    """Where this system has no such program, starts over inside scripts/env, which has."""
    environment = ROOT / "scripts/env"
    os.execv(environment, [environment, "python3", program, *sys.argv[1:]])


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


def run(suites, description, prepare):
    """A program's exit status: 1 if a promise is broken. Prepares for the tests, unless they are only to be listed."""
    arguments = read_arguments(description)
    tests = choose_tests(suites, arguments.only)
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
