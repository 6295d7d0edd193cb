"""The stock conformance suite: ggml's own prebuilt `test-backend-ops`, and how to run any of its cases.

The program compares each case's result on one device with the CPU backend's. It prints a case's line when the case has
ended, so the case that ends the process, or never ends, is the first one without a line.
"""
import collections
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from typing import NamedTuple

# Overrides the function of libggml-base by which the program asks a backend: with it `test` computes nothing and lists
# every case. (`support` lists without computing, but leaves out the fusion cases.)
SUPPORT_NOTHING = "int ggml_backend_supports_op(void * backend, void * op) { return 0; }"

LINE = re.compile(r'"(?P<backends>[^"]*)","(?P<op>[^"]+)","(?P<params>[^"]*)","(?:test|support)",'
                  r'"(?P<supported>[01])","(?P<error>[^"]*)","[^"]*"$')
KERNELS_COMPILED = re.compile(r"kernels compiled: (\d+)")

ARGUMENT_LIMIT = 100_000  # Linux: 128 KiB for one argument
MESSAGE_LENGTH = 240
HANGS_PER_OP = 3          # then the op's other cases fail without being run


class Case(NamedTuple):
    op: str
    params: str

    def __str__(self):
        return f"{self.op}({self.params})"


class Result(NamedTuple):
    """`unsupported`: by the device under test. `unchecked`: supported, but the CPU backend has nothing to compare with."""
    status: str  # passed, failed, unsupported, unchecked
    seconds: float = 0.0
    message: str = ""
    checkable: bool = True  # by the CPU backend


class Suite(NamedTuple):
    listing: list  # all cases in the suite's order; some come more than once
    fusion: set    # those of several ops that a backend may fuse

    @property
    def cases(self):
        return list(dict.fromkeys(self.listing))


def quiet_environment():
    return {name: value for name, value in os.environ.items() if name != "GGML_BACKEND_PATH"}


def load_suite(binary):
    def cases(mode, **environment):
        out = subprocess.run([binary, mode, "-b", "CPU", "--output", "csv"], env=quiet_environment() | environment,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
        return [Case(line["op"], line["params"]) for line in map(LINE.search, out.splitlines()) if line]

    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/support-nothing.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library],
                       input=SUPPORT_NOTHING, text=True, check=True)
        listing = cases("test", LD_PRELOAD=library)
    return Suite(listing, set(listing) - set(cases("support")))


def batches(cases, all_cases, seconds_of, target):
    """Splits the cases into lists of about `target` seconds, each for one process, the longest first.

    Small ops share a process, large ones take several. Cases with a dimension of millions need up to 11 GB each in the
    suite's own process, so all of them go into one list and never run at the same time.
    """
    huge = [case for case in cases if any(int(n) >= 2_000_000 for n in re.findall(r"\d+", case.params))]
    by_op = collections.defaultdict(list)
    for case in cases:
        if case not in set(huge):
            by_op[case.op].append(case)
    size_of = collections.Counter(case.op for case in all_cases)

    lists, small, small_seconds = ([huge] if huge else []), [], 0.0
    for op, of_op in by_op.items():
        seconds = sum(map(seconds_of, of_op))
        if len(of_op) == size_of[op] and seconds <= target:  # chosen by the op's name alone
            if small_seconds + seconds > target:
                lists.append(small)
                small, small_seconds = [], 0.0
            small += of_op
            small_seconds += seconds
        else:
            lists += pieces(of_op, seconds_of, target)
    if small:
        lists.append(small)
    return sorted(lists, key=lambda piece: -sum(map(seconds_of, piece)))


def pieces(cases, seconds_of, target):
    out, seconds, length = [[]], 0.0, 0
    for case in cases:
        if out[-1] and (seconds + seconds_of(case) > target or length + len(str(case)) + 1 > ARGUMENT_LIMIT):
            out.append([])
            seconds, length = 0.0, 0
        out[-1].append(case)
        seconds += seconds_of(case)
        length += len(str(case)) + 1
    return out


def selector(cases, all_cases):
    """The program's -o argument. Whole ops go by one regex (it compiles each anew for every case), without parentheses
    (they would make it a case's text)."""
    ops = {case.op for case in cases}
    if set(cases) == {case for case in all_cases if case.op in ops}:
        return "|".join(f"^{op}$" for op in sorted(ops))
    return ",".join(map(str, cases))


class Device:
    """One device of one plugin, on which the suite's cases run."""

    def __init__(self, binary, name, environment, timeout, all_cases):
        self.binary, self.name, self.timeout, self.all_cases = binary, name, timeout, all_cases
        self.environment = os.environ | environment
        self.kernels_compiled = []  # one count a process
        self.stopping = threading.Event()

    def describe(self):
        """Its description, after it was initialised once without a case. None if that failed."""
        probe = subprocess.run([self.binary, "test", "-b", self.name, "-o", "NONE"], env=self.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        found = re.search(rf": {re.escape(self.name)}\n +Device description: (.*)", probe.stdout)
        if probe.returncode or not found:
            print(probe.stdout)
            return None
        return found[1]

    def run(self, cases):
        """Yields (case, result) for each case, however many processes that takes."""
        hangs = collections.Counter()
        while cases and not self.stopping.is_set():
            results, ending = self.run_process(cases)
            yield from results.items()
            cases = [case for case in cases if case not in results]
            if not cases or self.stopping.is_set():
                break
            blamed = cases.pop(0)
            yield blamed, Result("failed", message=ending)
            hangs[blamed.op] += ending.startswith("hang")
            if hangs[blamed.op] == HANGS_PER_OP:
                for case in [case for case in cases if case.op == blamed.op]:
                    yield case, Result("failed", message=f"not run: {HANGS_PER_OP} cases of this op hung")
                    cases.remove(case)

    def run_process(self, cases):
        """Runs the cases in one process. Returns the results of those that ended and, in words, what stopped the next."""
        place = {case: index for index, case in enumerate(cases)}
        results, said, hung = {}, collections.deque(maxlen=3), threading.Event()
        # Line by line, so that nothing is lost in the process's own buffer when it crashes.
        command = ["stdbuf", "-oL", self.binary, "test", "-b", self.name, "--output", "csv",
                   "-o", selector(cases, self.all_cases)]
        with subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace") as process:
            def kill():
                hung.set()
                process.kill()

            watchdog = start_watchdog(self.timeout, kill)
            start = time.monotonic()
            for text in process.stdout:
                line = LINE.search(text.rstrip())
                said.append((text[:line.start()] if line else text).strip())
                case = line and Case(line["op"], line["params"])
                if case not in place:
                    if count := KERNELS_COMPILED.search(text):
                        self.kernels_compiled.append(int(count[1]))
                    continue
                for missing in cases[len(results):place[case]]:
                    results[missing] = Result("failed", message="no result: " + join(said))
                now = time.monotonic()
                result = read_result(line, now - start, join(said), self.name)
                if case not in results or result.status == "failed":  # of copies, the worst counts
                    results[case] = result
                said.clear()
                start = now
                watchdog.cancel()
                watchdog = start_watchdog(self.timeout, kill)
            watchdog.cancel()

        if hung.is_set():
            ending = f"hang: no result in {self.timeout:g} s: "
        elif process.returncode < 0:
            ending = f"crash: {signal.Signals(-process.returncode).name}: "
        elif process.returncode > 1:  # 1: a case failed
            ending = f"crash: status {process.returncode}: "
        else:
            for missing in cases[len(results):]:
                results[missing] = Result("failed", message="no result: " + join(said))
            return results, ""
        if len(results) == len(cases):  # it died while it cleaned up
            results[cases[-1]] = Result("failed", message="after the last case: " + ending + join(said))
        return results, ending + join(said)


def start_watchdog(seconds, action):
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
    return timer


def join(said):
    return " / ".join(filter(None, said))[-MESSAGE_LENGTH:]


def read_result(line, seconds, said, device):
    backends = set(line["backends"].split(", "))
    checkable = line["supported"] == "1" or "CPU" not in backends
    if line["supported"] == "0":
        status = "unchecked" if backends == {"CPU"} and device != "CPU" else "unsupported"
        return Result(status, seconds, "", checkable)
    if line["error"]:
        return Result("failed", seconds, f"{line['error']}: {said}")
    return Result("passed", seconds)
