"""What asyncio must not lose, or keep: when a wait is cancelled, one event goes wrong, in another loop."""

import asyncio
import contextlib
import gc
import logging
import threading
import time
from typing import Any, Callable, Optional

import pytest
import uvloop
from actions import WAIT
from programs import start_program

import holdfast
import holdfast.aio
from holdfast._limits import LIMITS
from holdfast.aio._events import LoopEvents

Runner = Callable[..., Any]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Runner:
    """Runs a coroutine on either loop."""
    return asyncio.run if request.param == "asyncio" else uvloop.run


async def cancelled_after(seconds: float, work: Any) -> Any:
    """What a task answers that is cancelled after so long; None where it was."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(seconds)
    if task.cancel():
        with contextlib.suppress(asyncio.CancelledError):
            return await task
        return None
    return await task


async def test_a_validator_that_raises_stop_iteration_loses_nobody_else_s_outcome(run: Runner) -> None:
    def refuse(id: str, _: Any) -> None:
        if id == "3":
            raise StopIteration

    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        await songs.set_validator(refuse)
        saves = [songs.deferred.save({"id": str(number)}).submit() for number in range(8)]
        _, pending = await asyncio.wait(saves, timeout=WAIT)
        assert not pending
        failures = [save.exception() for save in saves if save.exception() is not None]
        assert [type(failure.__cause__) for failure in failures] == [StopIteration]
        assert await songs.count() == 7


async def test_an_event_that_cannot_be_told_keeps_no_other_that_came_with_it(
    run: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise MemoryError("mine")

    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        saves = [songs.deferred.save({"id": str(number)}).submit() for number in range(LIMITS.loop_batch)]
        saves[1]._submission.let_go = fail  # type: ignore[method-assign]
        time.sleep(0.3)  # of the loop, which then finds them all
        with caplog.at_level(logging.CRITICAL, "holdfast"):
            _, pending = await asyncio.wait(saves, timeout=WAIT)
        assert not pending


async def test_of_a_failure_behind_a_cancellation_nobody_need_hear(run: Runner) -> None:
    def too_late() -> None:
        raise holdfast.InvalidStateError("It is being stored.")

    unheard: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        await songs.add({"id": "s1"})
        future = songs.deferred.add({"id": "s1"}).submit()
        future._submission.withdraw = too_late  # type: ignore[method-assign]
        future.cancel()
        assert future.outcome is not None
        await asyncio.wait([future.outcome])
        del future
        gc.collect()
        assert not unheard


async def test_a_stop_iteration_reaches_whoever_awaits_a_future_of_the_blocking_package(
    run: Runner, store: holdfast.Store
) -> None:
    def refuse(*_: Any) -> None:
        raise StopIteration

    songs = store.repository("songs")
    songs.set_validator(refuse)

    with pytest.raises(RuntimeError) as raised:
        await asyncio.wait_for(songs.deferred.save({"id": "a"}), WAIT)
    assert isinstance(raised.value.__cause__, StopIteration)


async def test_a_function_on_a_thread_that_raises_stop_iteration_ends_the_wait_for_it(run: Runner) -> None:
    def upgrade(_: Any) -> None:
        raise StopIteration

    async with holdfast.aio.open("memory:") as store:
        await store.repository("songs").save({"id": "a"})
        with pytest.raises(RuntimeError):
            await asyncio.wait_for(store.upgrade({0: upgrade}), WAIT)


class Shelf(holdfast.StorageProvider):
    """In memory; reading "slow" waits for the gate."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.gate = threading.Event()

    def save(self, repository: str, id: str, body: bytes) -> None:
        self.bodies[id] = body

    def fetch(self, repository: str, id: str) -> Optional[bytes]:
        if id == "slow":
            self.gate.wait(WAIT)
        return self.bodies.get(id)

    def fetch_all(self, repository: str) -> Any:
        return list(self.bodies.items())

    def delete(self, repository: str, id: str) -> None:
        self.bodies.pop(id, None)


@pytest.mark.parametrize("end", ["a block's", "a failed block's", "a savepoint's"])
async def test_what_is_cancelled_while_its_end_waits_for_its_turn_goes_back(run: Runner, end: str) -> None:
    shelf, is_at_its_end = Shelf(), asyncio.Event()
    async with holdfast.aio.open_provider(shelf) as store:
        songs = store.repository("songs")
        reading: list[asyncio.Future[Any]] = []

        async def inside() -> None:
            async with store.savepoint() if end == "a savepoint's" else store.transaction():
                await songs.save({"id": "inside"})
                reading.append(asyncio.ensure_future(songs.fetch("slow")))
                await asyncio.sleep(0)
                is_at_its_end.set()
                if end != "a block's":
                    raise LookupError

        async with store.transaction():
            await songs.save({"id": "around"})
            part = asyncio.ensure_future(inside())
            await is_at_its_end.wait()
            part.cancel()
            asyncio.get_running_loop().call_later(0.1, shelf.gate.set)
            with pytest.raises(asyncio.CancelledError):
                await part
            await asyncio.gather(*reading)
        assert await songs.ids() == ["around"]


async def test_who_is_cancelled_while_a_rollback_waits_for_its_turn_rolls_back_and_is_cancelled(
    run: Runner,
) -> None:
    shelf = Shelf()
    async with holdfast.aio.open_provider(shelf) as store:
        songs = store.repository("songs")
        transaction = store.begin()

        async def read() -> None:
            with transaction.joined():
                await songs.fetch("slow")

        reading = asyncio.ensure_future(read())
        await asyncio.sleep(0.05)
        rolling_back = asyncio.ensure_future(transaction.rollback())
        await asyncio.sleep(0.05)
        rolling_back.cancel()
        asyncio.get_running_loop().call_later(0.05, shelf.gate.set)
        with pytest.raises(asyncio.CancelledError):
            await rolling_back
        await reading
        assert transaction.state is holdfast.TransactionState.ROLLED_BACK


async def test_the_loop_goes_on_while_a_cancelled_call_of_a_transaction_ends(run: Runner) -> None:
    shelf = Shelf()
    async with holdfast.aio.open_provider(shelf) as store:
        songs = store.repository("songs")

        async def read() -> None:
            async with store.transaction():
                await songs.fetch("slow")

        reading = asyncio.ensure_future(read())
        await asyncio.sleep(0.05)
        reading.cancel()
        # Nothing but this loop lets the read end, for which the rollback waits.
        asyncio.get_running_loop().call_later(0.1, shelf.gate.set)
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert time.monotonic() - began < WAIT / 2


async def test_cancelled_waits_lose_nothing_of_a_cursor(run: Runner) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        await songs.add_many({"id": f"{number:04}", "text": "x" * 300} for number in range(3000))
        found: list[Any] = []
        async with songs.iterate() as cursor:
            tries = 0
            while len(found) < 3000:
                tries += 1
                task = asyncio.ensure_future(anext_of(cursor))
                for _ in range(tries % 4):
                    await asyncio.sleep(0)
                if not task.done():
                    task.cancel()
                try:
                    found.append((await task)["id"])
                except asyncio.CancelledError:
                    await asyncio.sleep(0.0005)
                except StopAsyncIteration:
                    break
        assert found == [f"{number:04}" for number in range(3000)]


async def anext_of(iterator: Any) -> Any:
    return await iterator.__anext__()


async def test_tasks_that_share_a_cursor_get_each_entity_once(run: Runner) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        await songs.add_many({"id": f"{number:04}", "text": "x" * 300} for number in range(3000))
        found: list[Any] = []
        cursor = songs.iterate()

        async def work() -> None:
            async for song in cursor:
                found.append(song["id"])
                await asyncio.sleep(0)

        await asyncio.gather(*(work() for _ in range(4)))
        assert sorted(found) == [f"{number:04}" for number in range(3000)]


async def test_a_cursor_that_is_closed_while_it_is_opened_keeps_nothing(run: Runner) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        await songs.add({"id": "a"})
        cursor = songs.iterate()
        await cancelled_after(0, anext_of(cursor))
        await cursor.close()
        assert [song async for song in cursor] == []


def test_a_store_that_nobody_awaits_any_more_once_it_is_open_is_closed(
    run: Runner, path: str, recwarn: pytest.WarningsRecorder
) -> None:
    threads = threading.active_count()

    async def main() -> None:
        await cancelled_after(0, holdfast.aio.open(path)._open())
        while threading.active_count() > threads:
            await asyncio.sleep(0.01)

    run(asyncio.wait_for(main(), WAIT))
    gc.collect()
    assert [str(it.message) for it in recwarn] == [], "it is not left to whoever finds it forgotten"


async def test_whoever_waits_for_a_cursor_that_is_closed_gets_nothing_more(run: Runner) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        await songs.save_many([{"id": str(number), "text": 1000 * "x"} for number in range(1000)])
        cursor = songs.iterate()
        # Each in a wait of its own: for the cursor to be opened, and for a piece.
        for is_open in (False, True):
            if is_open:
                cursor = songs.iterate()
                await cursor.__anext__()
                cursor._piece = (iter(()), None, cursor._fetching)
            waiting = [asyncio.ensure_future(anext_of(cursor)) for _ in range(3)]
            await asyncio.sleep(0)
            await cursor.close()
            found = await asyncio.gather(*waiting, return_exceptions=True)
            assert [type(it) for it in found] == 3 * [StopAsyncIteration]


async def test_a_function_that_is_cancelled_before_its_commit_is_told_what_became_of_that(
    run: Runner,
) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")

        async def body() -> None:
            await songs.save({"id": "a"})
            await asyncio.sleep(WAIT)

        async def block() -> None:
            async with store.transaction():
                await body()

        for work in (lambda: store.transact(body), block):
            task = asyncio.ensure_future(work())
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            with pytest.raises(holdfast.CancelledError):
                await caught.value.outcome  # type: ignore[attr-defined]
        with pytest.raises(asyncio.TimeoutError) as timed_out:
            async with asyncio.timeout(0.05):
                await store.transact(body)
        with pytest.raises(holdfast.CancelledError):
            await timed_out.value.__cause__.outcome  # type: ignore[union-attr]
        assert await songs.count() == 0


@pytest.mark.parametrize("door", ["transact", "block", "operation", "submit", "part", "savepoint"])
async def test_who_is_cancelled_as_a_call_in_its_transaction_ends_is_told_that_nothing_is_stored(
    run: Runner, door: str, engine: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks: list[asyncio.Task[Any]] = []
    submit = LoopEvents.submit

    def submit_one_that_cancels(events: LoopEvents, submission: Any) -> Any:
        future = submit(events, submission)
        future.add_done_callback(lambda _: [task.cancel() for task in tasks])  # before it hears of the end
        return future

    monkeypatch.setattr(LoopEvents, "submit", submit_one_that_cancels)
    async with holdfast.aio.open("memory:" if engine == "memory" else path) as store:
        songs = store.repository("songs")

        async def body() -> None:
            tasks.append(asyncio.current_task())  # type: ignore[arg-type]
            await songs.save({"id": "a"})

        async def block() -> None:
            async with store.transaction() if door in ("block", "part") else store.savepoint():
                await body()

        async with store.transaction() if door in ("part", "savepoint") else contextlib.nullcontext():
            calls: dict[str, Callable[[], Any]] = {
                "transact": lambda: store.transact(body),
                "operation": store.operation(body).perform,
                "submit": lambda: store.submit(body),
            }
            with pytest.raises(asyncio.CancelledError) as caught:
                await asyncio.ensure_future(calls.get(door, block)())
            tasks.clear()
        with pytest.raises(holdfast.CancelledError):
            await caught.value.outcome  # type: ignore[attr-defined]
        assert await songs.count() == 0


async def test_a_cancelled_wait_leaves_a_stream_that_is_opening_as_it_is(run: Runner) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        await songs.save({"id": "first"})
        for _ in range(20):
            async with songs.changes() as changes:
                await cancelled_after(0, changes.next())
                await songs.save({"id": "before"})
                # It may have been opened before or behind that.
                await changes.__aenter__()
                await songs.save({"id": "a"})
                found: list[str] = []
                while "a" not in found:
                    found += [change.id for change in await changes.next(WAIT)]


async def test_a_cancelled_wait_leaves_a_stream_that_is_reopening_as_it_is(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast._inbox.Inbox.MOST_EVENTS", 2)

    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        await songs.save({"id": "first"})
        async with songs.changes() as changes:
            for number in range(50):
                await songs.save({"id": f"{number:02}"})
            found: list[str] = []
            tries = 0
            while len(found) < 50:
                tries += 1
                batch = await cancelled_after(0.0003 * (tries % 5), changes.next(WAIT))
                found += [change.id for change in batch or ()]
            assert found == [f"{number:02}" for number in range(50)]


async def test_a_wait_with_a_timeout_that_is_cancelled_is_cancelled(run: Runner) -> None:
    async with holdfast.aio.open("memory:") as store, store.changes() as changes:
        for _ in range(200):
            waiting = asyncio.ensure_future(changes.next(0.0005))
            await asyncio.sleep(0.0005)
            if waiting.cancel():
                with pytest.raises(asyncio.CancelledError):
                    await waiting
            else:
                with pytest.raises(holdfast.TimeoutError):
                    await waiting


def test_subscribing_in_another_loop_is_refused_once(run: Runner, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            changes = store.changes()

            async def subscribe() -> None:
                changes.subscribe(print)

            def elsewhere() -> None:
                with pytest.raises(holdfast.InvalidStateError, match="`aio` in another loop"):
                    asyncio.run(subscribe())

            await asyncio.wait_for(asyncio.to_thread(elsewhere), WAIT)

    with caplog.at_level(logging.ERROR, "holdfast"):
        run(main())
    assert caplog.records == []


async def test_a_stream_that_cannot_be_opened_tells_its_subscriber_once(run: Runner) -> None:
    async with holdfast.aio.open("memory:") as store:
        heard: list[BaseException] = []
        store.changes("no name").subscribe(print, on_error=heard.append)
        await asyncio.sleep(0.2)
        assert len(heard) == 1


def test_a_transaction_of_many_calls_keeps_what_it_takes_to_go_back_over_one() -> None:
    program = start_program("""
        import asyncio, resource
        import holdfast.aio

        async def main():
            async with holdfast.aio.open("memory:") as store:
                texts = store.repository("texts")
                await texts.save({"id": "a", "text": "x" * 300_000, "n": 0})
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                async with store.transaction() as transaction:
                    for number in range(600):
                        await texts.modify("a", {"$inc": {"n": 1}})
                    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
                    await transaction.rollback()

        asyncio.run(main())
    """)
    end = program.wait()
    assert end.returncode == 0, end.stderr
    assert int(end.stdout) < 60


async def test_what_completes_a_result_that_nobody_awaits_any_longer_is_told(run: Runner) -> None:
    kept: list[Callable[..., bool]] = []
    assert await cancelled_after(0.01, holdfast.aio.await_result(kept.append)) is None
    assert kept[0]("late") is False
