"""Which test finds each planted bug, and in how long.

    mutants.py --check                whether every patch still applies
    mutants.py [--jobs N] [NAME ...]  builds them all once and looks for each, or for those
    mutants.py --expected [NAME ...]  asks only those tests that are expected to find them
    mutants.py --sample N [NAME ...]  draws so many of them, by HOLDFAST_SEED or a seed of its own, which it prints
    mutants.py --unhinted N [...]     of the last so many of them does not look who is expected

A bug is found by the first test that fails with it, or hangs, and passes without it. One that no test finds makes this fail,
and so does a test that was asked and fails without any.
"""

import argparse
import json
import os
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from commands import Outcome, all_commands, refused, run
from patches import REPOSITORY, Mutant, check
from tree import BUILD, build, update

#: For a test of which it is not known how long it takes; what is known is multiplied, because a machine may be busy.
UNKNOWN_TIMEOUT, TIMEOUT_FACTOR, TIMEOUT_MINIMUM = 900.0, 5.0, 60.0


class Baseline:
    """What passes without any bug, and in how many seconds. Kept for as long as the sources stay what they are."""

    def __init__(self, sources: str) -> None:
        self.path = BUILD / "passed.json"
        kept = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.seconds: dict[str, float] = kept.get("seconds", {})
        self.passed: set[str] = (
            set(kept["passed"]) if kept.get("sources") == sources else set()
        )
        self.sources = sources
        self.failed: set[str] = set()
        self.lock = threading.Lock()

    def timeout(self, command: str) -> float:
        known = self.seconds.get(command)
        return (
            UNKNOWN_TIMEOUT
            if known is None
            else TIMEOUT_MINIMUM + TIMEOUT_FACTOR * known
        )

    def passes(self, command: str) -> bool:
        if command in self.passed:
            return True
        if command in self.failed:
            return False
        log = BUILD / "without" / f"{command.replace('/', '-')}.txt"
        outcome = run(command, "", UNKNOWN_TIMEOUT, log)
        if not outcome.passed:
            print(
                f"FAILED: {command} {outcome.told} without any mutant: see {log}",
                flush=True,
            )
            with self.lock:
                self.failed.add(command)
            return False
        with self.lock:
            self.passed.add(command)
            self.seconds[command] = outcome.seconds
            kept = {
                "sources": self.sources,
                "seconds": self.seconds,
                "passed": sorted(self.passed),
            }
            self.path.write_text(json.dumps(kept, indent=1))
        return True

    def confirmed(self, command: str, mutant: str, log: Path) -> Outcome:
        """Of one that has failed: whether it passes without the bug and fails with it, both once more."""
        without = run(command, "", self.timeout(command), log.with_suffix(".without"))
        if not without.passed:
            return Outcome(True, 0, "")
        return run(command, mutant, self.timeout(command), log)

    def in_order(self, commands: list[str]) -> list[str]:
        return sorted(
            commands, key=lambda command: self.seconds.get(command, UNKNOWN_TIMEOUT)
        )


@dataclass(frozen=True)
class Finding:
    mutant: Mutant
    by: str  # nothing where it survived
    outcome: Outcome

    def line(self) -> str:
        by = self.by if self.outcome.told != "hung" else f"{self.by} (hung)"
        hinted = " " if self.by in self.mutant.hints else "*"
        return (
            f"{self.mutant.area:12} {self.mutant.name:38} {by or 'SURVIVED':38}{hinted}"
            f"{self.outcome.seconds:7.1f} s  {self.mutant.promise}"
        )


def search(
    mutant: Mutant, commands: list[str], baseline: Baseline, is_hinted: bool
) -> Finding:
    """Those that are expected to find it first, then from the cheapest to the dearest."""
    seconds = 0.0
    hints = mutant.hints if is_hinted else ()
    for command in dict.fromkeys([*hints, *baseline.in_order(commands)]):
        # First without it, which also tells how long it may take.
        if not baseline.passes(command):
            continue
        log = BUILD / "with" / mutant.name / f"{command.replace('/', '-')}.txt"
        outcome = run(command, mutant.name, baseline.timeout(command), log)
        seconds += outcome.seconds
        # What fails now and then, as on a busy machine, finds nothing.
        if not outcome.passed and command not in hints:
            outcome = baseline.confirmed(command, mutant.name, log)
        if not outcome.passed:
            return Finding(mutant, command, Outcome(False, seconds, outcome.told))
    return Finding(mutant, "", Outcome(True, seconds, ""))


def sample(mutants: list[Mutant], number: int) -> list[Mutant]:
    seed = int(os.environ.get("HOLDFAST_SEED") or random.randrange(2**32))
    print(f"HOLDFAST_SEED={seed}", flush=True)
    return random.Random(seed).sample(mutants, min(number, len(mutants)))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "names", nargs="*", help="some mutants, or whole folders of them"
    )
    parser.add_argument(
        "--check", action="store_true", help="only whether the patches apply"
    )
    parser.add_argument(
        "--expected", action="store_true", help="only the expected tests"
    )
    parser.add_argument("--sample", type=int, help="so many of them, drawn by a seed")
    parser.add_argument(
        "--unhinted", type=int, default=0, help="of so many, without who is expected"
    )
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    try:
        mutants = check()
    except ValueError as failure:
        print(f"FAILED: {failure}")
        return 1
    unheard_of = refused(
        {hint for mutant in mutants for hint in mutant.hints}, REPOSITORY
    )
    if unheard_of:
        print(f"FAILED: there is no test {', '.join(unheard_of)}")
        return 1
    if options.check:
        print(f"{len(mutants)} planted bugs apply, alone and together")
        return 0
    chosen = [
        m for m in mutants if not options.names or {m.name, m.area} & set(options.names)
    ]
    unknown = set(options.names) - {name for m in mutants for name in (m.name, m.area)}
    if unknown:
        print(f"FAILED: there is no mutant {', '.join(sorted(unknown))}")
        return 1
    if options.sample is not None:
        chosen = sample(chosen, options.sample)
    baseline = Baseline(update(mutants))
    build()
    commands = [] if options.expected else all_commands()
    began = time.monotonic()
    with ThreadPoolExecutor(options.jobs) as workers:
        if len(chosen) == len(mutants) and not all(
            workers.map(baseline.passes, commands)
        ):
            return 1
        hinted = len(chosen) - options.unhinted
        searches = [
            workers.submit(search, mutant, commands, baseline, number < hinted)
            for number, mutant in enumerate(chosen)
        ]
        findings = []
        print(
            f"{'where':12} {'planted bug':38} {'found by':40}{'in':>9}  the promise that it breaks"
        )
        for done in as_completed(searches):
            findings.append(done.result())
            print(findings[-1].line(), flush=True)
    survivors = [finding.mutant.name for finding in findings if not finding.by]
    print(
        f"{len(findings)} planted bugs, {len(survivors)} survived, in {(time.monotonic() - began) / 60:.0f} minutes"
        f" without the build; {len(baseline.failed)} tests failed without any. * is not who was expected to find it."
    )
    return 1 if survivors or baseline.failed else 0


if __name__ == "__main__":
    sys.exit(main())
