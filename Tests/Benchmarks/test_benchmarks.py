"""The benchmark measures all its lines, and believes no program that does not sync."""

import ctypes
import json
import os
import subprocess
import sys
import xml.etree.ElementTree
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

import baseline
import charts
from line import Baseline, Line
from lines import LINES
from programs import in_c
from open_load_lines import OPEN_LOAD_LINES
from report import results, table
from runner import Failure, Runner, Series
from store_lines import ROOM_LINES
from swift_lines import SWIFT_LINES
from ycsb_lines import YCSB_LINES

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / ".build/benchmarks"
LIBRARY = os.environ["HOLDFAST_LIBRARY"]
LIMIT = 1500
# To build GRDB takes longer than all these tests; `make bench` does.
SHORT_LINES = [line for line in LINES if line not in SWIFT_LINES]


ZIPFIAN_PARTS = ("zipfian", "documents", "measure")


class Zipfian(ctypes.Structure):
    """As zipfian.h has it."""

    _fields_ = [("count", ctypes.c_size_t)] + [
        (name, ctypes.c_double) for name in ("zeta", "alpha", "eta", "second")
    ]


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
            or result["ratio"]
            == (
                result["value"] / result["baseline"]
                if result["unit"].endswith("/s")
                else result["baseline"] / result["value"]
            )
            > 0
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


def test_a_line_whose_program_fails_is_told_and_the_others_are_measured(
    documents, tmp_path
):
    for engine in ("holdfast", "sqlite"):
        (tmp_path / engine).symlink_to(BUILD / engine)
    output = tmp_path / "bench.json"
    done = subprocess.run(
        [sys.executable, ROOT / "Tests/Benchmarks/bench.py", tmp_path, documents]
        + [LIBRARY, output, "--rounds", "1", "--limit", str(LIMIT)]
        + ["--lines", "cached-point-reads", "scan"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "FAILED: cached-point-reads: " in done.stderr and "/lmdb" in done.stderr
    assert "MISSING: cached-point-reads, to LMDB" in done.stdout
    assert [result["name"] for result in json.loads(output.read_text())] == ["scan"]


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


@pytest.mark.parametrize(("unit", "ratio"), [("commits/s", 0.5), ("ms", 2.0)])
def test_more_is_better_of_every_ratio(unit, ratio):
    run = in_c("holdfast", "commits", 1)
    line = Line("name", "title", unit, run, (Baseline("SQLite", run, 0.6),))
    (result,) = results(line, [Series([1.0]), Series([2.0])])
    assert result["ratio"] == ratio
    assert result["reached"] == ("no" if ratio < 0.6 else "must")
    assert "no" in table([result]).splitlines()[1].split() or ratio > 0.6


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
    assert baseline.compared([result_of(2.0, 2.2)], path, {"scan"}) == []
    sentences = baseline.compared([result_of(1.5, best)], path, {"scan"})
    fell = f"FALLEN: scan, to SQLite: 2 before, now 1.5 (0.75 to {best:.3g})"
    assert sentences == [fell][:told]


def test_a_line_that_is_new_or_has_no_result_is_told_and_one_that_nobody_chose_is_not(
    tmp_path,
):
    path = tmp_path / "baseline.json"
    baseline.write([result_of(2.0, 2.2), result_of(3.0, 3.0, "index-query")], path)
    measured = [result_of(2.0, 2.2), result_of(1.0, 1.0, "another")]
    new = "NEW: another, to SQLite: 1"
    assert baseline.compared(measured, path, {"scan", "another"}) == [new]
    chosen = {"scan", "index-query", "another"}
    missing = "MISSING: index-query, to SQLite: 3 before, now not measured"
    assert baseline.compared(measured, path, chosen) == [missing, new]
    # The next release's are noted, and of what was not measured the last one's stay.
    baseline.write(measured, path)
    assert baseline.compared(measured, path, chosen) == [missing]


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


def test_each_line_that_has_to_reach_a_ratio_or_stands_beside_other_engines_is_in_a_chart():
    for line in LINES:
        is_judged = any(each.must for each in line.baselines)
        is_beside_others = line in (*ROOM_LINES, *OPEN_LOAD_LINES, *YCSB_LINES)
        if is_judged and line.name != "object-trees" or is_beside_others:
            assert charts.group_of(line.name), line.name


@pytest.mark.parametrize("count", [2, 3, 1_000])
def test_ranks_are_met_as_often_as_zipf_s_law_has_it(count, tmp_path):
    library = tmp_path / "zipfian.so"
    parts = [ROOT / "Tests/Benchmarks" / f"{name}.c" for name in ZIPFIAN_PARTS]
    compiler = ["cc", "-std=c99", "-D_GNU_SOURCE", "-shared", "-fPIC", "-O1"]
    subprocess.run([*compiler, *parts, "-o", library, "-lm"], check=True)
    loaded = ctypes.CDLL(library)
    loaded.zipfian_of.restype = Zipfian
    loaded.zipfian_of.argtypes = [ctypes.c_size_t]
    loaded.zipfian_next.restype = ctypes.c_size_t
    ranks = loaded.zipfian_of(count)
    chance = ctypes.c_uint64(7)
    draws = 100_000
    met = Counter(
        loaded.zipfian_next(ctypes.byref(ranks), ctypes.byref(chance))
        for _ in range(draws)
    )
    assert set(met) <= set(range(count))
    weights = [1 / (rank + 1) ** 0.99 for rank in range(count)]
    for first, end in ((0, 1), (1, 2), (2, 10), (10, 100), (100, 1_000)):
        expected = sum(weights[first:end]) / sum(weights)
        found = sum(met[rank] for rank in range(first, end)) / draws
        # Gray's formula is exact for the first two ranks, and near the law for what follows.
        near = 0.02 if end <= 2 else 0.1
        assert found == pytest.approx(expected, rel=near, abs=0.003)
