"""Coroutine functions that collide run again one after the other."""

import asyncio
import contextvars
from typing import Any

import pytest

import holdfast
import holdfast.aio

COUNT = 1000


def test_a_thousand_tasks_that_change_one_entity_get_through_in_few_runs(engine: str, path: str) -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:" if engine == "memory" else path) as store:
            songs = store.repository("songs")
            await songs.add({"id": "s1", "plays": 0})
            runs = 0

            async def play() -> None:
                nonlocal runs
                runs += 1
                song = await songs.fetch("s1")
                assert song is not None
                song["plays"] += 1
                await songs.update(song)

            await asyncio.gather(*[store.transact(play, durability="relaxed") for _ in range(COUNT)])
            song = await songs.fetch("s1")
            assert song is not None and song["plays"] == COUNT
            assert runs < 3 * COUNT

    asyncio.run(main())


def test_a_function_that_always_loses_runs_as_often_as_is_allowed(engine: str, path: str) -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:" if engine == "memory" else path) as store:
            for attempts in (1, 3):
                runs = 0

                async def lose() -> None:
                    nonlocal runs
                    runs += 1
                    raise holdfast.ConflictError("lost")

                with pytest.raises(holdfast.ConflictError):
                    await store.transact(lose, max_attempts=attempts)
                assert runs == attempts

    asyncio.run(main())


def test_the_time_of_a_function_is_for_all_its_runs_together(engine: str, path: str) -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:" if engine == "memory" else path) as store:
            runs = 0

            async def lose() -> None:
                nonlocal runs
                runs += 1
                await asyncio.sleep(0.1)
                raise holdfast.ConflictError("lost")

            with pytest.raises((holdfast.ConflictError, holdfast.TimeoutError)):
                await store.transact(lose, timeout=0.25, max_attempts=30)
            assert runs < 10

    asyncio.run(main())


def test_who_waits_for_its_turn_can_be_cancelled_and_others_go_on(engine: str, path: str) -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:" if engine == "memory" else path) as store:
            songs = store.repository("songs")
            await songs.add({"id": "s1", "plays": 0})
            have_read, goes_on = 0, asyncio.Event()

            async def play() -> None:
                nonlocal have_read
                song = await songs.fetch("s1")
                assert song is not None
                have_read += 1
                await goes_on.wait()
                song["plays"] += 1
                await songs.update(song)

            tasks = [asyncio.ensure_future(store.transact(play)) for _ in range(5)]
            while have_read < len(tasks):
                await asyncio.sleep(0.01)
            # All have read it, so all but one collide, and all but one of those wait.
            goes_on.set()
            await asyncio.sleep(0)
            goes_on.clear()
            while have_read < len(tasks) + 1:
                await asyncio.sleep(0.01)
            for task in tasks[2:4]:
                task.cancel()
            goes_on.set()
            ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 60)
            stored = ended.count(None)
            assert stored >= 3
            assert stored + sum(isinstance(it, asyncio.CancelledError) for it in ended) == len(tasks)
            song = await songs.fetch("s1")
            assert song is not None and song["plays"] == stored

    asyncio.run(main())


def test_who_waits_until_its_time_is_up_is_answered_as_the_same_request_was_meanwhile() -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            songs = store.repository("songs")
            await songs.add({"id": "s1", "plays": 0})
            holds, waits, ends = asyncio.Event(), asyncio.Event(), asyncio.Event()
            runs = {"holder": 0, "request": 0}

            async def play() -> None:
                await songs.modify("s1", {"$inc": {"plays": 1}})

            async def lose(name: str) -> None:
                runs[name] += 1
                song = await songs.fetch("s1")
                assert song is not None
                if runs[name] == 1:
                    await contextvars.Context().run(asyncio.ensure_future, play())
                await songs.save(song)

            async def holder() -> None:
                await lose("holder")
                if runs["holder"] == 2:
                    holds.set()
                    await ends.wait()

            async def request() -> None:
                await lose("request")
                waits.set()

            held = asyncio.ensure_future(store.transact(holder))
            await holds.wait()
            options: dict[str, Any] = {"idempotency_key": "K", "receipt": True}
            slow = asyncio.ensure_future(store.transact(request, timeout=0.4, **options))
            await waits.wait()
            await asyncio.sleep(0.1)
            _, fast = await store.transact(play, **options)
            value, receipt = await slow
            assert runs["request"] == 1
            assert (value, receipt.replayed, receipt.sequence) == (None, True, fast.sequence)
            ends.set()
            await held

    asyncio.run(main())
