#!/usr/bin/env python3
"""Promises of the conformance runner, tried on a make-believe test-backend-ops whose cases say what becomes of them."""
import contextlib
import io
import pathlib
import sys
import tempfile
import textwrap
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import report  # noqa: E402
import run as runner  # noqa: E402
import suite as stock  # noqa: E402
from suite import Case  # noqa: E402

# Lists, selects and prints like the real program; its libggml knows nothing of LD_PRELOAD, so it looks itself.
PROGRAM = r"""
    #!/usr/bin/env python3
    import os, re, sys, time
    CASES = ["GOOD(n=1)", "GOOD(n=2)", "GOOD(n=1)", "MIXED(pass)", "MIXED(crash)", "MIXED(wrong)", "MIXED(hang)",
             "MIXED(silent)", "MIXED(unsupported)", "MIXED(unchecked)", "MIXED(crash,again)", "MIXED(last)",
             "FUSED(n=1)"]
    mode, options = sys.argv[1], dict(zip(sys.argv[2::2], sys.argv[3::2]))
    wanted = re.findall(r"[A-Z]+\([^)]*\)", options["-o"]) if "-o" in options else CASES
    if "--output" not in options:
        print(f"Backend 1/1: WebGPU0\n  Device description: Make-believe GPU")
    for case in CASES:
        if case not in wanted or (mode == "support" and "FUSED" in case):
            continue
        op, params = case[:-1].split("(")
        backends, supported, error = options["-b"], 1, ""
        if "LD_PRELOAD" in os.environ and "support-nothing" in os.environ["LD_PRELOAD"]:
            supported = 0
        elif mode == "test":
            if "crash" in params:
                print("ggml.c:1: broken", file=sys.stderr, flush=True)
                os.abort()
            if params == "hang":
                time.sleep(60)
            if params == "silent":
                print("failed to allocate tensors [WebGPU0] ", end="")
                continue
            if params == "wrong":
                error = "test failed"
                print("[MIXED] ERR = 1.0 > 0.1 ", end="")
            if params in ("unsupported", "unchecked"):
                backends, supported = {"unsupported": "WebGPU0, CPU", "unchecked": "CPU, CPU"}[params], 0
        print(f'"{backends}","{op}","{params}","{mode}","{supported}","{error}",""', flush=True)
    print("ggml-webgpu: kernel norm/rows RMS=1 src:f32@0\nggml-webgpu: kernel copy/copy", file=sys.stderr)
"""


class ConformanceRunner(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.binary = cls.folder / "test-backend-ops"
        cls.binary.write_text(textwrap.dedent(PROGRAM).lstrip())
        cls.binary.chmod(0o755)
        cls.suite = stock.load_suite(str(cls.binary))
        cls.device = stock.Device(str(cls.binary), "WebGPU0", {}, timeout=1)
        cls.cases = list(dict.fromkeys(cls.suite.listing))
        cls.results = dict(cls.device.run(cls.cases))

    def test_lists_all_cases_and_knows_fusion(self):
        self.assertEqual(len(self.suite.listing), 13)
        self.assertEqual(self.suite.fusion, {Case("FUSED", "n=1")})

    def test_every_case_has_its_result_whatever_the_process_does(self):
        for params, status, message in (
                ("pass", "passed", ""),
                ("crash", "failed", "crash: SIGABRT: ggml.c:1: broken"),
                ("wrong", "failed", "test failed: [MIXED] ERR = 1.0 > 0.1"),
                ("hang", "failed", "hang: no result in 1 s: "),
                ("silent", "failed", "no result: failed to allocate tensors [WebGPU0]"),
                ("unsupported", "unsupported", ""),
                ("unchecked", "unchecked", ""),
                ("crash,again", "failed", "crash: SIGABRT: ggml.c:1: broken"),
                ("last", "passed", "")):
            with self.subTest(params):
                result = self.results[Case("MIXED", params)]
                self.assertEqual((result.status, result.message), (status, message))
        self.assertEqual(set(self.results), set(self.cases))

    def test_counts_copies_of_a_case(self):
        counts = report.tally(self.suite, self.results)
        self.assertEqual(counts["GOOD"]["passed"], 3)
        self.assertEqual(report.total(counts)["cases"], 13)

    def test_counts_kernels(self):
        self.assertEqual(self.device.kernels, ["norm/rows RMS=1 src:f32@0", "copy/copy"])  # only the last process came to its end

    def test_describes_the_device(self):
        self.assertEqual(self.device.describe(), "Make-believe GPU")

    def test_batches_hold_every_case_once(self):
        big = [Case("BIG", "n=8400000,k=1"), Case("BIG", "n=8400000,k=2")]
        lists = stock.batches(self.cases + big, lambda case: 1.0, 4)
        self.assertEqual(sorted(sum(lists, [])), sorted(self.cases + big))
        self.assertEqual([len(some) for some in lists], [2, 4, 4, 4])
        self.assertEqual(lists[0], big)  # never two at once

    def test_batches_bring_cases_with_the_same_grids_together(self):
        cases = [Case(op, f"type={kind}") for op in ("GET", "SET") for kind in ("iq1_s", "q4_0", "iq2_s")]
        lists = stock.batches(cases, lambda case: 1.0, 2)
        self.assertIn([cases[0], cases[3]], lists)
        self.assertIn([cases[2], cases[5]], lists)

    def test_stopped_runs_leave_cases_without_a_result(self):
        device = stock.Device(str(self.binary), "WebGPU0", {}, timeout=30)
        timer = threading.Timer(0.5, device.stop)
        timer.start()
        results = dict(device.run([Case("MIXED", "pass"), Case("MIXED", "hang"), Case("MIXED", "last")]))
        self.assertEqual({case.params: result.status for case, result in results.items()}, {"pass": "passed"})

    def test_baseline_reports_what_was_lost(self):
        path = self.folder / "supported.txt"
        report.update_baseline(path, self.suite, self.results)
        self.assertIn("MIXED 8/9", path.read_text())
        self.assertIn(" +5 -1 +3\n", path.read_text())
        self.assertEqual(report.lost_cases(path, self.suite, self.results), [])
        worse = {Case("GOOD", "n=1"): stock.Result("unsupported"), Case("MIXED", "hang"): stock.Result("unsupported")}
        self.assertEqual(report.lost_cases(path, self.suite, worse), ["GOOD(n=1)", "MIXED(hang)"])
        report.update_baseline(path, self.suite, worse)  # neither op was run in full
        self.assertIn("GOOD 3/3", path.read_text())

    def test_results_survive_a_file(self):
        path = self.folder / "build/results.tsv"
        report.write_results(path, self.results)
        statuses = {case: result.status for case, result in self.results.items()}
        self.assertEqual({case: result.status for case, result in report.read_results(path).items()}, statuses)

    def test_docs_keep_fusion_and_unchecked_cases_apart(self):
        text = "\n".join(report.docs(self.suite, self.results, "0.0", "a GPU"))
        self.assertIn("The suite has 13 cases and compares with the CPU backend, which can check 11", text)
        self.assertIn("| **all** | 11 / 12 | 5 / 10 | 1 |", text)
        self.assertIn("| `FUSED` | 1 / 1 | 1 / 1 |  |", text)

    def test_command_line(self):
        for options, last_line, status in (
                (["--ops", "GOOD,FUSED"], "4 passed, 0 failed", 0),
                (["--ops", "MIXED", "--sample", "1/9"], "1 passed, 0 failed", 0),
                (["--match", "wrong|pass"], "1 passed, 1 failed", 1),
                (["--rerun-failed"], "0 passed, 1 failed", 1)):
            with self.subTest(options):
                lines, actual = self.command(*options)
                self.assertEqual((lines[-1], actual), (last_line, status))

    def test_stopped_command_counts_what_its_processes_had_printed(self):
        lines, status = self.command("--match", "n=1|pass|hang|last", "--jobs", "2", "--seconds", "2")
        self.assertIn("stopped: 1 of 5 cases were not run", lines)
        self.assertEqual((lines[-1], status), ("5 passed, 0 failed", 130))  # GOOD(n=1) is listed twice
        kept = report.read_results(self.folder / "build/conformance/results-make-believe.tsv")
        self.assertEqual(kept[Case("MIXED", "pass")].status, "passed")  # printed by the process that was ended

    def command(self, *options):
        out = io.StringIO()
        root, runner.ROOT = runner.ROOT, self.folder
        argv, sys.argv = sys.argv, ["run.py", "--binary", str(self.binary), "--tag", "make-believe", *options]
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                status = runner.main()
        finally:
            runner.ROOT, sys.argv = root, argv
        return out.getvalue().splitlines(), status


if __name__ == "__main__":
    unittest.main()
