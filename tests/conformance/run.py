#!/usr/bin/env python3
"""Runs ggml's stock conformance suite against the plugin, on the software GPU unless told otherwise.

  run.py                          the whole suite
  run.py --ops ADD,MUL            these ops
  run.py --match 'MUL_MAT.*q4_0'  cases whose text matches the regex
  run.py --sample 1/10            every tenth case; 2/10 the ones after these, ...
  run.py --rerun-failed           what failed when it last ran, with the same tag
  run.py --disable f16,subgroups  without these features of the device
  run.py --limits webgpu-default  with no more than every WebGPU device has
  run.py --update --write-docs    the whole suite; rewrites supported.txt beside this file, and docs/ops.md

Fails when a case fails, crashes or hangs, and when a case that supported.txt has as supported no longer is; the last
line counts both as failed. An unsupported case is neither passed nor failed. The results, added to those of earlier
runs, are in build/conformance/results.tsv, where their times balance the next run.
"""
import argparse
import concurrent.futures
import ctypes
import glob
import math
import os
import pathlib
import re
import sys
import threading

import report
import suite as stock

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = "/usr/libexec/*/llama.cpp-tests/test-backend-ops"
SECONDS_A_CASE = 0.05   # of one that was never measured
SECONDS_A_PROCESS = 60  # long beside its start (a second), short beside the whole suite
LINES_SHOWN = 20


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    option = parser.add_argument
    option("--ops", metavar="OP,OP", type=lambda text: text.split(","))
    option("--match", metavar="REGEX", type=re.compile)
    option("--sample", metavar="I/N", type=lambda text: tuple(map(int, text.split("/"))))
    option("--rerun-failed", action="store_true")
    option("--list", action="store_true", help="print the chosen cases and run nothing")
    option("--plugin", type=pathlib.Path, default=ROOT / "build/libggml-webgpu.so")
    option("--device", default="WebGPU0", help="its name in ggml (default: %(default)s)")
    option("--adapter", default=os.environ.get("GGML_WEBGPU_ADAPTER", "software"), help="(default: %(default)s)")
    option("--disable", metavar="FEATURE,..", help="GGML_WEBGPU_DISABLE")
    option("--limits", metavar="NAME", help="GGML_WEBGPU_LIMITS")
    option("--max-binding", metavar="SIZE", help="GGML_WEBGPU_MAX_BINDING")
    option("--binary", help=f"another test-backend-ops than {BINARY}")
    option("--jobs", type=int, default=os.cpu_count(), help="processes at once (default: %(default)s)")
    option("--timeout", type=float, default=600, help="seconds for one case (default: %(default)s)")
    option("--seconds", type=float, default=threading.TIMEOUT_MAX, help="stop after so long, with the results so far")
    option("--tag", help="part of the names of results and baseline (default: from --disable, --limits and --max-binding)")
    option("--update", action="store_true", help="rewrite the baseline of the ops that were run in full")
    option("--write-docs", action="store_true", help="rewrite docs/ops.md; needs the whole suite")
    arguments = parser.parse_args()
    if arguments.tag is None:
        arguments.tag = "-".join(filter(None, [(arguments.disable or "").replace(",", "-"), arguments.limits, arguments.max_binding]))
    return arguments


def enter_environment():
    """Starts over inside scripts/env, which has the suite's program."""
    environment = ROOT / "scripts/env"
    os.execv(environment, [environment, "python3", __file__, *sys.argv[1:]])


def choose_cases(arguments, suite, last):
    cases = list(dict.fromkeys(suite.listing))
    if arguments.ops:
        if unknown := set(arguments.ops) - {case.op for case in cases}:
            sys.exit(f"no such op in the suite: {', '.join(sorted(unknown))}")
        cases = [case for case in cases if case.op in arguments.ops]
    if arguments.match:
        cases = [case for case in cases if arguments.match.search(str(case))]
    if arguments.rerun_failed:
        cases = [case for case in cases if case in last and last[case].status == "failed"]
    if arguments.sample:
        first, step = arguments.sample
        cases = cases[first - 1::step]
    return cases


def plugin_environment(arguments):
    wanted = {
        "GGML_BACKEND_PATH": str(arguments.plugin.resolve()),
        "GGML_WEBGPU_ADAPTER": arguments.adapter,
        "GGML_WEBGPU_DISABLE": arguments.disable,
        "GGML_WEBGPU_LIMITS": arguments.limits,
        "GGML_WEBGPU_MAX_BINDING": arguments.max_binding,
        "GGML_WEBGPU_LIST_KERNELS": "1",
        "GGML_WEBGPU_KERNEL_CACHE": os.environ.get("GGML_WEBGPU_KERNEL_CACHE", "0"),
        "OMP_WAIT_POLICY": "passive",  # the CPU backend's threads spin else, on cores that the software GPU needs
        "XDG_RUNTIME_DIR": os.environ.get("XDG_RUNTIME_DIR", "/tmp"),
    }
    return {name: value for name, value in wanted.items() if value}


def run_batches(device, batches, jobs):
    """Results by case; if interrupted, those so far."""
    results = {}

    def run(number, batch):
        ops = list(dict.fromkeys(case.op for case in batch))
        mine = dict(device.run(batch))
        results.update(mine)
        failed = sum(result.status == "failed" for result in mine.values())
        seconds = sum(result.seconds for result in mine.values())
        if mine:  # a batch that was stopped before its first result has nothing to say
            print(f"[{number}/{len(batches)}] {ops[0]}{f' .. {ops[-1]}' if ops[1:] else ''}: {len(mine)} of {len(batch)} cases, "
                  f"{failed} failed, {seconds:.0f} s", file=sys.stderr, flush=True)

    print(f"{sum(map(len, batches))} cases in {len(batches)} processes, {jobs} at once", file=sys.stderr, flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            for future in [pool.submit(run, number, batch) for number, batch in enumerate(batches, 1)]:
                future.result()
        except KeyboardInterrupt:
            device.stop()
            pool.shutdown(cancel_futures=True)
    return results


def run_again(device, results):
    """Gives failed cases a second run. The suite's data are random and unseeded, so an error near its limit falls on either
    side; what passes only then is printed, and a case that fails twice has failed."""
    failed = [case for case, result in results.items() if result.status == "failed"]
    if failed and not device.stopping.is_set():
        for case, result in device.run(failed):
            if result.status == "passed":
                print(f"passed only when run again: {case}: {results[case].message}")
                results[case] = result


def show(suite, results, lost, device):
    print(*report.table(suite, results), sep="\n")
    failures = [f"{case}: {result.message}" for case, result in results.items() if result.status == "failed"]
    for title, lines in (("failed", failures), ("supported before, not now", lost)):
        if lines:
            print(f"\n{title}:", *lines[:LINES_SHOWN], sep="\n  ")
        if len(lines) > LINES_SHOWN:
            print(f"  ... and {len(lines) - LINES_SHOWN} more")
    print(f"\nkernels compiled: {len(set(device.kernels))} different ones, {len(device.kernels)} in all processes")


def write_docs(suite, results, description):
    ggml_version = ctypes.CDLL("libggml-base.so.0").ggml_version
    ggml_version.restype = ctypes.c_char_p
    path = ROOT / "docs/ops.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(report.docs(suite, results, ggml_version().decode(), description)))


def main():
    arguments = read_arguments()
    binary = arguments.binary or next(iter(glob.glob(BINARY)), None) or enter_environment()
    suffix = f"-{arguments.tag}" if arguments.tag else ""
    results_path = ROOT / f"build/conformance/results{suffix}.tsv"
    baseline_path = pathlib.Path(__file__).with_name(f"supported{suffix}.txt")

    suite, last = stock.load_suite(binary), report.read_results(results_path)
    cases = choose_cases(arguments, suite, last)
    if arguments.list:
        print(*cases, sep="\n")
        return 0
    if arguments.write_docs and set(cases) != set(suite.listing):
        sys.exit("--write-docs needs the whole suite")
    device = stock.Device(binary, arguments.device, plugin_environment(arguments), arguments.timeout)
    description = device.describe()
    if description is None:
        sys.exit(f"no device {arguments.device} from {arguments.plugin}")

    def seconds_of(case):
        return last[case].seconds if case in last else SECONDS_A_CASE

    share = sum(map(seconds_of, cases)) / arguments.jobs + SECONDS_A_CASE
    batches = stock.batches(cases, seconds_of, share / math.ceil(share / SECONDS_A_PROCESS))
    timer = threading.Timer(arguments.seconds, device.stop)
    timer.start()
    results = run_batches(device, batches, arguments.jobs)
    run_again(device, results)
    timer.cancel()
    if missing := len(cases) - len(results):
        print(f"stopped: {missing} of {len(cases)} cases were not run")
    results = {case: results[case] for case in cases if case in results}  # in the suite's order
    known = last | results
    report.write_results(results_path, {case: known[case] for case in dict.fromkeys(suite.listing) if case in known})
    shared_path = baseline_path.with_name("supported.txt")
    lost = report.lost_cases(baseline_path if baseline_path.exists() else shared_path, suite, results)
    show(suite, results, lost, device)
    if arguments.update:
        report.update_baseline(baseline_path, suite, results)
    if arguments.write_docs and not device.stopping.is_set():
        write_docs(suite, results, description)

    counts = report.total(report.tally(suite, results))
    failed = counts["failed"] + len(lost)
    print(f"{counts['passed']} passed, {failed} failed")
    return 130 if device.stopping.is_set() else int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
