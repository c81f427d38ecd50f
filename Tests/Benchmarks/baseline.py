"""The ratios of the last release, and which lines have fallen since. Ratios alone: they hold on another machine, too."""

import json
from pathlib import Path
from typing import Any

Result = dict[str, Any]


def _key(result: Result) -> str:
    return f"{result['name']}, to {result['baseline_name']}"


def write(results: list[Result], path: Path) -> None:
    ratios = {_key(r): round(r["ratio"], 3) for r in results if r["ratio"]}
    path.write_text(json.dumps(ratios, indent=1, sort_keys=True) + "\n")


def fallen(results: list[Result], path: Path) -> list[str]:
    """A sentence for each line that has fallen by more than its spread: the best of its rounds is below what it was."""
    ratios = json.loads(path.read_text())
    return [
        f"{_key(r)}: {ratios[_key(r)]:.3g} before, now {r['ratio']:.3g} "
        f"({r['ratio_spread'][0]:.3g} to {r['ratio_spread'][1]:.3g})"
        for r in results
        if r["ratio"] and r["ratio_spread"][1] < ratios.get(_key(r), 0)
    ]
