"""What a run found, in four forms: a table, the last results, the baseline of what is supported, and docs/ops.md."""
import collections
import hashlib
import itertools

from suite import Case, Result

STATUSES = ("passed", "failed", "unsupported", "unchecked")

BASELINE_HEAD = """\
# What the backend supports of the suite. run.py fails when a case is lost; run.py --update writes this file.
# Op, supported of all cases, digest of the cases; then in the suite's order: +n cases supported, -n not.
"""

DOCS_HEAD = """\
# Ops

What the backend computes of ggml's own conformance suite: the stock `test-backend-ops` of ggml {ggml}, on
{device}. Written by `tests/conformance/run.py --write-docs`.

The suite has {cases:,} cases and compares with the CPU backend, which can check {checkable:,} of them. *Passed* are
those supported cases that it can check; the last column counts the supported ones that it cannot.
"""


def tally(suite, results):
    """By op, in the suite's order: how many cases in all and with each status."""
    counts = collections.defaultdict(collections.Counter)
    for case in suite.listing:
        if case in results:
            counts[case.op].update(["cases", results[case].status])
    return counts


def total(counts):
    return sum(counts.values(), collections.Counter())


def table(suite, results):
    counts, seconds = tally(suite, results), collections.Counter()
    for case, result in results.items():
        seconds[case.op] += result.seconds
    yield f"{'':30}{'cases':>8}" + "".join(f"{status:>13}" for status in STATUSES) + f"{'seconds':>10}"
    for op, count in (counts | {"total": total(counts)}).items():
        spent = seconds[op] if op in counts else seconds.total()
        yield f"{op:30}{count['cases']:8}" + "".join(f"{count[s] or '':>13}" for s in STATUSES) + f"{spent:10.1f}"


def read_results(path):
    results = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        status, seconds, op, params, message = line.split("\t")
        results[Case(op, params)] = Result(status, float(seconds), message)
    return results


def write_results(path, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(
        f"{result.status}\t{result.seconds:.3f}\t{case.op}\t{case.params}\t{' '.join(result.message.split())}\n"
        for case, result in results.items()))


def cases_by_op(suite):
    by_op = collections.defaultdict(list)
    for case in suite.listing:
        by_op[case.op].append(case)
    return by_op


def digest(cases):
    return hashlib.sha256("\n".join(map(str, cases)).encode()).hexdigest()[:8]


def baseline_line(op, cases, results):
    flags = [results[case].status != "unsupported" for case in cases]
    runs = (f"{'-+'[flag]}{len(list(run))}" for flag, run in itertools.groupby(flags))
    return f"{op} {sum(flags)}/{len(flags)} {digest(cases)} {' '.join(runs)}\n"


def read_baseline(path):
    """Lines by op."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return {line.split()[0]: line for line in lines if not line.startswith("#")}


def update_baseline(path, suite, results):
    """Rewrites the lines of the ops that were run in full."""
    lines = read_baseline(path)
    for op, cases in cases_by_op(suite).items():
        if all(case in results for case in cases):
            lines[op] = baseline_line(op, cases, results)
    path.write_text(BASELINE_HEAD + "".join(line for _, line in sorted(lines.items())))


def lost_cases(path, suite, results):
    """In words, what the baseline has as supported and this run has not."""
    by_op, lost = cases_by_op(suite), {}
    for op in sorted({case.op for case in results} & set(lines := read_baseline(path))):
        _, _, digest_before, *runs = lines[op].split()
        if digest(by_op[op]) != digest_before:
            lost[f"{op}: {path.name} is of a suite with other cases, --update it"] = True
            continue
        flags = "".join(run[0] * int(run[1:]) for run in runs)
        lost |= {str(case): True for case, flag in zip(by_op[op], flags)
                 if flag == "+" and case in results and results[case].status == "unsupported"}
    return list(lost)


def docs(suite, results, ggml, device):
    checkable = sum(results[case].checkable for case in suite.listing)
    yield DOCS_HEAD.format(ggml=ggml, device=device, cases=len(suite.listing), checkable=checkable)
    for title, fusion in (("Single ops", False), ("Sequences that a backend may fuse", True)):
        counts = tally(suite, {case: result for case, result in results.items() if (case in suite.fusion) == fusion})
        yield f"## {title}\n\n| op | supported / cases | passed / checked | not checkable |\n|---|---:|---:|---:|"
        yield docs_row("**all**", total(counts))
        yield from (docs_row(f"`{op}`", count) for op, count in sorted(counts.items()))
        yield ""


def docs_row(name, count):
    cases, passed, unchecked = count["cases"], count["passed"], count["unchecked"] or ""
    supported, checked = cases - count["unsupported"], passed + count["failed"]
    return f"| {name} | {supported:,} / {cases:,} | {passed:,} / {checked:,} | {unchecked} |"
