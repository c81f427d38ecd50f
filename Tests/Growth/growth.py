"""How the cost of each verb grows with what can grow, in instructions, which are the same on a busy machine.

    growth.py PROGRAM [--sample N] [--seed S] [--sizes N] [--output FILE] [VERB ...]

Each verb runs under callgrind with a size, with eight times it and so on, --sizes in all (2), or two where the library does not
allow more. The exponent is the slope of the line through the logarithms that fits best: 1 where twice the work costs twice as
much, 2 where it costs four times as much. One above its bound fails. --output gets all of it as JSON.
"""

import argparse
import json
import math
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FACTOR = 8
# What the library's other threads do meanwhile falls into the measured time or not, and may be more than the verb itself. What
# grows is steep each time.
ATTEMPTS = 4


def exponent_of(sizes: list[int], costs: list[int]) -> float:
    logarithms = (
        [math.log(number) for number in numbers] for numbers in (sizes, costs)
    )
    return statistics.linear_regression(*logarithms).slope


def instructions(program: str, verb: str, size: int, engine: str) -> int:
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "callgrind.out"
        run = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                "--instr-atstart=no",
                "--fair-sched=yes",
                f"--callgrind-out-file={out}",
                "-q",
            ]
            + [program, verb, str(size), engine],
            capture_output=True,
            text=True,
            timeout=1800,
        )
        if run.returncode != 0:
            sys.exit(
                f"{verb} with {size} on {engine} ended with {run.returncode}: {run.stderr[-2000:]}"
            )
        return sum(
            int(total) for total in re.findall(r"^totals: (\d+)", out.read_text(), re.M)
        )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("verbs", nargs="*")
    parser.add_argument("--sample", type=int, help="so many verbs, chosen by the seed")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--sizes", type=int, default=2, help="of how many sizes (2)")
    parser.add_argument("--output", type=Path, help="a file for the figures")
    options = parser.parse_args()
    listed = subprocess.run(
        [options.program, "--list"], capture_output=True, text=True, check=True
    ).stdout
    table = {
        name: (
            float(bound),
            [int(size) * FACTOR**power for power in range(options.sizes)][
                : 2 if limited == "1" else None
            ],
        )
        for name, bound, size, limited in map(str.split, listed.splitlines())
    }
    chosen = options.verbs or list(table)
    if options.sample:
        print(f"seed {options.seed}")
        chosen = random.Random(options.seed).sample(
            chosen, min(options.sample, len(chosen))
        )
    cases = [(verb, engine) for verb in chosen for engine in ("memory", "sqlite")]

    def measured(case: tuple[str, str]) -> list[int]:
        verb, engine = case
        bound, sizes = table[verb]
        for _ in range(ATTEMPTS):
            costs = [
                instructions(options.program, verb, size, engine) for size in sizes
            ]
            if exponent_of(sizes, costs) <= bound:
                break
        return costs

    found = []
    heads = [
        "instructions",
        *(f"at {FACTOR**i} times" for i in range(1, options.sizes)),
    ]
    numbers = " ".join(f"{head:>15}" for head in heads)
    print(
        f"{'verb':36} {'engine':7} {'size':>6} {numbers} {'exponent':>9} {'bound':>6}"
    )
    with ThreadPoolExecutor(2) as workers:
        for (verb, engine), costs in zip(cases, workers.map(measured, cases)):
            bound, sizes = table[verb]
            exponent = exponent_of(sizes, costs)
            found.append(
                {
                    "verb": verb,
                    "engine": engine,
                    "sizes": sizes,
                    "instructions": costs,
                    "exponent": round(exponent, 3),
                    "bound": bound,
                }
            )
            verdict = "" if exponent <= bound else "  TOO STEEP"
            padding = [""] * (options.sizes - len(costs))
            numbers = " ".join(
                f"{cost:>15}" for cost in [f"{it:,}" for it in costs] + padding
            )
            print(
                f"{verb:36} {engine:7} {sizes[0]:6} {numbers} {exponent:9.2f} {bound:6.2f}{verdict}",
                flush=True,
            )
    if options.output:
        options.output.write_text(json.dumps(found, indent=1) + "\n")
    too_steep = sum(it["exponent"] > it["bound"] for it in found)
    print(f"{len(cases)} growths, {too_steep} too steep")
    return 1 if too_steep else 0


if __name__ == "__main__":
    sys.exit(main())
