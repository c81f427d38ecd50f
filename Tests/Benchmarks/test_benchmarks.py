"""The benchmark measures all its lines, and believes no program that does not sync."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree
from itertools import islice
from pathlib import Path

import pytest

import baseline
import charts
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


def result_of(ratio, best, name="scan", reached="must"):
    return {
        "name": name,
        "title": "scan <all>",
        "baseline_name": "SQLite",
        "ratio": ratio,
        "ratio_spread": [ratio / 2, best],
        "must": 1.0,
        "stretch": 2.0,
        "reached": reached,
    }


@pytest.mark.parametrize(("best", "told"), [(1.99, 1), (2.0, 0), (2.1, 0)])
def test_a_line_has_fallen_when_the_best_of_its_rounds_is_below_the_last_release(
    best, told, tmp_path
):
    path = tmp_path / "baseline.json"
    baseline.write([result_of(2.0, 2.2)], path)
    assert baseline.fallen([result_of(2.0, 2.2)], path) == []
    assert len(baseline.fallen([result_of(1.5, best)], path)) == told
    assert baseline.fallen([result_of(1.0, 1.0, "another")], path) == []


def test_the_noted_ratios_are_of_lines_that_there_are():
    noted = json.loads((ROOT / "Tests/Benchmarks/baseline.json").read_text())
    known = {f"{line.name}, to {b.name}" for line in LINES for b in line.baselines}
    assert noted and set(noted) <= known


def test_each_ratio_has_a_bar_in_its_groups_chart_as_long_as_it_is_great(tmp_path):
    rows = [result_of(1.5, 2), result_of(3.0, 3.5), result_of(2, 2, "python-x", None)]
    paths = charts.write(rows, tmp_path / "charts")
    assert [path.name for path in paths] == ["python.svg", "queries.svg"]
    drawn = xml.etree.ElementTree.parse(paths[1])
    space = "{http://www.w3.org/2000/svg}"
    widths = [float(bar.get("width")) for bar in drawn.iter(space + "rect")][1:]
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.01)
    assert any(
        text.text == "scan <all>, to SQLite" for text in drawn.iter(space + "text")
    )


def test_each_line_that_has_to_reach_a_ratio_is_in_a_chart():
    for line in LINES:
        if any(each.must for each in line.baselines) and line.name != "object-trees":
            assert charts.group_of(line.name), line.name
