#!/usr/bin/env python3
"""Runs ggml's stock conformance suite against the plugin, on the software GPU unless told otherwise.

  tests/conformance/run.py                          the whole suite
  tests/conformance/run.py --ops ADD,MUL            these ops
  tests/conformance/run.py --sample 1/10            every tenth case; 2/10 the tenth that follows, ...
  tests/conformance/run.py --match 'MUL_MAT.*q4_0'  cases whose text matches the regex
  tests/conformance/run.py --rerun-failed           what failed in the last runs with the same tag
  tests/conformance/run.py --disable f16,subgroups  without these features of the device
  tests/conformance/run.py --update --write-docs    the whole suite; rewrites supported.txt and docs/ops.md

Fails when a case fails, crashes or hangs, and when a case that tests/conformance/supported.txt has as supported is no
more. The last line counts all of these as failed; an unsupported case is neither passed nor failed. Results stay in
build/conformance/results.tsv (with the tag in its name), where their times balance the next run.
"""
import argparse
import concurrent.futures
import ctypes
import glob
import os
import pathlib
import re
import shutil
import sys

import report
import suite as stock

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = "/usr/libexec/*/llama.cpp-tests/test-backend-ops"
SECONDS_A_CASE = 0.05      # of one that was never measured
SECONDS_A_PROCESS = 60     # long beside its start (half a second), short beside the whole suite
FAILURES_SHOWN = 20


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choose = parser.add_argument_group("cases")
    choose.add_argument("--ops", metavar="OP,OP")
    choose.add_argument("--match", metavar="REGEX", type=re.compile)
    choose.add_argument("--sample", metavar="I/N", type=lambda text: tuple(map(int, text.split("/"))))
    choose.add_argument("--rerun-failed", action="store_true")
    choose.add_argument("--list", action="store_true", help="print the chosen cases and run nothing")
    device = parser.add_argument_group("device")
    device.add_argument("--plugin", type=pathlib.Path, default=ROOT / "build/libggml-webgpu.so")
    device.add_argument("--device", default="WebGPU0", help="its name in ggml (default: %(default)s)")
    device.add_argument("--adapter", default="software", help="GGML_WEBGPU_ADAPTER (default: %(default)s)")
    device.add_argument("--disable", metavar="FEATURE,..", help="GGML_WEBGPU_DISABLE")
    device.add_argument("--max-binding", metavar="SIZE", help="GGML_WEBGPU_MAX_BINDING")
    device.add_argument("--binary", help=f"another test-backend-ops than {BINARY}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one case (default: %(default)s)")
    parser.add_argument("--tag", help="names the results and the baseline (default: from --disable and --max-binding)")
    parser.add_argument("--update", action="store_true", help="rewrite the baseline of the ops that were run in full")
    parser.add_argument("--write-docs", action="store_true", help="rewrite docs/ops.md; needs the whole suite")
    arguments = parser.parse_args()
    if arguments.tag is None:
        masks = filter(None, ((arguments.disable or "").replace(",", "-"), arguments.max_binding))
        arguments.tag = "-".join(masks)
    return arguments


def find_binary(arguments):
    """The suite's program. Where this system has none, starts over inside scripts/env, which has."""
    binary = arguments.binary or next(iter(glob.glob(BINARY)), None)
    if binary:
        return binary
    environment = ROOT / "scripts/env"
    os.execv(environment, [environment, "python3", __file__, *sys.argv[1:]])


def choose_cases(arguments, suite, last):
    cases = suite.cases
    if arguments.ops:
        ops = set(arguments.ops.split(","))
        if unknown := ops - {case.op for case in cases}:
            sys.exit(f"no such op in the suite: {', '.join(sorted(unknown))}")
        cases = [case for case in cases if case.op in ops]
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
        "GGML_WEBGPU_MAX_BINDING": arguments.max_binding,
        "XDG_RUNTIME_DIR": os.environ.get("XDG_RUNTIME_DIR", "/tmp"),
    }
    return {name: value for name, value in wanted.items() if value}


def run_cases(device, batches, jobs):
    """Results by case; those so far if interrupted."""
    results = {}

    def run(number, batch):
        ops = list(dict.fromkeys(case.op for case in batch))
        seconds = failed = 0
        for case, result in device.run(batch):
            results[case] = result
            seconds += result.seconds
            failed += result.status == "failed"
        print(f"[{number}/{len(batches)}] {ops[0]}{f' .. {ops[-1]}' if ops[1:] else ''}: {len(batch)} cases"
              f"{f', {failed} failed' if failed else ''}, {seconds:.0f} s", file=sys.stderr, flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run, number, batch) for number, batch in enumerate(batches, 1)]
        try:
            for future in futures:
                future.result()
        except KeyboardInterrupt:
            device.stopping.set()
            pool.shutdown(cancel_futures=True)
    return results


def show(suite, results, lost, device):
    print("\n".join(report.table(suite, results)))
    failures = [f"{case}: {result.message}" for case, result in results.items() if result.status == "failed"]
    for title, lines in (("failed", failures), ("supported before, not now", lost)):
        if lines:
            print(f"\n{title}:", *lines[:FAILURES_SHOWN], sep="\n  ")
        if len(lines) > FAILURES_SHOWN:
            print(f"  ... and {len(lines) - FAILURES_SHOWN} more")
    if device.kernels_compiled:
        print(f"\nkernels compiled: {sum(device.kernels_compiled)} in {len(device.kernels_compiled)} processes")


def main():
    arguments = read_arguments()
    binary = find_binary(arguments)
    for tool in ("cc", "stdbuf"):
        if not shutil.which(tool):
            sys.exit(f"needs {tool}")
    suffix = f"-{arguments.tag}" if arguments.tag else ""
    results_path = ROOT / f"build/conformance/results{suffix}.tsv"
    baseline_path = pathlib.Path(__file__).with_name(f"supported{suffix}.txt")

    suite, last = stock.load_suite(binary), report.read_results(results_path)
    cases = choose_cases(arguments, suite, last)
    if arguments.list:
        print(*cases, sep="\n")
        return 0
    if arguments.write_docs and len(cases) < len(suite.cases):
        sys.exit("--write-docs needs the whole suite")

    device = stock.Device(binary, arguments.device, plugin_environment(arguments), arguments.timeout, suite.cases)
    description = device.describe()
    if description is None:
        sys.exit(f"no device {arguments.device} from {arguments.plugin}")

    def seconds_of(case):
        return last[case].seconds if case in last else SECONDS_A_CASE

    results = run_cases(device, stock.batches(cases, suite.cases, seconds_of, SECONDS_A_PROCESS), arguments.jobs)
    results = {case: results[case] for case in cases if case in results}  # in the suite's order
    report.write_results(results_path, last | results)
    lost = list(report.lost_cases(baseline_path, suite, results))
    show(suite, results, lost, device)

    if arguments.update:
        report.update_baseline(baseline_path, suite, results)
    if arguments.write_docs:
        ggml = ctypes.CDLL("libggml-base.so.0").ggml_version
        ggml.restype = ctypes.c_char_p
        (ROOT / "docs").mkdir(exist_ok=True)
        (ROOT / "docs/ops.md").write_text("\n".join(report.docs(suite, results, ggml().decode(), description)))

    counts = report.total(report.tally(suite, results, lambda case: case.op))
    failed = counts["failed"] + len(lost)
    print(f"{counts['passed']} passed, {failed} failed")
    return 130 if device.stopping.is_set() else bool(failed)


if __name__ == "__main__":
    sys.exit(main())
