"""The benchmark. `make bench` runs it; what the lines are stands in lines.py.

    bench.py BUILD DOCUMENTS LIBRARY OUTPUT [--lines NAME ...] [--rounds N] [--limit N] [--release]

BUILD is the directory of the programs, and takes the stores while they are measured. The results go to OUTPUT as
JSON, are drawn as charts into the folder "charts" beside it, and are printed as a table, with the lines that have
fallen since the last release, are new or have no result; --release notes them as those of the next one. A line whose
programs fail is told, the others are measured all the same, and the exit status is 1.
"""

import argparse
import fnmatch
import json
import os
import sys
import time
from itertools import groupby
from pathlib import Path

import baseline
import charts
from lines import LINES
from report import results, table
from runner import Failure, Runner

SOURCES = Path(__file__).parent
BASELINE = SOURCES / "baseline.json"


def main() -> None:
    parser = argparse.ArgumentParser(description="The benchmark of Holdfast.")
    parser.add_argument("build", type=Path)
    parser.add_argument("documents", type=Path)
    parser.add_argument("library", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument(
        "--lines",
        nargs="*",
        default=[],
        metavar="NAME",
        help="only these lines; * stands for anything",
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="how often each program is run (5)"
    )
    parser.add_argument(
        "--limit", type=int, help="the most operations of a run, for a short test"
    )
    parser.add_argument(
        "--release", action="store_true", help="note the ratios as a release's"
    )
    arguments = parser.parse_args()

    known = [line.name for line in LINES]
    patterns = arguments.lines or ["*"]
    chosen = {name for pattern in patterns for name in fnmatch.filter(known, pattern)}
    for pattern in patterns:
        if not fnmatch.filter(known, pattern):
            parser.error(f"no such line: {pattern}; there are: {', '.join(known)}")
    words = {
        "build": str(arguments.build),
        "sources": str(SOURCES),
        "library": str(arguments.library),
        "python": sys.executable,
        "documents": str(arguments.documents),
    }
    os.environ["HOLDFAST_LIBRARY"] = str(arguments.library)
    os.environ["PYTHONPATH"] = str(SOURCES.parents[1] / "bindings/python")
    runner = Runner(words, arguments.build / "data", arguments.limit)
    load = os.getloadavg()[0]
    print(
        f"{runner.document_count} documents; load of the machine: {load:.1f}",
        flush=True,
    )
    found = []
    failures = 0
    try:
        wanted = (line for line in LINES if line.name in chosen)
        for _, group in groupby(wanted, lambda line: line.runs):
            lines = list(group)
            names = ", ".join(line.name for line in lines)
            began = time.monotonic()
            try:
                all_series = runner.measure(lines, arguments.rounds)
            except Failure as failure:
                failures += 1
                print(f"FAILED: {names}: {failure}", file=sys.stderr, flush=True)
                continue
            for line, series in zip(lines, all_series):
                found += [{**result, "load": load} for result in results(line, series)]
            print(f"{names} measured in {time.monotonic() - began:.0f} s", flush=True)
    finally:
        runner.clean()
    arguments.output.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))
    for path in charts.write(found, arguments.output.parent / "charts"):
        print(f"drawn: {path}")
    for sentence in baseline.compared(found, BASELINE, chosen):
        print(sentence)
    if arguments.release:
        baseline.write(found, BASELINE)
    if failures:
        sys.exit(f"FAILED: {failures}, see above")


if __name__ == "__main__":
    main()
