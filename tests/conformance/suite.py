"""The stock conformance suite, ggml's own prebuilt `test-backend-ops`: its cases, and how to run any of them.

The program computes each case on one device and on the CPU backend and compares. It prints a case's line when the case
has ended, so a case that ends the process, or never ends, is the first one without a line.
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
# every case. (`support` lists without computing too, but leaves out the fusion cases.)
SUPPORT_NOTHING = "int ggml_backend_supports_op(void * backend, void * op) { return 0; }"

LINE = re.compile(r'"(?P<backends>[^"]*)","(?P<op>[^"]+)","(?P<params>[^"]*)","(?:test|support)",'
                  r'"(?P<supported>[01])","(?P<error>[^"]*)","[^"]*"$')
HEADER = re.compile(r'"backend_name".*')
KERNEL = re.compile(r"ggml-webgpu: kernel (.+)")

GRIDS = re.compile(r"=(iq1|iq2_xxs|iq2_xs|iq2_s|iq3_xxs|iq3_s)")

ARGUMENT_LIMIT = 100_000  # Linux: 128 KiB for one argument
MESSAGE_LENGTH = 240
HANGS_PER_OP = 3          # then the op's other cases of that process fail without being run


class Case(NamedTuple):
    op: str
    params: str

    def __str__(self):
        return f"{self.op}({self.params})"


class Result(NamedTuple):
    status: str  # passed, failed, unsupported, or unchecked: supported, but the CPU backend has nothing to compare with
    seconds: float = 0.0
    message: str = ""
    checkable: bool = True  # by the CPU backend


class Suite(NamedTuple):
    listing: list  # all cases in the suite's order; some come more than once
    fusion: set    # those of several ops that a backend may fuse


def load_suite(binary):
    def cases(mode, **environment):
        inherited = {name: value for name, value in os.environ.items() if name != "GGML_BACKEND_PATH"}
        out = subprocess.run([binary, mode, "-b", "CPU", "--output", "csv"], env=inherited | environment,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
        return [Case(line["op"], line["params"]) for line in map(LINE.search, out.splitlines()) if line]

    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/support-nothing.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library],
                       input=SUPPORT_NOTHING, text=True, check=True)
        listing = cases("test", LD_PRELOAD=library)
    return Suite(listing, set(listing) - set(cases("support")))


def batches(cases, seconds_of, target):
    """Splits the cases into lists of at most about `target` seconds, each for one process, the longest first. Each list
    is in the suite's order.

    Cases with a dimension of millions take minutes and up to 11 GB each: they are one list, so never run at once.
    """
    huge = [case for case in cases if any(int(n) >= 2_000_000 for n in re.findall(r"\d+", case.params))]
    place = {case: index for index, case in enumerate(cases)}
    lists, seconds, length = [[]], 0.0, 0
    for case in sorted(set(cases) - set(huge), key=lambda case: (grids_of(case), place[case])):
        if seconds + seconds_of(case) > target or length + len(str(case)) + 1 > ARGUMENT_LIMIT:
            lists.append([])
            seconds, length = 0.0, 0
        lists[-1].append(case)
        seconds += seconds_of(case)
        length += len(str(case)) + 1
    lists.sort(key=lambda some: -sum(map(seconds_of, some)))
    return [sorted(some, key=place.get) for some in [huge, *lists] if some]


def grids_of(case):
    """The types in a case for which ggml makes grids before it quantises the first value, up to ten seconds a type and process."""
    return sorted(set(GRIDS.findall(case.params)))


class Device:
    """One device of one plugin, on which the suite's cases run."""

    def __init__(self, binary, name, environment, timeout):
        self.command = ["stdbuf", "-oL", binary, "test", "-b", name]  # by lines: a crash leaves none in a buffer
        self.environment = os.environ | environment
        self.name, self.timeout = name, timeout
        self.kernels = []  # the names that every process listed at its end
        self.stopping = threading.Event()
        self.running = set()  # processes
        self.lock = threading.Lock()

    def describe(self):
        """Its description, after it was initialised once without a case; if that fails, None, and its output shown."""
        probe = subprocess.run(self.command + ["-o", "NONE"], env=self.environment, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace")
        found = re.search(rf": {re.escape(self.name)}\n +Device description: (.*)", probe.stdout)
        if probe.returncode or not found:
            print(probe.stdout)
            return None
        return found[1]

    def stop(self):
        """Ends what runs. Cases that have not ended have no result."""
        with self.lock:
            self.stopping.set()
            for process in self.running:
                process.kill()

    def run(self, cases):
        """Yields (case, result) for every case, in as many processes as that takes."""
        hangs = collections.Counter()
        while cases and not self.stopping.is_set():
            results, ending = self.run_process(cases)
            yield from results.items()
            cases = [case for case in cases if case not in results]
            if not cases or self.stopping.is_set():
                return
            blamed = cases.pop(0)
            yield blamed, Result("failed", self.timeout if ending.startswith("hang") else 0, ending)
            hangs[blamed.op] += ending.startswith("hang")
            if hangs[blamed.op] == HANGS_PER_OP:
                skipped = [case for case in cases if case.op == blamed.op]
                yield from ((case, Result("failed", 0, f"not run: {HANGS_PER_OP} others hung")) for case in skipped)
                cases = [case for case in cases if case.op != blamed.op]

    def run_process(self, cases):
        """Runs the cases in one process. Returns the results of those that ended and, in words, what ended the next."""
        with self.lock:
            if self.stopping.is_set():
                return {}, ""
            process = subprocess.Popen(self.command + ["--output", "csv", "-o", ",".join(map(str, cases))],
                                       env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True, errors="replace")
            self.running.add(process)
        place = {case: index for index, case in enumerate(cases)}
        results, said = {}, collections.deque(maxlen=3)
        with process, Watchdog(process, self.timeout) as watchdog:
            for text in process.stdout:
                line = LINE.search(text.rstrip())
                case = line and Case(line["op"], line["params"])
                if kernel := KERNEL.match(text):
                    self.kernels.append(kernel[1])
                    continue
                said.append((text[:line.start()] if line else HEADER.sub("", text)).strip())
                if case not in place:
                    continue
                for missing in cases[len(results):place[case]]:
                    results[missing] = Result("failed", 0, "no result: " + join(said))
                result = read_result(line, watchdog.restart(), join(said), self.name)
                if case not in results or result.status == "failed":  # of copies, the worst counts
                    results[case] = result
                said.clear()

        with self.lock:
            self.running.remove(process)
            if self.stopping.is_set():
                return results, ""
        ending = watchdog.ending or ending_of(process.returncode)
        if not ending:
            for missing in cases[len(results):]:
                results[missing] = Result("failed", 0, "no result: " + join(said))
        elif len(results) == len(cases):
            results[cases[-1]] = Result("failed", 0, f"after the last case: {ending}: {join(said)}")
        return results, f"{ending}: {join(said)}"


class Watchdog:
    """Kills a process that was silent for so many seconds."""

    def __init__(self, process, seconds):
        self.process, self.seconds, self.ending = process, seconds, ""

    def __enter__(self):
        self.start = time.monotonic()
        self.timer = threading.Timer(self.seconds, self.kill)
        self.timer.start()
        return self

    def __exit__(self, *error):
        self.timer.cancel()

    def restart(self):
        """Returns the seconds since the last start."""
        before = self.start
        self.timer.cancel()
        self.__enter__()
        return self.start - before

    def kill(self):
        self.ending = f"hang: no result in {self.seconds:g} s"
        self.process.kill()


def ending_of(status):
    """In words, how a process ended; "" for the program's two ordinary endings: all passed, some failed."""
    if status in (0, 1):
        return ""
    return f"crash: {signal.Signals(-status).name}" if status < 0 else f"crash: status {status}"


def join(said):
    return " / ".join(filter(None, said))[-MESSAGE_LENGTH:]


def read_result(line, seconds, said, device):
    backends = set(line["backends"].split(", "))  # that do not support it
    if line["supported"] == "0":
        status = "unchecked" if backends == {"CPU"} != {device} else "unsupported"
        return Result(status, seconds, checkable="CPU" not in backends)
    if line["error"]:
        return Result("failed", seconds, f"{line['error']}: {said}")
    return Result("passed", seconds)
