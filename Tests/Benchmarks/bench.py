"""The benchmark. `make bench` runs it; what the lines are stands in lines.py.

    bench.py BUILD DOCUMENTS LIBRARY OUTPUT [--lines NAME ...] [--rounds N] [--limit N] [--release]

BUILD is the directory of the programs, and takes the stores while they are measured. The results go to OUTPUT as
JSON, are drawn as charts into the folder "charts" beside it, and are printed as a table, with the lines that have
fallen since the last release; --release notes them as those of the next one.
"""

import argparse
import fnmatch
import json
import os
import sys
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

    names = [line.name for line in LINES]
    patterns = arguments.lines or ["*"]
    chosen = {name for pattern in patterns for name in fnmatch.filter(names, pattern)}
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            parser.error(f"no such line: {pattern}; there are: {', '.join(names)}")
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
    try:
        for line in LINES:
            if line.name in chosen:
                series = runner.measure(line, arguments.rounds)
                found += [{**result, "load": load} for result in results(line, series)]
                print(f"{line.name} measured", flush=True)
    finally:
        runner.clean()
    arguments.output.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))
    for path in charts.write(found, arguments.output.parent / "charts"):
        print(f"drawn: {path}")
    for sentence in baseline.fallen(found, BASELINE):
        print(f"FALLEN: {sentence}")
    if arguments.release:
        baseline.write(found, BASELINE)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
