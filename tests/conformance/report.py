"""What a run found, in four forms: a table, the last results, the baseline of what is supported, and docs/ops.md."""
import collections
import hashlib
import itertools

from suite import Case, Result

STATUSES = ("passed", "failed", "unsupported", "unchecked")

BASELINE_HEAD = """\
# What the backend supports of the suite; `run.py` fails when a case is lost, `run.py --update` writes this file.
# Op, supported of all cases, digest of the cases, then in the suite's order: +n cases supported, -n not.
"""

DOCS_HEAD = """\
# Ops

What the backend computes of ggml's own conformance suite: the stock `test-backend-ops` of ggml {ggml}, on
{device}. Written by `tests/conformance/run.py --write-docs`.

*Supported* and *cases* count the suite's cases. The suite compares with the CPU backend, which can check only some of
them: *passed* of *checked* are those that are supported and can be compared. The last column names what is supported
without the CPU backend having an answer.
"""


def tally(suite, results, key):
    """Counter of statuses by key(case), with `cases` for all of them, in the suite's order."""
    counts = collections.defaultdict(collections.Counter)
    for case in suite.listing:
        if case in results:
            counts[key(case)].update(["cases", results[case].status])
    return counts


def total(counts):
    return sum(counts.values(), collections.Counter())


def table(suite, results):
    counts, seconds = tally(suite, results, lambda case: case.op), collections.Counter()
    for case, result in results.items():
        seconds[case.op] += result.seconds
    rows = [(op, count, seconds[op]) for op, count in counts.items()] + [("total", total(counts), seconds.total())]
    yield f"{'':30}{'cases':>8}" + "".join(f"{status:>13}" for status in STATUSES) + f"{'seconds':>10}"
    for name, count, spent in rows:
        yield f"{name:30}{count['cases']:8}" + "".join(f"{count[s] or '':>13}" for s in STATUSES) + f"{spent:10.1f}"


def read_results(path):
    if not path.exists():
        return {}
    results = {}
    for line in path.read_text().splitlines():
        status, seconds, op, params, message = line.split("\t")
        results[Case(op, params)] = Result(status, float(seconds), message)
    return results


def write_results(path, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(
        f"{result.status}\t{result.seconds:.3f}\t{case.op}\t{case.params}\t{' '.join(result.message.split())}\n"
        for case, result in results.items()))


def digest(cases):
    return hashlib.sha256("\n".join(map(str, cases)).encode()).hexdigest()[:8]


def cases_by_op(suite):
    by_op = collections.defaultdict(list)
    for case in suite.listing:
        by_op[case.op].append(case)
    return by_op


def is_supported(result):
    return result.status != "unsupported"


def baseline_line(op, cases, results):
    flags = [is_supported(results[case]) for case in cases]
    runs = (f"{'-+'[flag]}{len(list(run))}" for flag, run in itertools.groupby(flags))
    return f"{op} {sum(flags)}/{len(flags)} {digest(cases)} {' '.join(runs)}\n"


def read_baseline(path):
    """Lines by op."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return {line.split()[0]: line for line in lines if not line.startswith("#")}


def update_baseline(path, suite, results):
    """Rewrites the lines of the ops that were run in full."""
    old, new = read_baseline(path), []
    for op, cases in sorted(cases_by_op(suite).items()):
        if all(case in results for case in cases):
            new.append(baseline_line(op, cases, results))
        elif op in old:
            new.append(old[op])
    path.write_text(BASELINE_HEAD + "".join(new))


def lost_cases(path, suite, results):
    """In words, what the baseline has as supported and this run has not."""
    by_op = cases_by_op(suite)
    for op, line in read_baseline(path).items():
        _, supported, old_digest, *runs = line.split()
        cases = by_op[op]
        if digest(cases) != old_digest:  # another suite: only the numbers can be compared
            count = sum(is_supported(results[case]) for case in cases if case in results)
            if all(case in results for case in cases) and count < int(supported.split("/")[0]):
                yield f"{op}: {count}/{len(cases)} supported, before {supported} of a suite with other cases"
            continue
        flags = [run[0] == "+" for run in runs for _ in range(int(run[1:]))]
        lost = (case for case, flag in zip(cases, flags) if flag and case in results and not is_supported(results[case]))
        yield from map(str, dict.fromkeys(lost))


def docs(suite, results, ggml, device):
    checkable = sum(results[case].checkable for case in suite.listing)
    yield DOCS_HEAD.format(ggml=ggml, device=device)
    yield f"The CPU backend can check {checkable:,} of the suite's {len(suite.listing):,} cases.\n"
    for title, is_here in (("Single ops", lambda case: case not in suite.fusion),
                           ("Sequences that a backend may fuse", suite.fusion.__contains__)):
        here = {case: result for case, result in results.items() if is_here(case)}
        counts = tally(suite, here, lambda case: case.op)
        yield f"## {title}\n\n| op | supported / cases | passed / checked | supported, not checkable |\n|---|---:|---:|---:|"
        yield docs_row("**all**", total(counts))
        yield from (docs_row(f"`{op}`", counts[op]) for op in sorted(counts))
        yield ""


def docs_row(name, count):
    supported, checked = count["cases"] - count["unsupported"], count["passed"] + count["failed"]
    return f"| {name} | {supported:,} / {count['cases']:,} | {count['passed']:,} / {checked:,} | {count['unchecked'] or ''} |"
