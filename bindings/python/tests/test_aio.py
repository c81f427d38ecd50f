"""holdfast.aio: the package under the same names, its calls awaited."""

import asyncio
import concurrent.futures
import inspect
import threading
from collections.abc import Awaitable
from typing import Any, Callable, Optional

import pytest
from described import Heard, Song, results
from loops import Run

import holdfast
import holdfast.aio
from holdfast import F


@pytest.fixture
def url(engine: str, path: str) -> str:
    return "memory:" if engine == "memory" else path


def test_it_has_the_package_s_names() -> None:
    assert set(holdfast.aio.__all__) == {*holdfast.__all__, "Opening"} - {"RepositoryMapping"}
    assert all(hasattr(holdfast.aio, name) for name in holdfast.aio.__all__)


ABSENT = {
    "Store": set(),
    "Repository": {"as_mapping", "pointer"},
    "Transaction": set(),
    "Operation": set(),
    "Cursor": set(),
    "Preferences": set(),
    "ChangeStream": set(),
    "LiveQuery": set(),
}


@pytest.mark.parametrize("name", ABSENT)
def test_a_class_has_the_methods_of_its_twin(name: str) -> None:
    twin, own = getattr(holdfast, name), getattr(holdfast.aio, name)
    assert own is not twin
    missing = {it for it in dir(twin) if not it.startswith("_") and not hasattr(own, it)}
    assert missing <= ABSENT[name] | {"deferred"}
    for member, method in vars(own).items():
        function = method.fget if isinstance(method, property) else method
        if inspect.isfunction(function) and not member.startswith("_"):
            assert function.__doc__, member


async def test_every_call_answers_what_the_repository_s_does(run: Run, url: str) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.repository("songs", cls=Song)
        for operation, expected in results(songs):
            assert await operation == expected, operation
        for call, expected in (
            (songs.add(Song("b", 2)), Song("b", 2)),
            (songs.update(Song("b", 3)), Song("b", 3)),
            (songs.save(Song("c", 4)), Song("c", 4)),
            (songs.patch("c", {"plays": 5}), Song("c", 5)),
            (songs.modify("d", {"$inc": {"plays": 1}}, initial={"plays": 1}), Song("d", 2)),
            (songs.add_many([Song("e")]), [Song("e")]),
            (songs.update_many([Song("e", 1)]), [Song("e", 1)]),
            (songs.save_many([Song("f", 6)]), [Song("f", 6)]),
            (songs.patch_many([{"id": "f", "plays": 7}]), [Song("f", 7)]),
            (songs.modify_all(F.plays == 7, {"$inc": {"plays": 1}}), holdfast.ModifyResult(1, 1)),
            (songs.fetch("f"), Song("f", 8)),
            (songs.fetch_bytes("f"), b'{"id":"f","plays":8}'),
            (songs.fetch_many(["f"]), [Song("f", 8)]),
            (songs.contains("f"), True),
            (songs.delete("f"), None),
            (songs.delete_many(["e"]), None),
            (songs.ids(), list("abcd")),
            (songs.find(F.plays > 2, sort={"plays": -1}), [Song("c", 5), Song("b", 3)]),
            (songs.first(F.plays == 2), Song("d", 2)),
            (songs.count(), 4),
            (songs.exists(F.plays == 2), True),
            (songs.distinct("plays"), [1, 2, 3, 5]),
            (songs.delete_all(F.plays < 3), 2),
            (songs.fetch_all(), [Song("b", 3), Song("c", 5)]),
        ):
            assert await call == expected, call
        fetched = await songs.fetch_versioned("b")
        with pytest.raises(holdfast.VersionMismatchError):
            await songs.update(Song("b"), fetched[1] + 100)


async def test_calls_that_the_library_has_no_asynchronous_form_of(run: Run, url: str) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.repository("songs")
        await songs.add_many({"id": str(number), "plays": number} for number in range(3000))
        await songs.create_index("plays", name="played")
        assert [index["name"] for index in await songs.indexes()] == ["played"]
        assert (await songs.explain({"plays": 7}))["index"] == "played"
        assert (await songs.verify())["ok"]
        await songs.drop_index("played")
        assert len([song async for song in songs]) == 3000
        async with songs.iterate({"plays": {"$lt": 2}}, fields=["plays"]) as cursor:
            assert [song async for song in cursor] == [{"id": "0", "plays": 0}, {"id": "1", "plays": 1}]
        async with store.transaction():
            await songs.delete_all({"plays": {"$gt": 0}})
            assert [song["id"] async for song in songs] == ["0"]
        await store.sync()
        assert (await store.describe())["repositories"] == [{"name": "songs", "key": "id"}]
        assert await store.position()


async def test_a_repository_is_known_by_its_key(run: Run, path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs", key="code").add({"code": "s1"})

    async with holdfast.aio.open(path) as store:
        assert store.repository("songs").key == "code"
        assert await store.repository("songs").ids() == ["s1"]
        await store.repository("artists", key="name").save({"name": "Patti"})
        assert await store.repository("artists", key="name").ids() == ["Patti"]


# --- Transactions ----------------------------------------------------------------------------------


async def test_a_transaction_is_stored_as_a_whole_or_not_at_all(run: Run, url: str) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.repository("songs")
        async with store.transaction() as transaction:
            await songs.add({"id": "s1"})
            async with store.transaction() as inner:
                assert inner is transaction
                await songs.add({"id": "s2"})
            with pytest.raises(LookupError):
                async with store.savepoint():
                    await songs.delete("s1")
                    raise LookupError
            with pytest.raises(holdfast.InvalidStateError):
                songs.deferred.count().submit()
            # Other tasks that are created here are in it too, those that were there are not.
            await asyncio.gather(songs.add({"id": "s3"}), songs.add({"id": "s4"}))
        assert len(transaction.receipt.changes) == 4
        with pytest.raises(LookupError):
            async with store.transaction():
                await songs.delete_all()
                raise LookupError
        assert await songs.count() == 4
        explicit = store.begin()
        with explicit.joined():
            await songs.delete("s1")
        assert (await explicit.commit()).changes[0].id == "s1"
        with pytest.raises(holdfast.InvalidStateError):
            await explicit.rollback()


async def test_a_function_runs_again_after_a_conflict(run: Run, url: str) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.repository("songs")
        await songs.add({"id": "s1", "plays": 0})

        @store.transactional
        async def play() -> int:
            song = await songs.fetch("s1")
            song["plays"] += 1
            await songs.update(song)
            return song["plays"]

        await asyncio.gather(*[play() for _ in range(50)])
        assert (await songs.fetch("s1"))["plays"] == 50
        value, receipt = await store.transact(play, receipt=True)
        assert (value, receipt.attempts) == (51, 1)
        assert await store.submit(play) == 52
        operation = store.operation(play)
        assert [await operation, await operation.perform()] == [53, 54]

        async def lose() -> None:
            await songs.fetch("s1")
            with concurrent.futures.ThreadPoolExecutor(1) as executor:  # where nothing is current
                executor.submit(store._blocking.repository("songs").save, {"id": "s1"}).result()
            await songs.save({"id": "s1", "plays": 1})

        with pytest.raises(holdfast.ConflictError):
            await store.transact(lose, max_attempts=2)


async def test_a_function_that_is_not_awaited_is_refused_with_the_cure(run: Run, url: str) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.blocking.repository("songs")

        def work() -> Any:
            return songs.save({"id": "s1"})

        for call in (store.transact, store.submit, lambda fn: store.operation(fn).perform()):
            with pytest.raises(TypeError, match=r"store\.blocking"):
                await call(work)  # type: ignore[arg-type]
        async with store.transaction():
            with pytest.raises(TypeError, match=r"store\.blocking"):
                await store.transact(work)  # type: ignore[arg-type]
        assert songs.ids() == [], "and what it wrote is rolled back"


async def test_an_idempotency_key_runs_a_function_once(run: Run, url: str) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.repository("songs")
        runs = []

        async def add() -> str:
            runs.append(await songs.add({"plays": 1}))
            return "added"

        first = await store.transact(add, idempotency_key="order 17", receipt=True)
        again = await store.transact(add, idempotency_key="order 17", receipt=True)
        assert (first[0], again[0], len(runs)) == ("added", None, 1)
        assert again[1].replayed and again[1].sequence == first[1].sequence
        sequence = store.sequence(songs.deferred.count(), idempotency_key="order 17")
        assert await sequence is None


async def test_of_the_same_request_many_times_at_once_one_is_stored_and_all_get_its_receipt(
    run: Run, url: str
) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.repository("songs")

        async def request(number: int) -> holdfast.Receipt:
            async def add() -> None:
                await songs.add({"number": number})

            _, receipt = await store.transact(add, idempotency_key="order 17", receipt=True)
            return receipt

        receipts = await asyncio.gather(*map(request, range(20)))
        assert await songs.count() == 1
        assert len({receipt.sequence for receipt in receipts}) == 1
        assert [receipt.replayed for receipt in receipts].count(False) == 1


# --- Cancelling ------------------------------------------------------------------------------------


async def cancelled(task: "asyncio.Task[Any]") -> asyncio.CancelledError:
    """The error with which a cancelled task ended."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as raised:
        await task
    return raised.value


async def told(commit: Awaitable[Any]) -> Any:
    """What became of a commit whose task may be cancelled meanwhile."""
    try:
        return await commit
    except asyncio.CancelledError as error:
        return await error.outcome  # type: ignore[attr-defined]


async def test_a_cancelled_commit_is_withdrawn_or_its_outcome_told(run: Run, url: str) -> None:
    withdrawn = 0
    async with holdfast.aio.open(url, max_in_flight=300) as store:
        songs = store.repository("songs")
        for turn in range(4):
            names = [f"{turn}-{number}" for number in range(400)]
            tasks = [asyncio.ensure_future(told(songs.add({"id": name}))) for name in names]
            await asyncio.sleep(0.0005 * turn)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for name, task in zip(names, tasks):
                try:
                    outcome = await task
                except holdfast.CancelledError:
                    withdrawn += 1
                    assert not await songs.contains(name)
                else:
                    assert outcome == {"id": name}
                    assert await songs.contains(name)
        assert withdrawn


async def test_a_time_out_leaves_a_commit_that_is_being_stored_alone(run: Run, path: str) -> None:
    async with holdfast.aio.open(path) as store:
        songs = store.repository("songs")
        seen = set()
        for number in range(150):
            future = songs.deferred.add({"id": number}).submit()
            try:
                # As long as a commit takes, more or less.
                await asyncio.wait_for(future, 0.00002 * number)
            except (asyncio.TimeoutError, TimeoutError):
                try:
                    seen.add((await (future.outcome or future))["id"] == number)
                except holdfast.CancelledError:
                    seen.add("withdrawn")
                    assert not await songs.contains(number)
                    continue
            assert await songs.contains(number)
        assert "withdrawn" in seen


# It came with Python 3.11.
async def test_asyncio_timeout_ends_a_wait_and_tells_the_outcome(run: Run, url: str) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.repository("songs")
        with pytest.raises(TimeoutError) as raised:
            async with asyncio.timeout(0):
                await songs.add({"id": "s1"})
        outcome: Optional[Any] = getattr(raised.value.__cause__, "outcome", None)
        stored = False
        if outcome is not None:  # else it was cancelled before it was submitted
            stored = isinstance((await asyncio.gather(outcome, return_exceptions=True))[0], dict)
        assert await songs.contains("s1") is stored


async def test_a_cancelled_transaction_is_rolled_back(run: Run, url: str) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.repository("songs")
        await songs.add_many({"id": str(number)} for number in range(1000))

        async def change() -> None:
            async with store.transaction():
                await songs.save({"id": "s1"})
                while True:
                    await songs.fetch_all()

        for turn in range(10):
            task = asyncio.ensure_future(change())
            await asyncio.sleep(0.002 * turn)
            await cancelled(task)
        assert not await songs.contains("s1")
        assert (await store.describe())["transactions"] == 0


async def test_a_withdrawn_commit_leaves_one_too_late_alone(run: Run, url: str) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.repository("songs")
        for number in range(200):
            heard = Heard()
            operation = songs.deferred.add({"id": number})
            subscription = operation.subscribe(heard.value, heard.finished, heard.error)
            if number % 2:
                await asyncio.sleep(0)
            was_cancelled = subscription.cancel()
            while not heard.events or heard.events == [("value", {"id": number})]:
                await asyncio.sleep(0)
            assert (heard.events == [holdfast.CancelledError]) is was_cancelled
            assert await songs.contains(number) is not was_cancelled
            assert heard.threads == {threading.current_thread().name}


# --- Life ------------------------------------------------------------------------------------------


async def test_closing_finishes_what_was_submitted(run: Run, url: str) -> None:
    store = await holdfast.aio.open(url, max_in_flight=10)
    songs = store.repository("songs")
    futures = [songs.deferred.save({"id": number}).submit() for number in range(100)]
    await store.close()
    assert {type(future.exception()) for future in futures} <= {type(None), holdfast.ClosedError}
    assert futures[0].receipt is not None
    await store.close()
    with pytest.raises(holdfast.ClosedError):
        await songs.count()


async def test_opening_tells_what_is_wrong(run: Run, tmp_path: Any) -> None:
    with pytest.raises(holdfast.CannotOpenError):
        await holdfast.aio.open(tmp_path / "none" / "store.db")
    opening = asyncio.ensure_future(holdfast.aio.open(tmp_path / "store.db")._open())
    await asyncio.sleep(0)
    await cancelled(opening)
    # What was opened all the same is closed again.
    for _ in range(1000):
        try:
            store = await holdfast.aio.open(tmp_path / "store.db")
            break
        except holdfast.BusyError:
            await asyncio.sleep(0.01)
    await store.close()


@pytest.mark.parametrize("step", ["describe", "add_reader"])
async def test_a_store_whose_opening_fails_late_is_closed(
    run: Run, path: str, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError("there is none")

    owner: Any = holdfast.Store if step == "describe" else asyncio.get_running_loop()
    monkeypatch.setattr(owner, step, fail)
    with pytest.raises(OSError, match="there is none") as kept:
        await holdfast.aio.open(path)
    monkeypatch.undo()
    async with holdfast.aio.open(path):
        assert kept.value


def test_a_store_belongs_to_the_loop_that_it_was_opened_in(run: Run) -> None:
    store = run(holdfast.aio.open("memory:")._open())

    async def elsewhere() -> None:
        await store.repository("songs").count()

    with pytest.raises(holdfast.InvalidStateError):
        asyncio.run(elsewhere())
    run(store.close())


def test_a_store_that_is_forgotten_is_told_of_and_closed(run: Run) -> None:
    async def main() -> None:
        await (await holdfast.aio.open("memory:")).repository("songs").add({"id": "s1"})

    with pytest.warns(ResourceWarning, match="unclosed store"):
        run(main())


async def test_await_result_awaits_what_a_callback_tells(run: Run) -> None:
    answers: list[bool] = []
    timers: list[threading.Timer] = []

    def starter(done: Callable[..., bool]) -> None:
        timers.append(threading.Timer(0.01, lambda: answers.extend([done("first"), done("second")])))
        timers[0].start()

    assert await holdfast.aio.await_result(starter) == "first"
    timers[0].join()
    assert answers == [True, False]
    with pytest.raises(LookupError):
        await holdfast.aio.await_result(lambda done: done(error=LookupError()), timeout=0)
    kept: list[Callable[..., bool]] = []
    with pytest.raises(holdfast.TimeoutError, match="zone 4") as raised:
        await holdfast.aio.await_result(kept.append, 0, "zone 4")
    assert kept[0](17)
    assert (await raised.value.future, raised.value.identifier) == (17, "zone 4")


# --- Scale -----------------------------------------------------------------------------------------


async def test_ten_thousand_await_on_one_thread_and_the_loop_goes_on(
    run: Run, path: str, record_property: Any
) -> None:
    async with holdfast.aio.open(path) as store:
        songs = store.repository("songs")
        await songs.add({"id": "first"})
        threads = threading.active_count()
        late: list[float] = []
        most = 0

        async def tick() -> None:
            nonlocal most
            loop = asyncio.get_running_loop()
            while True:
                due = loop.time() + 0.001
                await asyncio.sleep(0.001)
                late.append(loop.time() - due)
                most = max(most, threading.active_count())

        async def write(number: int) -> None:
            await songs.save({"id": number})
            await songs.modify(number, {"$inc": {"plays": 1}})

        ticking = asyncio.ensure_future(tick())
        await asyncio.gather(*[write(number) for number in range(10_000)])
        await cancelled(ticking)
        assert await songs.count({"plays": 1}) == 10_000
        assert most == threads
        late.sort()
        print(f"ticks: {len(late)}, late by {late[len(late) * 99 // 100] * 1000:.2f} ms (99 of 100 by less)")
