"""The package's own limits, which HOLDFAST_LIMITS makes small."""

import os
import subprocess
import sys
from dataclasses import asdict, fields

import pytest

from holdfast import _limits

PROGRAM = """
import asyncio, holdfast, holdfast.aio
from holdfast._limits import LIMITS
with holdfast.open("memory:") as store:
    songs = store.repository("songs")
    with store.changes("songs") as changes:
        futures = [songs.deferred.save({"id": str(number)}).submit() for number in range(20)]
        for future in futures:
            future.result()
        seen = []
        while len(seen) < 20:
            seen += [change.id for change in changes.next(timeout=120)]
    assert sorted(seen, key=int) == [str(number) for number in range(20)]
async def main():
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        await asyncio.gather(*[songs.save({"id": number}) for number in range(50)])
        return await songs.count()
print(LIMITS.event_batch, asyncio.run(main()))
"""


def run(limits: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "HOLDFAST_LIMITS": limits},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_everything_holds_where_each_is_1() -> None:
    ran = run(",".join(f"python.{field.name}=1" for field in fields(_limits.Limits)))
    assert ran.stdout == "1 50\n", ran.stderr


@pytest.mark.parametrize("limits", ["python.event_batch=0", "python.event_batch", "python.nothing=1"])
def test_what_is_no_limit_is_refused(limits: str) -> None:
    ran = run(limits)
    assert ran.returncode != 0 and "HOLDFAST_LIMITS: no limit can be set by" in ran.stderr


def test_what_is_not_named_stays_as_it_is() -> None:
    limits = _limits.of("batchBytes=1,python.event_batch=2")
    assert asdict(limits) == {**asdict(_limits.Limits()), "event_batch": 2}
