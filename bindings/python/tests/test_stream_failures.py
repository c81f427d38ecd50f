"""What goes wrong in a stream, or beside it, ends no more than it must, and loses nothing."""

import asyncio
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from typing import Any, Callable

import pytest
from loops import Run

import holdfast
import holdfast.aio
from holdfast._inbox import Inbox


class Raised(Exception):
    """By a signal's handler."""


def once(function: Callable[..., Any], error: type[BaseException]) -> Callable[..., Any]:
    """The function, but for its first call, which does its work and raises."""
    errors = [error]

    def failing(*arguments: Any) -> Any:
        answer = function(*arguments)
        if errors:
            raise errors.pop()("by a handler")
        return answer

    return failing


@pytest.mark.parametrize("error", [KeyboardInterrupt, Raised])
def test_a_stream_that_is_interrupted_where_it_begins_anew_goes_on(
    path: str, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    monkeypatch.setattr(Inbox, "MOST_EVENTS", 4)
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        changes = songs.changes()
        for number in range(50):
            songs.save({"id": str(number)})
        deadline = time.monotonic() + 60
        while not changes._inbox.is_full and time.monotonic() < deadline:
            time.sleep(0.001)
        heard: list[str] = []
        changes._source._open = once(lambda *_: None, error)  # type: ignore[method-assign]
        with pytest.raises(error):
            while True:
                heard += [change.id for change in changes.next(60)]
        del changes._source._open
        while len(heard) < 50:
            heard += [change.id for change in changes.next(60)]
        assert heard == [str(number) for number in range(50)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, Raised])
def test_what_a_signal_s_handler_raises_while_an_event_is_read_loses_none(
    path: str, error: type[BaseException]
) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        changes, live = songs.changes(), songs.observe()
        assert live.next(60).entities == []
        songs.save({"id": "s1"})
        for stream in (changes, live):
            stream._source._read = once(stream._source._read, error)  # type: ignore[method-assign]
            with pytest.raises(error):
                stream.next(60)
        assert [change.id for change in changes.next(60)] == ["s1"]
        assert live.next(60).entities == [{"id": "s1"}]


async def test_what_became_of_an_opening_that_nobody_awaited_is_told_to_who_asks_next(
    run: Run, path: str
) -> None:
    async with holdfast.aio.open(path) as store:
        stream = store.changes("missing")
        waiting = asyncio.ensure_future(stream.next())
        while stream._opening is None:
            await asyncio.sleep(0)
        opening = stream._opening
        waiting.cancel()
        await asyncio.wait([waiting, opening])
        with pytest.raises(holdfast.NotFoundError):
            await stream.next()
        with pytest.raises(holdfast.ClosedError):
            await stream.next()


FOLLOWER = """
import sys, threading, holdfast
store = holdfast.open(sys.argv[1], log_retention=1000)
streams = {name: store.repository(name).observe() for name in ("good", "bad")}
for stream in streams.values():
    stream.next(60)
print("ready", flush=True)
sys.stdin.readline()
try:
    streams["bad"].next(60)
    print("a damaged entity was told")
except holdfast.CorruptError:
    print("damaged", flush=True)
print(type(streams["good"].next(60)).__name__, flush=True)
sys.stdin.readline()
print(type(streams["good"].next(60)).__name__, flush=True)
store.close()
"""


def test_a_damaged_entity_ends_its_live_query_and_keeps_no_other_one_waiting(path: str) -> None:
    options: Any = {"log_retention": 1000, "durability": "relaxed"}
    with holdfast.open(path, **options) as store:
        for name in ("good", "bad"):
            store.repository(name).save({"id": "one", "text": "whole"})
    environment = {**os.environ, "HOLDFAST_LIMITS": "trimInterval=1,logPieces=1"}
    follower = subprocess.Popen(
        [sys.executable, "-c", FOLLOWER, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert follower.stdin is not None and follower.stdout is not None
    try:
        assert follower.stdout.readline() == "ready\n"
        follower.send_signal(signal.SIGSTOP)
        # More than the log keeps: what follows has to begin anew.
        writer = (
            "import sys, holdfast\n"
            "with holdfast.open(sys.argv[1], log_retention=1000, durability='relaxed') as store:\n"
            "    for number in range(2500): store.repository('good').save({'id': str(number)})\n"
            "    try: sys.exit(store.changes_since('%s') and 'it was not trimmed')\n"
            "    except holdfast.CursorLostError: pass\n"
        )
        with holdfast.open(path, **options) as store:
            position = store.position
        subprocess.run([sys.executable, "-c", writer % position, path], env=environment, check=True)
        with sqlite3.connect(path) as database:
            where = "body LIKE '%whole%' AND repository = (SELECT max(repository) FROM holdfast_entity)"
            damaged = database.execute(f"UPDATE holdfast_entity SET body = '{{\"id\"' WHERE {where}")
            assert damaged.rowcount == 1
        database.close()
        follower.send_signal(signal.SIGCONT)
        follower.stdin.write("\n")
        follower.stdin.flush()
        assert follower.stdout.readline() == "damaged\n"
        assert follower.stdout.readline() == "Snapshot\n"
        with holdfast.open(path, **options) as store:
            store.repository("good").save({"id": "next"})
        follower.stdin.write("\n")
        follower.stdin.flush()
        assert follower.stdout.readline() == "Difference\n"
        assert follower.wait(60) == 0
    finally:
        follower.kill()
        follower.wait()
        follower.stdin.close()
        follower.stdout.close()


async def test_a_wait_for_ever_may_be_said_in_a_number_and_none_that_is_no_number(
    run: Run, path: str
) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        changes = songs.changes()
        for timeout in (math.inf, 1e300):
            songs.save({"id": "s1"})
            assert [change.id for change in changes.next(timeout)] == ["s1"]
            assert holdfast.await_result(lambda done: done("told"), timeout=timeout) == "told"
            assert await holdfast.aio.await_result(lambda done: done("told"), timeout=timeout) == "told"
        for wait in (changes.next, lambda timeout: holdfast.await_result(lambda done: None, timeout)):
            with pytest.raises(holdfast.InvalidOptionError, match="takes seconds, or None, not nan"):
                wait(math.nan)


@pytest.mark.parametrize("seconds", [math.inf, math.nan])
def test_a_time_that_is_no_number_of_seconds_is_refused_by_name(path: str, seconds: float) -> None:
    with holdfast.open(path) as store:
        with pytest.raises(holdfast.InvalidOptionError, match='"time_to_live" must be a number of seconds'):
            store.repository("songs", cache=holdfast.CachePolicy(time_to_live=seconds))
        with pytest.raises(holdfast.InvalidOptionError, match='"expire_after" must be a number of seconds'):
            store.repository("songs").create_index("until", expire_after=seconds)


def test_the_shortest_time_to_live_is_not_for_ever() -> None:
    from holdfast.cache import cache_options

    options = cache_options(holdfast.CachePolicy(time_to_live=0.0004))
    assert options is not None and options["time_to_live_ms"] == 1
