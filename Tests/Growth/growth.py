"""How the cost of each verb grows with what can grow, in instructions, which are the same on a busy machine.

    growth.py PROGRAM [--sample N] [--seed S] [VERB ...]

Each verb runs under callgrind with a size and with eight times it. The exponent is log8 of the ratio: 1 where twice the work
costs twice as much, 2 where it costs four times as much. One above its bound fails.
"""

import argparse
import math
import random
import re
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


def exponent_of(small: int, large: int) -> float:
    return math.log(large / small) / math.log(FACTOR)


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
            timeout=600,
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
    options = parser.parse_args()
    listed = subprocess.run(
        [options.program, "--list"], capture_output=True, text=True, check=True
    ).stdout
    table = {
        name: (float(bound), int(size))
        for name, bound, size in map(str.split, listed.splitlines())
    }
    chosen = options.verbs or list(table)
    if options.sample:
        print(f"seed {options.seed}")
        chosen = random.Random(options.seed).sample(
            chosen, min(options.sample, len(chosen))
        )
    cases = [(verb, engine) for verb in chosen for engine in ("memory", "sqlite")]

    def measured(case: tuple[str, str]) -> tuple[int, int]:
        verb, engine = case
        bound, size = table[verb]
        for _ in range(ATTEMPTS):
            small, large = (
                instructions(options.program, verb, count, engine)
                for count in (size, size * FACTOR)
            )
            if exponent_of(small, large) <= bound:
                break
        return small, large

    too_steep = 0
    print(
        f"{'verb':36} {'engine':7} {'size':>6} {'instructions':>14} {f'at {FACTOR} times':>14} {'exponent':>9} {'bound':>6}"
    )
    with ThreadPoolExecutor(2) as workers:
        for (verb, engine), (small, large) in zip(cases, workers.map(measured, cases)):
            bound, size = table[verb]
            exponent = exponent_of(small, large)
            verdict = "" if exponent <= bound else "  TOO STEEP"
            too_steep += bool(verdict)
            print(
                f"{verb:36} {engine:7} {size:6} {small:14,} {large:14,} {exponent:9.2f} {bound:6.2f}{verdict}",
                flush=True,
            )
    print(f"{len(cases)} growths, {too_steep} too steep")
    return 1 if too_steep else 0


if __name__ == "__main__":
    sys.exit(main())
