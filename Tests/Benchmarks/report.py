"""What the benchmark tells: a list of results for programs, a table for people."""

from typing import Any, Optional

from line import Baseline, Line
from runner import Series

Result = dict[str, Any]

COLUMNS = (
    "",
    "value",
    "spread",
    "syncs",
    "baseline",
    "value",
    "syncs",
    "ratio",
    "spread",
    "must",
    "stretch",
    "reached",
)
# The others hold numbers, which are aligned to the right.
TEXT_COLUMNS = ("", "baseline", "reached")


def results(line: Line, series: list[Series]) -> list[Result]:
    """A result for each baseline of a line, or one for a line without."""
    own, *others = series
    if not others:
        return [_result(line, own, None, None)]
    return [_result(line, own, *pair) for pair in zip(line.baselines, others)]


def _result(
    line: Line, own: Series, baseline: Optional[Baseline], other: Optional[Series]
) -> Result:
    result = {
        "name": line.name,
        "title": line.title,
        "value": own.median,
        "spread": own.spread,
        "unit": line.unit,
        "rounds": len(own.values),
        "repeated": own.repeated,
        "syncs_per_operation": own.syncs,
        "baseline": None,
        "baseline_name": None,
        "ratio": None,
    }
    bounds = (line.must, line.stretch)
    if baseline is not None and other is not None:
        ratios = [
            _ratio(line, mine, theirs) for mine, theirs in zip(own.values, other.values)
        ]
        result |= {
            "baseline": other.median,
            "baseline_name": baseline.name,
            "baseline_spread": other.spread,
            "baseline_syncs_per_operation": other.syncs,
            "ratio": _ratio(line, own.median, other.median),
            "ratio_spread": [min(ratios), max(ratios)],
        }
        if line.must is None:
            bounds = (baseline.must, baseline.stretch)
    must, stretch = bounds
    return {
        **result,
        "must": must,
        "stretch": stretch,
        "reached": _reached(line, result, must, stretch),
    }


def _ratio(line: Line, own: float, other: float) -> float:
    """How many times as fast, or as small: more is better, of times and sizes, too."""
    return own / other if line.unit.endswith("/s") else other / own


def _reached(
    line: Line, result: Result, must: Optional[float], stretch: Optional[float]
) -> Optional[str]:
    """ "no", "must" or "stretch"; None where nothing has to be reached."""
    if must is None:
        return None
    # For a time or a size less is better, for a ratio of speeds more.
    sign, value = (1, result["ratio"]) if line.must is None else (-1, result["value"])
    if sign * value < sign * must:
        return "no"
    return "must" if stretch is None or sign * value < sign * stretch else "stretch"


def table(all_results: list[Result]) -> str:
    """The results as aligned text."""
    rows = [COLUMNS, *map(_row, all_results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    aligned = [
        "  ".join(
            cell.ljust(width) if name in TEXT_COLUMNS else cell.rjust(width)
            for name, cell, width in zip(COLUMNS, row, widths)
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in aligned)


def _row(result: Result) -> tuple[str, ...]:
    bound = "" if result["ratio"] and result["unit"] != "ms" else f" {result['unit']}"
    return (
        result["title"],
        f"{_number(result['value'])} {result['unit']}",
        _range(result["spread"]),
        _number(result["syncs_per_operation"]),
        result["baseline_name"] or "",
        _number(result["baseline"]),
        _number(result.get("baseline_syncs_per_operation")),
        _number(result["ratio"]),
        _range(result.get("ratio_spread")),
        _number(result["must"]) + bound if result["must"] else "",
        _number(result["stretch"]) + bound if result["stretch"] else "",
        result["reached"] or "",
    )


def _number(value: Optional[float]) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _range(pair: Optional[list[float]]) -> str:
    return "" if pair is None else f"{_number(pair[0])}..{_number(pair[1])}"
