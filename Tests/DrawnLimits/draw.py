"""Draws the library's limits from a seed, for programs that take them from HOLDFAST_LIMITS:

    draw.py SEED [--shortest NANOSECONDS] [--except NAME,NAME] [--python]

Some as they are shipped, some at 1, some in between, the smaller the likelier; every fourth seed all as they are
shipped. It reads them where they stand (Limits.swift); as DrawnLimits.swift does, it leaves those as they are beyond
which calls are refused, and makes no span of time shorter than is said, which real threads would otherwise spend
looking all the time, and lets nothing be read byte by byte. --python: those of the Python package (_limits.py) too.
"""

import argparse
import random
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMITS = (ROOT / "Sources/HoldfastEnvironment/Limits.swift").read_text()
SPANS = (ROOT / "Tests/DrawnLimits/DrawnLimits.swift").read_text()
PACKAGE = (ROOT / "bindings/python/holdfast/_limits.py").read_text()
#: Of the package: what is read byte by byte at 1, and beyond which a call is answered otherwise.
READ_IN_PACKAGE = {"python.tail_bytes"}
LEFT_IN_PACKAGE = {"python.kept_refusals"}


def named_after(text: str, beginning: str) -> set[str]:
    """The names of the set that begins there."""
    return set(re.findall(r"\\\.(\w+)", text[text.index(beginning) :].split("]")[0]))


def usual() -> dict[str, int]:
    found = re.findall(r"public var (\w+) = ([0-9_]+)(?: << ([0-9]+))?\n", LIMITS)
    return {name: int(number) << int(shift or 0) for name, number, shift in found}


def usual_in_package() -> dict[str, int]:
    found = re.findall(r"\n    (\w+): int = ([0-9_]+)(?: << ([0-9]+))?\n", PACKAGE)
    return {
        f"python.{name}": int(number) << int(shift or 0)
        for name, number, shift in found
    }


def drawn(
    seed: int, shortest: int, left: set[str], with_package: bool
) -> dict[str, int]:
    chance = random.Random(seed)
    if chance.randrange(4) == 0:
        return {}
    spans = named_after(SPANS, "spans: Set")
    reads = named_after(SPANS, "reads: Set") | READ_IN_PACKAGE
    shortest_read = int(re.search(r"shortestRead = (\d+)", SPANS)[1])
    limits = {}
    for name, most in (usual() | (usual_in_package() if with_package else {})).items():
        kind = chance.randrange(6)
        few, magnitude = chance.randint(1, 5), chance.randrange(most.bit_length())
        value = (
            most
            if kind < 3
            else 1
            if kind == 3
            else few
            if kind == 4
            else chance.randint(1, 1 << magnitude)
        )
        if name in reads:
            value = max(value, min(shortest_read, most))
        if name in spans:
            value = max(value, min(shortest, most))
        if name not in left and value < most:
            limits[name] = value
    return limits


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("--shortest", type=int, default=1_000_000)
    parser.add_argument("--except", dest="left", default="")
    parser.add_argument("--python", action="store_true")
    options = parser.parse_args()
    left = (
        named_after(LIMITS, "refusing: Set")
        | LEFT_IN_PACKAGE
        | set(options.left.split(","))
    )
    print(
        ",".join(
            f"{name}={value}"
            for name, value in drawn(
                options.seed, options.shortest, left, options.python
            ).items()
        )
    )
