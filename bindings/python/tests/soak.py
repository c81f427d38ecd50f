"""A program that does very many operations of every kind, and fails unless memory and handles stay flat.

    python soak.py COUNT

Half of them warm up; what the other half adds to the process's memory is printed.
"""

import asyncio
import functools
import gc
import logging
import os
import sys
from pathlib import Path
from typing import Any

import holdfast
import holdfast.aio

# A leak of 100 bytes an operation shows in a hundred thousand; the allocators' own noise is below this.
MOST_GROWTH = 8 << 20
ROUND = 1000


class Logged(logging.Handler):
    """What the package logged: an error that no caller was told of."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        # Of slow commits the library tells by itself.
        if record.name == "holdfast":
            self.messages.append(self.format(record))


ACTIONS = [
    {"action": "request", "token": "t", "request": {"limit": 1}},
    {"action": "save", "element": {"id": "s0", "plays": -1}},
    {"action": "cancelRequest", "token": "t"},
]


def is_saved(state: "dict[str, Any]") -> bool:
    """Whether the save of a controller has succeeded."""
    return state["persist"]["state"] == "succeeded"


def memory() -> int:
    """The bytes of this process that are in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def refused(function: "object") -> None:
    """Calls what must raise an error of the library."""
    try:
        function()  # type: ignore[operator]
    except holdfast.Error:
        return
    sys.exit("FAILED: nothing was refused")


class Leaf(holdfast.Model):
    """An object of a tree."""

    plays = 0

    def on_validate_commit(self) -> None:
        """Refuses what is negative."""
        if self.plays < 0:
            raise holdfast.RefusedError("negative")


def blocking(store: holdfast.Store) -> None:
    """ROUND operations by calls that wait."""
    songs = store.repository("songs")
    later = songs.deferred
    add = later.save({"id": "s0", "plays": 0})

    def play() -> None:
        song = songs.fetch("s1")
        songs.update({**song, "plays": song["plays"] + 1})

    def fail() -> None:
        songs.add({"id": "none"})
        raise holdfast.HostError("mine")

    for number in range(ROUND // 10):
        songs.save({"id": "s1", "plays": number})
        store.transact(play)
        songs.find({"plays": number}, limit=1)
        refused(lambda: songs.add({"id": "s1"}))
        refused(lambda: store.transact(fail))
        add.perform()
        store.sequence(add, later.count()).submit().result()
        store.submit(play).result()
        later.fetch("s1").submit().cancel()
        with songs.iterate() as cursor:
            next(cursor)
        with songs.observe(limit=1) as query, store.changes() as changes:
            query.next()
            songs.save({"id": "s0", "plays": number + 1})
            query.next()
            changes.next()
        for _ in songs.observe():
            break
        with holdfast.Controller(songs, lambda *_: None, lambda _: None) as controller:
            for action in ACTIONS:
                controller.dispatch(action)
            controller.wait_for(is_saved)
        holdfast.Controller(songs, lambda *_: None).dispatch(ACTIONS[0])
        root, leaf = Leaf(), Leaf()
        leaf.attach(root)

        def count(to: int, leaf: Leaf = leaf) -> None:
            leaf.plays = to

        store.transact(functools.partial(count, number), trees=[root])
        refused(lambda: store.transact(functools.partial(count, -1), trees=[root]))  # noqa: B023
        store.submit(functools.partial(count, number), trees=[root]).result()


async def awaited(store: holdfast.aio.Store) -> None:
    """ROUND operations by calls that are awaited, some cancelled."""
    songs = store.repository("songs")

    async def write(number: int) -> None:
        async with store.transaction():
            await songs.save({"id": f"s{number}"})

    tasks = [asyncio.ensure_future(write(number)) for number in range(ROUND // 4)]
    tasks += [asyncio.ensure_future(songs.fetch("s1")) for _ in range(ROUND // 2)]
    await asyncio.sleep(0)
    for task in tasks[:: ROUND // 20]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for _ in range(ROUND // 50):
        async with holdfast.aio.Controller(songs, lambda *_: None, lambda _: None) as controller:
            for action in ACTIONS:
                await controller.dispatch(action)
            await controller.wait_for(is_saved)
        async with songs.observe(limit=1) as query:
            await query.next()


async def soak(count: int) -> int:
    """Does the operations and answers the growth in bytes."""
    before = 0
    # In memory, because a disk would make it slow; a short log, because that is meant to grow.
    options = {"log_retention": 1000, "idempotency_max_count": 0}
    with holdfast.open("memory:", **options) as store:
        async with holdfast.aio.open("memory:", **options) as other:
            rounds = count // (2 * ROUND)
            for number in range(rounds):
                if number == rounds // 2:
                    before, handles = memory(), holdfast.handle_count()
                blocking(store)
                await awaited(other)
            growth = memory() - before
            if holdfast.handle_count() != handles:
                sys.exit(f"FAILED: {holdfast.handle_count() - handles} handles were left behind")
    return growth


if __name__ == "__main__":
    count = int(sys.argv[1])
    logged = Logged()
    logging.getLogger("holdfast").addHandler(logged)
    growth = asyncio.run(soak(count))
    gc.collect()
    if logged.messages:
        sys.exit(f"FAILED: {logged.messages[0]}")
    if holdfast.handle_count() != 0:
        sys.exit("FAILED: handles outlived their stores")
    print(f"{count:,} operations: {growth / count * 2:.1f} bytes each, {growth / 1e6:.1f} MB in all")
    if growth > MOST_GROWTH:
        sys.exit("FAILED: memory grows")
