"""Nodes that the device computes together: ggml's test-fusion finds the same logits with and without, and counts them.

The counts of some architectures are kept beside this file, so a pattern that no longer matches is noticed.
"""
import difflib
import pathlib
import re
import tempfile

import stock
from programs import check, once, run

ARCHITECTURES = "^(llama|gemma3|qwen3|qwen3moe|qwen35|phi3|gpt-oss|deepseek2|falcon|mamba2|rwkv7)$"
KEPT_COUNTS = pathlib.Path(__file__).with_name("fusions.csv")  # as test-fusion records them
ROW = re.compile(r"(\S+) +(?:dense|moe) +(?:any|prefill|decode) +(\S+) +(\d+) +(\d+) +\d+ +(\S+) +\S+ (ok|FAIL)$", re.MULTILINE)


@once
def results(device):
    """What test-fusion prints, and the counts that it records."""
    with tempfile.TemporaryDirectory() as folder:
        counts = pathlib.Path(folder, "counts.csv")
        run(stock.program("test-llama-archs"), "--arch", ARCHITECTURES, "--out", folder)
        output = device.run(stock.program("test-fusion"), "--device", device.name, "--models", folder, "--record", counts,
                            OMP_WAIT_POLICY="passive")
        return ROW.findall(output.text + output.log), counts.read_text()


def check_logits(device):
    rows, _ = results(device)
    check(rows, "nothing is fused")
    changed = [f"{model} {pattern}" for model, pattern, _, _, _, verdict in rows if verdict != "ok"]
    check(not changed, f"with fusions these have other logits: {', '.join(changed)}")
    return f"{len({model for model, *_ in rows})} models, the largest error {max(float(error) for *_, error, _ in rows):.1e}"


def check_off(device):
    rows, _ = results(device)
    still = [f"{model} {pattern}" for model, pattern, _, unfused, _, _ in rows if unfused != "0"]
    check(not still, f"switched off, yet fused: {', '.join(still)}")


def check_counts(device):
    _, counts = results(device)
    kept = KEPT_COUNTS.read_text()
    changes = [line for line in difflib.ndiff(kept.splitlines(), counts.splitlines()) if line[0] in "+-"]
    check(not changes, f"they are not those of {KEPT_COUNTS.name}; if that is wanted, write so there:\n" + "\n".join(changes))


TESTS = [
    ("fusions leave the logits as they are", check_logits),
    ("fusions can be switched off",          check_off),
    ("patterns match as often as before",    check_counts),
]
