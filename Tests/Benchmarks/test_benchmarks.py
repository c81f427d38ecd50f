"""The benchmark measures all its lines, and believes no program that does not sync."""

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from line import Baseline, Line
from lines import LINES
from programs import in_c
from report import results
from runner import Failure, Runner, Series
from swift_lines import SWIFT_LINES

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / ".build/benchmarks"
LIBRARY = os.environ["HOLDFAST_LIBRARY"]
LIMIT = 1500
# To build GRDB takes longer than all these tests; `make bench` does.
SHORT_LINES = [line for line in LINES if line not in SWIFT_LINES]


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    path = tmp_path_factory.mktemp("benchmarks") / "documents.ndjson"
    with open(BUILD / "documents.ndjson") as all_documents:
        path.write_text("".join(islice(all_documents, LIMIT)))
    return path


def test_every_line_but_those_against_grdb_is_measured_against_each_of_its_baselines(
    documents, tmp_path
):
    output = tmp_path / "bench.json"
    subprocess.run(
        [
            sys.executable,
            ROOT / "Tests/Benchmarks/bench.py",
            BUILD,
            documents,
            LIBRARY,
            output,
        ]
        + ["--rounds", "1", "--limit", str(LIMIT), "--lines"]
        + [line.name for line in SHORT_LINES],
        check=True,
    )
    found = json.loads(output.read_text())
    expected = [
        (line.name, name)
        for line in SHORT_LINES
        for name in [b.name for b in line.baselines] or [None]
    ]
    assert [(result["name"], result["baseline_name"]) for result in found] == expected
    for result in found:
        assert result["value"] > 0
        assert (
            result["baseline_name"] is None
            or result["ratio"] == result["value"] / result["baseline"] > 0
        )


def test_a_program_that_acknowledges_before_it_syncs_is_refused(documents):
    runner = Runner(
        {"build": str(BUILD), "documents": str(documents)}, BUILD / "data", LIMIT
    )
    synced = in_c("holdfast", "commits", LIMIT, in_flight=1)
    assert runner.syncs(synced) >= 1
    relaxed = in_c("holdfast", "increments", LIMIT, in_flight=1)
    with pytest.raises(Failure, match="were acknowledged after only"):
        runner.syncs(relaxed)


def test_a_program_that_fails_has_no_result(documents):
    runner = Runner(
        {"build": str(BUILD), "documents": str(documents)}, BUILD / "data", None
    )
    with pytest.raises(Failure, match="not a number of operations on these documents"):
        runner.run(in_c("sqlite", "commits", LIMIT + 1))


@pytest.mark.parametrize(
    ("speed", "reached"), [(1.9, "no"), (2.0, "must"), (2.9, "must"), (3.0, "stretch")]
)
def test_a_ratio_is_judged_by_the_medians(speed, reached):
    run = in_c("holdfast", "commits", 1)
    line = Line("name", "title", "commits/s", run, (Baseline("SQLite", run, 2.0, 3.0),))
    own, other = Series([speed * 10, speed * 10, 1]), Series([10, 9, 11])
    (result,) = results(line, [own, other])
    assert result["reached"] == reached


@pytest.mark.parametrize(
    ("time", "reached"), [(10.1, "no"), (10, "must"), (3.1, "must"), (3, "stretch")]
)
def test_of_a_time_less_is_better(time, reached):
    run = in_c("holdfast", "commits", 1)
    line = Line(
        "name", "title", "ms", run, (Baseline("SQLite", run),), must=10, stretch=3
    )
    (result,) = results(line, [Series([time]), Series([1])])
    assert result["reached"] == reached
