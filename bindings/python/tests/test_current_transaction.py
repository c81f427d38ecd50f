"""Which transaction is the current one: in generators, threads, tasks, and what a loop calls later."""

import asyncio
import contextlib
import contextvars
import gc
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any, Callable

import pytest
import uvloop
from actions import WAIT, save
from nodes import Family
from threads import in_thread, in_threads

import holdfast
import holdfast.aio

Songs = holdfast.Repository[dict[str, Any]]
Runner = Callable[..., Any]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Runner:
    """Runs a coroutine on either loop."""
    return asyncio.run if request.param == "asyncio" else uvloop.run


# --- Generators --------------------------------------------------------------------------------------


def test_a_generator_that_is_left_by_break_takes_nothing_of_what_its_caller_saves(
    store: holdfast.Store, songs: Songs
) -> None:
    def numbers() -> Iterator[int]:
        with store.transaction():
            songs.save({"id": "inside"})
            yield 1
            yield 2

    generator = numbers()
    for _ in generator:
        break
    assert store.current_transaction is None
    songs.save({"id": "outside"})
    generator.close()
    assert songs.ids() == ["outside"]


def test_what_a_generator_calls_while_it_runs_joins_its_transaction(
    store: holdfast.Store, songs: Songs
) -> None:
    def stored() -> Iterator[int]:
        with store.transaction():
            for number in range(3):
                songs.save({"id": str(number)})
                yield songs.count()

    generator = stored()
    assert next(generator) == 1
    assert songs.count() == 0
    assert list(generator) == [2, 3]
    assert songs.count() == 3


@pytest.mark.parametrize("manually", [False, True])
def test_interleaved_generators_leave_no_transaction_behind(
    manually: bool, store: holdfast.Store, songs: Songs
) -> None:
    def saving(id: str) -> Iterator[None]:
        if manually:
            with contextlib.ExitStack() as stack:
                stack.enter_context(store.begin())
                songs.save({"id": id})
                yield
        else:
            with store.transaction():
                songs.save({"id": id})
                yield

    one, other = saving("one"), saving("other")
    next(one)
    next(other)
    assert list(one) == []
    songs.save({"id": "between"})
    assert list(other) == []
    assert store.current_transaction is None
    songs.save({"id": "behind"})
    assert songs.ids() == ["behind", "between", "one", "other"]


def test_a_generator_that_another_thread_ends_leaves_nothing_here(
    store: holdfast.Store, songs: Songs
) -> None:
    def saving() -> Iterator[None]:
        with store.transaction():
            songs.save({"id": "inside"})
            yield

    generator = saving()
    next(generator)
    ending = threading.Thread(target=lambda: list(generator))
    ending.start()
    ending.join()
    songs.save({"id": "behind"})
    assert songs.ids() == ["behind", "inside"]


def test_a_generator_stays_in_its_transaction_in_whatever_context_it_runs_on(
    store: holdfast.Store, songs: Songs
) -> None:
    def saving() -> Iterator[None]:
        with store.transaction():
            for id in "abcd":
                songs.save({"id": id})
                assert songs.count() == len(songs.ids())
                yield
            raise LookupError

    def run_on() -> None:
        next(generator)
        assert store.current_transaction is None

    generator = saving()
    next(generator)
    in_thread(run_on)
    contextvars.copy_context().run(run_on)
    with store.transaction():
        songs.save({"id": "by its caller"})
        next(generator)
        assert songs.ids() == ["by its caller"]
    with pytest.raises(LookupError):
        next(generator)
    assert songs.ids() == ["by its caller"]


def test_a_generator_stays_in_its_transaction_behind_a_block_inside_it_wherever_it_runs_on(
    store: holdfast.Store, songs: Songs
) -> None:
    def saving() -> Iterator[None]:
        with store.transaction():
            songs.save({"id": "a"})
            with store.transaction():
                songs.save({"id": "b"})
            yield
            songs.save({"id": "c"})
            raise LookupError

    def run_on() -> None:
        with pytest.raises(LookupError):
            next(generator)

    generator = saving()
    next(generator)
    in_thread(run_on)
    assert songs.ids() == []


def test_a_transaction_that_was_entered_and_that_nobody_has_any_more_is_rolled_back(
    store: holdfast.Store, songs: Songs
) -> None:
    def enter() -> None:
        store.begin().__enter__()
        gc.collect()
        assert store.current_transaction is None
        songs.save({"id": "by itself"})

    contextvars.copy_context().run(enter)
    assert songs.ids() == ["by itself"]
    assert store.describe()["transactions"] == 0


async def test_an_asynchronous_generator_stays_in_its_transaction_whichever_task_asks_it(run: Runner) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")

        async def saving() -> AsyncIterator[None]:
            async with store.transaction():
                for id in "abc":
                    await songs.save({"id": id})
                    yield
                async with store.transaction():
                    await asyncio.gather(songs.save({"id": "d"}), songs.save({"id": "e"}))
                    yield

        generator = saving()
        for _ in "abcd":
            await asyncio.ensure_future(generator.__anext__())
        assert await songs.ids() == []
        await generator.aclose()
        assert await songs.ids() == []


def test_a_context_manager_that_is_written_as_a_generator_opens_it_for_the_block_it_manages(
    store: holdfast.Store, songs: Songs
) -> None:
    @contextlib.contextmanager
    def unit_of_work() -> Iterator[holdfast.Transaction]:
        with store.transaction() as transaction:
            yield transaction

    with pytest.raises(LookupError), unit_of_work() as transaction:
        assert store.current_transaction is transaction
        songs.save({"id": "a"})
        raise LookupError
    assert songs.count() == 0

    def numbers() -> Iterator[int]:
        with unit_of_work():
            yield 1

    for _ in numbers():
        assert store.current_transaction is None


async def test_an_asynchronous_generator_keeps_its_transaction_to_itself_and_to_the_tasks_it_begins(
    run: Runner,
) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")

        async def saving() -> AsyncIterator[int]:
            async with store.transaction():
                await asyncio.gather(*(songs.save({"id": str(number)}) for number in range(5)))
                yield await songs.count()
                await songs.save({"id": "second"})
                yield 2

        generator = saving()
        async for count in generator:
            assert count == 5
            break
        assert store.current_transaction is None
        await songs.save({"id": "outside"})
        await generator.aclose()
        assert await songs.ids() == ["outside"]


async def test_an_asynchronous_context_manager_opens_it_for_its_block(run: Runner) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")

        @contextlib.asynccontextmanager
        async def unit_of_work() -> AsyncIterator[None]:
            async with store.transaction():
                yield

        with pytest.raises(LookupError):
            async with unit_of_work():
                await asyncio.gather(songs.save({"id": "a"}), songs.save({"id": "b"}))
                raise LookupError
        assert await songs.count() == 0


# --- Threads -----------------------------------------------------------------------------------------


def test_a_transaction_can_be_joined_by_two_threads_at_once(store: holdfast.Store, songs: Songs) -> None:
    transaction = store.begin()
    first_is_in, second_is_in, first_is_out = threading.Event(), threading.Event(), threading.Event()
    seen: list[Any] = []

    def first() -> None:
        with transaction.joined():
            first_is_in.set()
            second_is_in.wait(WAIT)
            songs.save({"id": "first"})
        seen.append(store.current_transaction)
        first_is_out.set()

    def second() -> None:
        first_is_in.wait(WAIT)
        with transaction.joined():
            second_is_in.set()
            first_is_out.wait(WAIT)
            songs.save({"id": "second"})
        seen.append(store.current_transaction)

    in_threads(lambda target: target(), (first, second))
    assert seen == [None, None]
    assert songs.count() == 0
    transaction.commit()
    assert songs.ids() == ["first", "second"]


# --- Behind the block --------------------------------------------------------------------------------


def test_a_task_that_outlives_the_block_stores_nothing_by_itself_but_may_begin_anew(run: Runner) -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            songs = store.repository("songs")
            is_over = asyncio.Event()

            async def late() -> None:
                await is_over.wait()
                with pytest.raises(holdfast.InvalidStateError, match="transaction of its own"):
                    await songs.save({"id": "late"})
                async with store.transaction():
                    await songs.save({"id": "anew"})
                await store.transact(lambda: songs.save({"id": "run"}))

            with contextlib.suppress(LookupError):
                async with store.transaction():
                    task = asyncio.create_task(late())
                    raise LookupError
            is_over.set()
            await task
            assert await songs.ids() == ["anew", "run"]

    run(main())


def test_a_reader_that_was_added_in_a_block_may_save_behind_it(run: Runner, songs: Songs) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        called = loop.create_future()
        with songs.store.transaction():
            loop.call_later(0.01, lambda: called.set_result(songs.save({"id": "a"})))
        await called

    run(main())
    assert songs.ids() == ["a"]


def test_a_store_that_was_opened_in_a_block_of_another_calls_its_functions_outside_of_that(
    run: Runner, songs: Songs
) -> None:
    async def main() -> None:
        saved = asyncio.Event()

        def on_state(_: Any) -> None:
            songs.save({"id": "heard"})
            saved.set()

        with songs.store.transaction():
            store = await holdfast.aio.open("memory:")
            controller = holdfast.aio.Controller(store.repository("states"), on_state=on_state)
            await controller.dispatch(save({"id": "a"}))
            await asyncio.wait_for(saved.wait(), WAIT)
            assert songs.store.current_transaction.state is holdfast.TransactionState.OPEN
            songs.store.current_transaction.rollback()
        await controller.close()
        await store.close()

    run(main())
    assert songs.ids() == ["heard"]


def test_a_collected_generator_rolls_back_and_nothing_else(store: holdfast.Store, songs: Songs) -> None:
    def saving() -> Iterator[None]:
        with store.transaction():
            songs.save({"id": "inside"})
            yield

    cycle: list[Any] = [saving()]
    cycle.append(cycle)
    next(cycle[0])
    songs.save({"id": "outside"})
    del cycle
    gc.collect()
    songs.save({"id": "behind"})
    assert songs.ids() == ["behind", "outside"]


# --- Ended transactions ------------------------------------------------------------------------------


def lose_a_race(store: holdfast.Store, songs: Songs) -> holdfast.Transaction:
    songs.save({"id": "a", "plays": 0})
    transaction = store.begin()
    with transaction.joined():
        songs.patch("a", {"plays": 1})
    songs.patch("a", {"plays": 2})
    return transaction


def test_rolling_back_after_a_failed_commit_leaves_the_conflict_to_be_raised(
    store: holdfast.Store, songs: Songs
) -> None:
    transaction = lose_a_race(store, songs)
    with pytest.raises(holdfast.ConflictError):
        try:
            transaction.commit()
        except BaseException:
            transaction.rollback()
            raise
    with pytest.raises(holdfast.InvalidStateError):
        transaction.commit()
    committed = store.begin()
    committed.commit()
    with pytest.raises(holdfast.InvalidStateError):
        committed.rollback()


async def test_rolling_back_after_a_failed_commit_leaves_the_conflict_to_be_awaited(run: Runner) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        await songs.save({"id": "a", "plays": 0})
        transaction = store.begin()
        with transaction.joined():
            await songs.patch("a", {"plays": 1})
        await songs.patch("a", {"plays": 2})
        with pytest.raises(holdfast.ConflictError):
            try:
                await transaction.commit()
            finally:
                await transaction.rollback()


# --- Submitted on the event thread -------------------------------------------------------------------


def on_event_thread(store: holdfast.Store, songs: Songs, function: Callable[[], Any]) -> Any:
    """What a function answers that a stream calls."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    changes = store.changes()

    def hear(_: Any) -> None:
        changes.close()
        answers.put(function())

    changes.subscribe(hear)
    songs.save({"id": "first"})
    return answers.get(timeout=WAIT)


def test_a_tree_that_refuses_what_the_event_thread_submits_is_rolled_back(
    store: holdfast.Store, songs: Songs, family: Family
) -> None:
    def refuse() -> None:
        raise LookupError

    family.leaf.hooks["validate"] = refuse
    future = on_event_thread(
        store, songs, lambda: store.submit(lambda: songs.save({"id": "a"}), trees=[family.root])
    )
    with pytest.raises(LookupError):
        future.result(WAIT)
    assert not family.root.transaction_is_active
    assert songs.ids() == ["first"]
    assert family.leaf.counts()[3] == 1


def test_a_conflict_of_a_tree_that_the_event_thread_submits_runs_the_function_again(
    store: holdfast.Store, songs: Songs, family: Family
) -> None:
    runs: list[Any] = []

    def read() -> int:
        found = songs.fetch("a")
        runs.append(found)
        if len(runs) == 1:
            saving = threading.Thread(target=lambda: songs.save({"id": "a"}))
            saving.start()
            saving.join()
        return len(runs)

    future = on_event_thread(store, songs, lambda: store.submit(read, trees=[family.root]))
    assert future.result(WAIT) == 2
    assert runs == [None, {"id": "a"}]
    assert not family.root.transaction_is_active
