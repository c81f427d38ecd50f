"""The package's own limits, which HOLDFAST_LIMITS makes small."""

import os
import re
import subprocess
import sys
from dataclasses import asdict, fields
from pathlib import Path

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


#: What most limits are asked for by.
EVERYTHING = """
import holdfast, io, sys, threading
for url in ("memory:", sys.argv[1] + "/store.db"):
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.create_index("n")
        with store.changes("songs") as changes, songs.observe({"n": {"$gt": 3}}) as results:
            results.next(timeout=120)
            songs.add_many([{"id": f"{n:03}", "n": n, "name": "a" * 50} for n in range(100)])
            assert changes.next(timeout=120) and results.next(timeout=120)
        with store.transaction() as transaction:
            savepoint = transaction.savepoint()
            songs.save_many([{"id": f"{n:03}", "n": -n} for n in range(20)])
            transaction.rollback_to(savepoint)
            songs.delete_many(["098", "099"])
        assert [song["n"] for song in songs.iterate(sort={"name": 1, "n": -1})] == list(range(97, -1, -1))
        assert songs.count({"n": {"$in": list(range(30))}, "name": {"$regex": "^(?:aa)+$"}}) == 30
        threads = [
            threading.Thread(target=lambda n=n: songs.save({"id": f"t{n}", "n": n})) for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        one, other = store.begin(), store.begin()
        with one.joined():
            songs.fetch("t1"), songs.find({"n": {"$gte": 90}}), songs.save({"id": "t0", "n": 1})
        with other.joined():
            songs.save({"id": "t1", "n": 1})
        other.commit()
        try:
            one.commit()
            raise SystemExit("no conflict")
        except holdfast.ConflictError:
            pass
        lines = io.BytesIO()
        store.export_lines(lines)
        lines.seek(0)
        with holdfast.open("memory:") as copy:
            copy.import_lines(lines)
            assert copy.repository("songs").count() == 102
        store.verify()
        if url != "memory:":
            store.sync(), store.compact(), store.backup(sys.argv[1] + "/copy.db")
with holdfast.open(url) as store, holdfast.open(sys.argv[1] + "/copy.db") as copy:
    assert store.repository("songs").find() == copy.repository("songs").find()
print("held")
"""
LIMITS_SOURCE = Path(__file__).parents[3] / "Sources/HoldfastEnvironment/Limits.swift"
NAMES = re.findall(r"public var (\w+) = [0-9]", LIMITS_SOURCE.read_text())
#: Amounts of memory that are asked for: so much there never is.
NEVER_THERE = {"memoryReserve", "linePiece"}


def run(limits: str, program: str = PROGRAM, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "HOLDFAST_LIMITS": limits},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_everything_holds_where_each_is_1() -> None:
    ran = run(",".join(f"python.{field.name}=1" for field in fields(_limits.Limits)))
    assert ran.stdout == "1 50\n", ran.stderr


@pytest.mark.parametrize("greatest", [2**63 - 1, 2**62, 2**48])
def test_everything_holds_where_each_limit_of_the_library_s_is_greatest(
    greatest: int, tmp_path: Path
) -> None:
    assert len(NAMES) > 100
    limits = ",".join(f"{name}={greatest}" for name in NAMES if name not in NEVER_THERE)
    ran = run(limits, EVERYTHING, str(tmp_path))
    assert ran.stdout == "held\n", f"{ran.returncode} {ran.stderr}"


@pytest.mark.parametrize("group", range(8))
def test_everything_holds_where_some_are_greatest(group: int, tmp_path: Path) -> None:
    names = [name for name in NAMES if name not in NEVER_THERE][group::8]
    ran = run(",".join(f"{name}={2**63 - 1}" for name in names), EVERYTHING, str(tmp_path))
    assert ran.stdout == "held\n", f"{names}: {ran.returncode} {ran.stderr}"


def test_without_memory_that_must_stay_free_calls_are_refused() -> None:
    ran = run(f"memoryReserve={2**63 - 1},memoryUnasked=1")
    assert ran.returncode == 1 and "NoMemoryError" in ran.stderr


@pytest.mark.parametrize("limits", ["python.event_batch=0", "python.event_batch", "python.nothing=1"])
def test_what_is_no_limit_is_refused(limits: str) -> None:
    ran = run(limits)
    assert ran.returncode != 0 and "HOLDFAST_LIMITS: no limit can be set by" in ran.stderr


def test_what_is_not_named_stays_as_it_is() -> None:
    limits = _limits.of("batchBytes=1,python.event_batch=2")
    assert asdict(limits) == {**asdict(_limits.Limits()), "event_batch": 2}
