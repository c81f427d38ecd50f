"""What is made of something else is as it would be made now."""

import re
import sys

import pytest
from conftest import ROOT

sys.path[:0] = [str(ROOT / "docs/tools"), str(ROOT / "bindings/python")]

import charts  # noqa: E402
import errors  # noqa: E402
import holdfast  # noqa: E402


def test_the_errors_are_those_of_the_header():
    assert errors.PAGE.read_text() == errors.page(), "python docs/tools/errors.py"


@pytest.mark.parametrize(
    "status",
    [it for it in errors.statuses(errors.HEADER.read_text()) if it[2]],
    ids=lambda it: it[1],
)
def test_an_error_has_the_name_that_is_told_in_python_and_swift(status):
    _, name, number, _ = status
    assert getattr(holdfast, errors.python_name(name)).status == number
    swift = (ROOT / "Sources/Holdfast/Status.swift").read_text()
    assert re.search(rf"case `?{errors.swift_name(name)[1:]}\b", swift)


def test_the_chart_and_the_table_show_what_was_measured():
    measured = charts.json.loads((charts.DOCS / "performance.json").read_text())
    assert charts.CHART.read_text() == charts.chart(measured["lines"])
    text = charts.PAGE.read_text()
    assert text == charts.page(text, measured), "python docs/tools/charts.py"
