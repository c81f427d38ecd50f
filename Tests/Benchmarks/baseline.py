"""The ratios of the last release, and what has become of them. Ratios alone: they hold on another machine, too."""

import json
from pathlib import Path
from typing import Any

Result = dict[str, Any]


def _key(result: Result) -> str:
    return f"{result['name']}, to {result['baseline_name']}"


def write(results: list[Result], path: Path) -> None:
    """Those that were not measured stay as they were."""
    ratios = json.loads(path.read_text()) if path.exists() else {}
    ratios |= {_key(r): round(r["ratio"], 3) for r in results if r["ratio"]}
    path.write_text(json.dumps(ratios, indent=1, sort_keys=True) + "\n")


def compared(results: list[Result], path: Path, chosen: set[str]) -> list[str]:
    """A sentence for each line that has fallen by more than its spread (the best of its rounds is below what it was), and
    for each that was chosen to be measured and has no result; and one for all those that were not noted before."""
    before = json.loads(path.read_text())
    now = {_key(r): r for r in results if r["ratio"]}
    fallen = [
        f"FALLEN: {key}: {before[key]:.3g} before, now {r['ratio']:.3g} "
        f"({r['ratio_spread'][0]:.3g} to {r['ratio_spread'][1]:.3g})"
        for key, r in now.items()
        if r["ratio_spread"][1] < before.get(key, 0)
    ]
    missing = [
        f"MISSING: {key}: {ratio:.3g} before, now not measured"
        for key, ratio in before.items()
        if key not in now and key.split(", to ")[0] in chosen
    ]
    new = [f"{key}: {r['ratio']:.3g}" for key, r in now.items() if key not in before]
    return fallen + missing + ["NEW: " + "; ".join(new)] * bool(new)
