"""Cursors that go on behind what was raised: each entity comes once, in its order."""

import dataclasses
import gc
import inspect
import random
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Optional

import pytest
from test_aio_cancelled import Runner, run  # noqa: F401

import holdfast
import holdfast.aio
from holdfast import _interrupts
from holdfast._library import lib

COUNT = 1500
IDS = [f"{number:04}" for number in range(COUNT)]
SORTS: list[Optional[dict[str, int]]] = [None, {"n": 1}]


class Stop(Exception):
    """What a handler raises."""


@dataclasses.dataclass
class Song:
    """Of which some cannot be read."""

    id: str
    n: int
    text: str

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError("it has no number")


def entities(numbers: Iterable[int]) -> list[dict[str, Any]]:
    """Of which a piece holds a few hundred."""
    return [{"id": id, "n": n, "text": "x" * 500} for id, n in zip(IDS, numbers)]


@pytest.fixture
def many(store: holdfast.Store) -> holdfast.Repository[dict[str, Any]]:
    songs = store.repository("songs")
    songs.add_many(entities(range(COUNT)))
    return songs


def drained(cursor: Iterator[Any]) -> tuple[list[Any], list[BaseException]]:
    """What it gives, and what it raises on the way."""
    found: list[Any] = []
    raised: list[BaseException] = []
    while True:
        try:
            found.append(next(cursor))
        except StopIteration:
            return found, raised
        except BaseException as error:
            raised.append(error)
            assert len(raised) < COUNT


def bad_ids(errors: Iterable[Any]) -> list[Any]:
    return [error.detail["id"] for error in errors]


# The first and the last, two together, and in several pieces.
BAD = [0, 10, 11, 700, COUNT - 1]
GOOD = [id for number, id in enumerate(IDS) if number not in BAD]
BROKEN = [-1 if number in BAD else number for number in range(COUNT)]


@pytest.mark.parametrize("sort", [None, {"id": 1}])
def test_what_cannot_be_read_is_told_once_when_it_is_its_turn(
    sort: Optional[dict[str, int]], store: holdfast.Store
) -> None:
    store.repository("songs").add_many(entities(BROKEN))
    songs = store.repository("songs", cls=Song)
    cursor = songs.iterate(sort=sort)
    order = []
    for _ in IDS:
        try:
            order.append(next(cursor).id)
        except holdfast.CorruptError as error:
            order.append(error.detail["id"])
    assert order == IDS
    with pytest.raises(StopIteration):
        next(cursor)
    found, raised = drained(songs.iterate(sort=sort))
    assert [song.id for song in found] == GOOD
    assert bad_ids(raised) == [IDS[number] for number in BAD]


def test_an_awaited_cursor_tells_it_when_it_is_its_turn(run: Runner) -> None:  # noqa: F811
    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            await store.repository("songs").add_many(entities(BROKEN))
            order = []
            async with store.repository("songs", cls=Song).iterate() as cursor:
                for _ in IDS:
                    try:
                        order.append((await cursor.__anext__()).id)
                    except holdfast.CorruptError as error:
                        order.append(error.detail["id"])
                assert [song async for song in cursor] == []
            assert order == IDS

    run(main())


@pytest.mark.parametrize("sort", SORTS)
def test_ctrl_c_behind_the_call_that_hands_out_a_piece_loses_nothing(
    sort: Optional[dict[str, int]],
    many: holdfast.Repository[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function = lib.hf_cursor_next

    def interrupted(*arguments: Any) -> int:
        status: int = function(*arguments)
        _interrupts.keep(KeyboardInterrupt())
        return status

    monkeypatch.setattr(lib, "hf_cursor_next", interrupted)
    found, raised = drained(many.iterate(sort=sort))
    assert [song["id"] for song in found] == IDS
    assert len(raised) > 2
    assert {type(error) for error in raised} == {KeyboardInterrupt}


@contextmanager
def stopping_before(step: int, functions: set[str]) -> Iterator[list[int]]:
    """Raises, as a handler does, before so many lines of a cursor's were run. Answers how many were."""
    path = str(Path(inspect.getfile(holdfast.Cursor)))
    lines = [0]

    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != path or frame.f_code.co_name not in functions:
            return None
        if event == "line":
            lines[0] += 1
            if lines[0] == step:
                raise Stop
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


def test_wherever_a_handler_raises_in_a_cursor_no_more_than_one_entity_is_lost(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.add_many({"id": f"{number:04}", "text": "x" * 100_000} for number in range(8))
    ids = [f"{number:04}" for number in range(8)]
    step = 0
    while True:
        step += 1
        with stopping_before(step, {"__next__", "_next_piece", "_forget"}) as lines:
            found, raised = drained(songs.iterate())
        if lines[0] < step:
            break
        given = [song["id"] for song in found]
        assert len(raised) == 1
        assert given == [id for id in ids if id in given]
        assert len(given) >= len(ids) - 1
    assert step > 20


@pytest.fixture
def collected_in_silence() -> Iterator[None]:
    """Nobody in Python hears of garbage collections, as Hypothesis does: what a signal's handler raised in
    the midst of that would get lost, with a warning."""
    hearing = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = hearing


@pytest.mark.usefixtures("collected_in_silence")
@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("cls", [None, Song])
def test_what_a_signal_s_handler_raises_costs_an_entity_at_most(
    sort: Optional[dict[str, int]], cls: Optional[type[Any]], many: holdfast.Repository[Any]
) -> None:
    songs: holdfast.Repository[Any] = many.store.repository("songs", cls=cls)

    def ids(found: list[Any]) -> list[str]:
        return [song["id"] if cls is None else song.id for song in found]

    is_armed = False

    def handle(*_: object) -> None:
        if is_armed:
            raise Stop

    former = signal.signal(signal.SIGALRM, handle)
    try:
        for _ in range(10):
            found: list[Any] = []
            raised = 0
            cursor = songs.iterate(sort=sort)
            signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0005, 0.02))
            is_at_end = False
            while not is_at_end:
                try:
                    is_armed = True
                    for song in cursor:
                        found.append(song)
                    is_armed = False
                    is_at_end = True
                except (Stop, holdfast.CorruptError):
                    is_armed = False
                    raised += 1
                    signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0005, 0.02) if raised < 20 else 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            given = ids(found)
            assert given == sorted(set(given))
            assert len(given) >= COUNT - raised
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def test_threads_that_share_a_cursor_get_each_entity_once(many: holdfast.Repository[dict[str, Any]]) -> None:
    cursor = many.iterate()
    found: list[str] = []

    def work() -> None:
        found.extend(song["id"] for song in cursor)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == IDS


def test_a_handler_cannot_go_on_with_the_cursor_that_it_interrupts(
    many: holdfast.Repository[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = many.iterate()
    function: Callable[..., int] = lib.hf_cursor_next

    def interrupted(*arguments: Any) -> int:
        with pytest.raises(holdfast.ReentrantError):
            next(cursor)
        return function(*arguments)

    monkeypatch.setattr(lib, "hf_cursor_next", interrupted)
    assert [song["id"] for song in cursor] == IDS
