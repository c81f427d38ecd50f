"""Streams in asyncio: the same events, awaited."""

import asyncio
import contextlib
import dataclasses
from typing import Any

import pytest
from loops import Run, eventually
from programs import Writer

import holdfast
import holdfast.aio
from holdfast._inbox import Inbox


def ids(batch: Any) -> list[str]:
    return [change.id for change in batch]


async def test_a_live_query_tells_its_result_and_then_how_it_changes(run: Run, path: str) -> None:
    @dataclasses.dataclass
    class Song:
        id: str
        plays: int = 0

    async with holdfast.aio.open(path) as store:
        songs = store.repository("songs", cls=Song)
        await songs.add_many([Song(f"s{number}", number) for number in range(6)])
        steps = iter(
            [
                lambda: songs.delete_many(["s1", "s3", "s4"]),
                lambda: songs.add(Song("new", 100)),
                lambda: songs.save(Song("s0", -1)),
            ]
        )
        followed: list[Any] = []
        kinds = []
        async for event in songs.observe({"plays": {"$gte": 0}}, sort={"plays": -1}, limit=4):
            kinds.append(type(event))
            followed = holdfast.apply_difference(followed, event)
            assert followed == event.entities
            assert followed == await songs.find({"plays": {"$gte": 0}}, sort={"plays": -1}, limit=4)
            step = next(steps, None)
            if step is None:
                break
            await step()
        assert kinds == [holdfast.Snapshot, *[holdfast.Difference] * 3]
        assert [song.id for song in followed] == ["new", "s5", "s2"]


def test_changes_arrive_also_those_of_another_process(run: Run, path: str) -> None:
    async def main() -> None:
        async with holdfast.aio.open(path) as store, store.changes("songs", old=True) as changes:
            songs = store.repository("songs")
            await songs.save({"id": "a"})
            await asyncio.to_thread(writer, "songs.save({'id': 'b'})")
            heard = ids(await changes.next(120)) + ids(await changes.next(120))
            assert heard == ["a", "b"]
            assert changes.position == await store.position()
            batch = await store.changes_since(limit=1)
            assert len(batch.commits) <= 1
            assert "b" in ids(await store.changes_since(batch.position, "songs"))

    with holdfast.open(path) as store:
        store.repository("songs")
    writer = Writer(path)
    run(main())
    writer.close()


async def test_waiting_may_be_cancelled_or_end_after_its_time_and_loses_nothing(run: Run) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        async with store.changes() as changes:
            for timeout in (0, 0.01):
                with pytest.raises(holdfast.TimeoutError):
                    await changes.next(timeout)
            waiting = asyncio.ensure_future(changes.next())
            await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            heard: list[str] = []
            for number in range(20):
                waiting = asyncio.ensure_future(changes.next())
                await asyncio.sleep(0)
                await songs.save({"id": number})
                waiting.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    heard += ids(await waiting)
            while len(heard) < 20:
                heard += ids(await changes.next(120))
            assert heard == [str(number) for number in range(20)]


async def test_closing_the_stream_or_the_store_ends_a_loop_that_waits(run: Run, path: str) -> None:
    async with holdfast.aio.open(path) as store:
        songs = store.repository("songs")
        heard: list[Any] = []

        async def follow(stream: Any) -> None:
            async with stream:
                async for event in stream:
                    heard.append(event)

        streams = [songs.observe(), songs.observe()]
        tasks = [asyncio.ensure_future(follow(stream)) for stream in streams]
        await eventually(lambda: len(heard) == 2)
        await streams[0].close()
        await tasks[0]
        with pytest.raises(holdfast.ClosedError):
            await streams[0].next()
        await songs.save({"id": "a"})
    await asyncio.wait_for(tasks[1], 10)
    assert [len(event.entities) for event in heard] == [0, 0, 1]
    with pytest.raises(holdfast.ClosedError):
        await store.changes().next()
    assert [batch async for batch in store.changes()] == []


async def test_a_stream_that_is_closed_while_it_is_opened_keeps_nothing(run: Run) -> None:
    async with holdfast.aio.open("memory:") as store:
        for stream in (store.changes(), store.repository("songs").observe()):
            opening = asyncio.ensure_future(stream.next())
            await asyncio.sleep(0)
            await stream.close()
            with pytest.raises(holdfast.ClosedError):
                await asyncio.wait_for(opening, 20)
            await eventually(lambda: holdfast.handle_count("stream") == 0)


async def test_a_stream_that_nobody_has_any_more_is_closed(run: Run) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        await songs.save({"id": "a"})
        before = holdfast.handle_count("stream")
        async for _ in songs.observe():
            assert holdfast.handle_count("stream") == before + 1
            break
        # The thread that has opened it may still be about to end.
        await eventually(lambda: holdfast.handle_count("stream") == before)
        assert not store._events._listeners


async def test_subscribers_are_called_on_the_loop_and_may_close_what_they_like(run: Run) -> None:
    heard: dict[str, list[Any]] = {"own": [], "errors": [], "ended": []}
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        await songs.save({"id": "a"})

        def close_own(event: Any) -> None:
            heard["own"].append(event)
            own.close()

        own = songs.observe().subscribe(close_own)
        failing = songs.observe().subscribe(
            lambda event: 1 / 0, lambda: heard["ended"].append(1), heard["errors"].append
        )
        store.changes("none").subscribe(print, on_error=heard["errors"].append)
        await eventually(lambda: len(heard["errors"]) == 2 and heard["own"])
        await songs.save({"id": "b"})
        await eventually(lambda: len(heard["errors"]) == 3)
        del failing
    await eventually(lambda: heard["ended"])
    assert len(heard["own"]) == 1 and heard["ended"] == [1]
    kinds = {type(error) for error in heard["errors"]}
    assert kinds == {ZeroDivisionError, holdfast.NotFoundError}


async def test_a_consumer_that_does_not_keep_up_misses_no_change(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Inbox, "MOST_EVENTS", 3)

    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        async with store.changes() as changes, songs.observe() as query:
            for number in range(30):
                await songs.save({"id": f"s{number:02}"})
            heard: list[str] = []
            while len(heard) < 30:
                heard += ids(await changes.next(120))
            assert heard == [f"s{number:02}" for number in range(30)]
            while (await query.next(120)).entities != await songs.find():
                pass


def test_a_durable_subscription_goes_on_behind_what_was_acknowledged(run: Run, path: str) -> None:
    async def main() -> list[str]:
        async with holdfast.aio.open(path) as store:
            songs = store.repository("songs")
            async with store.subscribe("mailer", since=await store.position()) as stream:
                await songs.save({"id": "a"})
                batch = await stream.next(120)
                await stream.acknowledge(batch.position)
                await songs.save({"id": "b"})
            return ids(batch)

    heard = [*run(main()), *run(main())]
    assert heard[0] == "a" and heard[1] == "b"


def test_streams_are_for_the_loop_of_their_store(run: Run) -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            changes = store.changes()

            async def elsewhere() -> None:
                with pytest.raises(holdfast.InvalidStateError):
                    await changes.next()

            await asyncio.to_thread(asyncio.run, elsewhere())
            with pytest.raises(TypeError):
                store.changes(nonsense=1)

    run(main())
