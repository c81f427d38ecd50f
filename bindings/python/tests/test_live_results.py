"""Live results as views want them: in sections, and no more often than they can be shown."""

import asyncio
import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from loops import Run, eventually

import holdfast
import holdfast.aio
from holdfast.aio.stream import Stream as AwaitedStream
from holdfast.stream import Stream

Songs = holdfast.Repository[dict[str, Any]]
COMMITS = 60


@dataclass
class Song:
    id: str
    album: str = ""


def test_a_result_has_sections_of_neighbours(store: holdfast.Store) -> None:
    songs = store.repository("songs", cls=Song)
    songs.save_many([Song("a", "Horses"), Song("b", "Easter"), Song("c", "Easter"), Song("d", "Horses")])
    with songs.observe(sort={"album": 1, "id": -1}) as query:
        sections = query.next(120).sections("album")
        assert [(it.value, [song.id for song in it.entities]) for it in sections] == [
            ("Easter", ["c", "b"]),
            ("Horses", ["d", "a"]),
        ]
        songs.save(Song("e", "Wave"))
        event = query.next(120)
        assert [it.value for it in event.sections(lambda song: song.album[0])] == ["E", "H", "W"]
    with songs.observe({"id": "none"}) as query:
        assert query.next(120).sections("album") == []


def test_sections_of_dicts_leave_out_what_is_no_entity_and_know_what_is_missing(songs: Songs) -> None:
    songs.save_many([{"id": "a"}, {"id": "b", "album": "Wave"}])
    typed = songs.store.repository("songs", cls=Song)
    with songs.observe() as query:
        assert [it.value for it in query.next(120).sections("album")] == [None, "Wave"]
    songs.save({"id": "c", "album": 3, "surplus": 1})
    with typed.observe() as typed_query:
        event = typed_query.next(120)
        told = [song.id for section in event.sections("album") for song in section.entities]
        assert told == [it.id for it in event.entities if isinstance(it, Song)]


@pytest.fixture
def writer(songs: Songs) -> Iterator[threading.Thread]:
    """A thread that commits many times, soon after each other."""

    def write() -> None:
        for number in range(COMMITS):
            songs.save({"id": f"{number:03}"})
            time.sleep(0.001)

    thread = threading.Thread(target=write)
    yield thread
    thread.join()


@pytest.mark.parametrize("way", ["throttle", "debounce"])
def test_the_last_result_comes_and_none_is_older_than_one_before(
    songs: Songs, writer: threading.Thread, way: str
) -> None:
    with songs.observe() as query:
        told, moments, began = [], [], time.monotonic()
        writer.start()
        for result in getattr(query, way)(0.02):
            moments.append(time.monotonic())
            told.append(len(result))
            if len(result) == COMMITS:
                break
    assert told == sorted(set(told))
    if way == "throttle":
        assert all(moment - began >= 0.02 * number for number, moment in enumerate(moments))


def test_the_first_result_of_a_throttled_query_waits_for_nothing(songs: Songs) -> None:
    songs.save({"id": "a"})
    with songs.observe() as query:
        results = query.throttle(10**9)
        assert next(results) == [{"id": "a"}]
        for id in "bcd":
            songs.save({"id": id})
        # What comes between is told as one, at the end, too.
        threading.Timer(0.05, songs.store.close).start()
        assert [[it["id"] for it in result] for result in results] == [["a", "b", "c", "d"]]


@pytest.mark.parametrize("way", ["throttle", "debounce"])
def test_a_live_pipeline_is_held_back_as_a_query_is(songs: Songs, writer: threading.Thread, way: str) -> None:
    with songs.observe_aggregate([{"$group": {"_id": None, "n": {"$sum": 1}}}]) as live:
        told, moments, began = [0], [], time.monotonic()
        writer.start()
        for result in getattr(live, way)(0.02):
            moments.append(time.monotonic())
            told += [it["n"] for it in result]
            if told[-1] == COMMITS:
                break
    assert told == sorted(set(told))
    if way == "throttle":
        assert all(moment - began >= 0.02 * number for number, moment in enumerate(moments))


def test_what_follows_closely_is_told_once_when_it_is_over(songs: Songs) -> None:
    with songs.observe() as query:
        results = query.debounce(10**9)
        for id in "abc":
            songs.save({"id": id})
        threading.Timer(0.05, songs.store.close).start()
        assert [[it["id"] for it in result] for result in results] == [["a", "b", "c"]]


@pytest.mark.parametrize("way", ["throttle", "debounce"])
async def test_it_is_so_in_a_loop_too(run: Run, path: str, way: str) -> None:
    async with holdfast.aio.open(path) as store:
        songs = store.repository("songs")
        await songs.save({"id": "first"})

        async def write() -> None:
            for number in range(COMMITS - 1):
                await songs.save({"id": f"{number:03}"})

        told = []
        async with songs.observe() as query:
            writing = asyncio.ensure_future(write())
            async for result in getattr(query, way)(0.02):
                told.append(len(result))
                if len(result) == COMMITS:
                    break
        await writing
        assert told == sorted(set(told))
        async with songs.observe_aggregate([{"$count": "n"}]) as live:
            async for documents in getattr(live, way)(0.02):
                assert documents == [{"n": COMMITS}]
                break


async def test_a_wait_ends_in_time_also_where_a_loop_s_timers_come_early(
    run: Run, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    call_later = loop.call_later
    async with holdfast.aio.open(path) as store, store.repository("songs").observe() as query:
        await query.next(120)
        monkeypatch.setattr(loop, "call_later", lambda delay, *rest: call_later(delay / 2, *rest))
        began = time.monotonic()
        waiting = asyncio.ensure_future(query.next(0.05))
        await eventually(lambda: waiting.done() or time.monotonic() > began + 10)
        assert waiting.done() and isinstance(waiting.exception(), holdfast.TimeoutError)
        assert time.monotonic() >= began + 0.05


@pytest.mark.parametrize("way", ["throttle", "debounce"])
@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), -0.001, threading.TIMEOUT_MAX * 2])
async def test_a_pause_that_cannot_be_waited_is_refused_at_once(
    run: Run, path: str, way: str, seconds: float
) -> None:
    async with holdfast.aio.open(path) as store:
        query = store.repository("songs").observe()
        with pytest.raises(holdfast.InvalidOptionError, match="seconds, not"):
            getattr(query, way)(seconds)
    with holdfast.open(path) as blocking, blocking.repository("songs").observe() as songs:
        with pytest.raises(holdfast.InvalidOptionError, match="seconds, not"):
            getattr(songs, way)(seconds)
        assert next(iter(getattr(songs, way)(0))) == []


@pytest.mark.parametrize("way", ["throttle", "debounce"])
def test_what_was_held_back_where_ctrl_c_came_is_the_next_one(
    songs: Songs, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with songs.observe() as query:
        results = getattr(query, way)(10**6)
        if way == "throttle":
            assert next(results) == []
        songs.save({"id": "a"})
        take, waits = Stream.next, itertools.count()

        def interrupted(*arguments: Any) -> Any:
            if next(waits):
                raise KeyboardInterrupt
            return take(*arguments)

        monkeypatch.setattr(Stream, "next", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(results)
        monkeypatch.undo()
        entities = query.next(10).entities
        assert entities == ([{"id": "a"}] if way == "throttle" else [])


@pytest.mark.parametrize("way", ["throttle", "debounce"])
async def test_what_was_held_back_in_a_cancelled_wait_is_the_next_one(
    run: Run, path: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with holdfast.aio.open(path) as store:
        songs = store.repository("songs")
        async with songs.observe() as query:
            results = getattr(query, way)(10**6)
            if way == "throttle":
                assert await results.__anext__() == []
            await songs.save({"id": "a"})
            take, waits, is_waiting = AwaitedStream.next, itertools.count(), asyncio.Event()

            async def stand(*arguments: Any) -> Any:
                if next(waits):
                    is_waiting.set()
                    await asyncio.Event().wait()
                return await take(*arguments)

            monkeypatch.setattr(AwaitedStream, "next", stand)
            waiting = asyncio.ensure_future(results.__anext__())
            await is_waiting.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            monkeypatch.undo()
            entities = (await query.next(10)).entities
            assert entities == ([{"id": "a"}] if way == "throttle" else [])
        with pytest.raises(holdfast.ClosedError):
            await query.next()


async def test_in_a_loop_too_what_is_held_back_comes_when_the_store_is_closed(run: Run, path: str) -> None:
    store = await holdfast.aio.open(path)
    songs = store.repository("songs")
    await songs.save({"id": "a"})
    told: dict[str, list[int]] = {"throttle": [], "debounce": []}

    async def follow(way: str) -> None:
        async with songs.observe() as query:
            opened.release()
            async for result in getattr(query, way)(10**6):
                told[way].append(len(result))

    opened = asyncio.Semaphore(0)
    following = [asyncio.ensure_future(follow(way)) for way in told]
    for _ in told:
        await opened.acquire()
    while not told["throttle"]:
        await asyncio.sleep(0.001)
    for id in "bcd":
        await songs.save({"id": id})
    await store.close()
    await asyncio.gather(*following)
    assert told == {"throttle": [1, 4], "debounce": [4]}
