#!/usr/bin/env python3
"""Says what the failed cases of the last runs have in common: per op, the parameter values that fail most.

  triage.py [--status unsupported] [OP ...] [--results FILE]

A line `type_a=q4_0  12 of 12` says that all twelve cases with that value failed; values that fail no more often than
the op as a whole are left out.
"""
import argparse
import collections
import pathlib
import re
import sys

import report

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "build/conformance/results.tsv"


def values_of(params):
    """"a=1,b=[2,3]" -> ["a=1", "b=[2,3]"]"""
    return re.findall(r"[^,\[]+(?:\[[^\]]*\])?", params)


def triage(results, status):
    """By op: (cases with the status, all cases, [(value, with the status, all)]), the op with most of them first."""
    by_op = collections.defaultdict(list)
    for case, result in results.items():
        by_op[case.op].append((values_of(case.params), result.status == status))
    for op, cases in sorted(by_op.items(), key=lambda item: -sum(hit for _, hit in item[1])):
        total = collections.Counter(value for values, _ in cases for value in values)
        hits = collections.Counter(value for values, hit in cases if hit for value in values)
        share = sum(hit for _, hit in cases) / len(cases)
        notable = [(value, hits[value], total[value]) for value in hits if hits[value] / total[value] > share]
        yield op, sum(hit for _, hit in cases), len(cases), sorted(notable, key=lambda row: (-row[1] / row[2], -row[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="*", metavar="OP")
    parser.add_argument("--status", default="failed", choices=report.STATUSES)
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--values", type=int, default=8, help="shown for each op (default: %(default)s)")
    arguments = parser.parse_args()
    for op, hits, cases, notable in triage(report.read_results(arguments.results), arguments.status):
        if hits and (not arguments.ops or op in arguments.ops):
            print(f"{op}  {hits} of {cases} {arguments.status}")
            for value, count, total in notable[:arguments.values]:
                print(f"    {value:32} {count} of {total}")


if __name__ == "__main__":
    sys.exit(main())
