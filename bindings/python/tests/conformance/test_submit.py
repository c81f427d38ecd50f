"""Asynchronous commits and their futures."""

import asyncio
import concurrent.futures
import contextvars
import logging
import threading
import time
from typing import Any, Callable

import pytest
from threads import hold_event_thread, in_thread, in_threads

import holdfast

Songs = holdfast.Repository[dict[str, Any]]
OpenStore = Callable[..., holdfast.Store]


def test_a_future_is_completed_with_the_value_once_the_commit_is_stored(
    store: holdfast.Store, songs: Songs
) -> None:
    future = store.submit(lambda: songs.add({"id": "s1"})["id"])
    assert future.result(120) == "s1"
    assert future.receipt is not None and future.receipt.changes[0].id == "s1"
    assert songs.contains("s1")


def test_a_transaction_submitted_by_hand_answers_its_receipt(store: holdfast.Store, songs: Songs) -> None:
    transaction = store.begin()
    with transaction.joined():
        songs.save({"id": "s1"})
    future = transaction.submit()
    receipt = future.result(120)
    assert receipt == future.receipt == transaction.receipt
    assert transaction.state is holdfast.TransactionState.COMMITTED
    with pytest.raises(holdfast.InvalidStateError):
        transaction.submit()


def test_ten_thousand_commits_complete_once_each_in_commit_order(store: holdfast.Store, songs: Songs) -> None:
    completed: list[Any] = []
    futures = []
    for number in range(10_000):
        future = store.submit(lambda number=number: songs.save({"id": f"{number:05}"}) and number)
        future.add_done_callback(completed.append)
        futures.append(future)
    concurrent.futures.wait(futures, 120)
    assert [future.result(0) for future in futures] == list(range(10_000))
    assert len(completed) == 10_000 and set(map(id, completed)) == set(map(id, futures))
    sequences = [future.receipt.sequence for future in futures]
    assert sequences == sorted(set(sequences))
    assert songs.count() == 10_000
    in_order = [future.receipt.sequence for future in completed]
    # A callback that was added after the completion ran at once, on the submitting thread: those stand
    # somewhere among the others, each one only once.
    assert sorted(in_order) == sequences


def test_callbacks_added_before_the_completion_run_in_commit_order(open_store: OpenStore) -> None:
    store = open_store()
    songs = store.repository("songs")
    transactions = []
    for number in range(500):
        transactions.append(store.begin())
        with transactions[-1].joined():
            songs.save({"id": str(number)})
    order: list[int] = []
    gate = hold_event_thread(store)
    futures = [transaction.submit() for transaction in transactions]
    for future in futures:
        future.add_done_callback(lambda future: order.append(future.receipt.sequence))
    gate.set()
    concurrent.futures.wait(futures, 120)
    store.close()
    assert len(order) == 500
    assert order == sorted(order)


def test_what_a_future_tells_of_is_seen_by_a_transaction_begun_after_it(
    store: holdfast.Store, songs: Songs
) -> None:
    for number in range(50):
        store.submit(lambda number=number: songs.save({"id": "s1", "plays": number})).result(120)
        with store.transaction():
            assert songs["s1"]["plays"] == number


def test_an_exception_of_the_first_run_is_raised_at_once_and_nothing_is_stored(
    store: holdfast.Store, songs: Songs
) -> None:
    def fn() -> None:
        songs.add({"id": "s1"})
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        store.submit(fn)
    assert songs.count() == 0
    assert store.describe()["transactions"] == 0


def losing_race(songs: Songs, races: int, seen: list[Any]) -> Callable[[], Any]:
    """A function that reads, is overtaken by another writer that many times, and then writes."""

    def fn() -> Any:
        entity = songs.fetch("s1")
        seen.append((entity and entity["plays"], threading.current_thread()))
        if len(seen) <= races:
            in_thread(lambda: songs.save({"id": "s1", "plays": len(seen)}))
        songs.save({"id": "s2", "saw": entity and entity["plays"]})
        return entity and entity["plays"]

    return fn


def test_a_function_runs_again_after_a_conflict_on_a_thread_of_its_own(
    store: holdfast.Store, songs: Songs
) -> None:
    seen: list[Any] = []
    future = store.submit(losing_race(songs, 2, seen))
    assert future.result(120) == 2
    assert [value for value, _ in seen] == [None, 1, 2]
    assert seen[0][1] is threading.current_thread()
    assert {thread.name.split("_")[0] for _, thread in seen[1:]} == {"holdfast-worker"}
    assert future.receipt is not None and future.receipt.changes[0].id == "s2"
    assert songs["s2"] == {"id": "s2", "saw": 2}


def test_a_conflict_met_in_the_first_run_leads_to_another(store: holdfast.Store) -> None:
    runs = []

    def fn() -> str:
        runs.append(1)
        if len(runs) < 3:
            raise holdfast.ConflictError("lost")
        return "done"

    assert store.submit(fn).result(120) == "done"


def test_the_conflict_is_the_outcome_when_the_attempts_are_used_up(
    store: holdfast.Store, songs: Songs
) -> None:
    for attempts in (1, 3):
        seen: list[Any] = []
        future = store.submit(losing_race(songs, 99, seen), max_attempts=attempts)
        assert isinstance(future.exception(120), holdfast.ConflictError)
        assert len(seen) == attempts
        assert future.receipt is None
        songs.delete("s1")


def test_it_runs_again_in_the_context_in_which_it_was_submitted(store: holdfast.Store) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="nothing")
    seen = []

    def fn() -> None:
        seen.append(variable.get())
        if len(seen) < 3:
            raise holdfast.ConflictError("lost")

    def submit() -> Any:
        variable.set("the submitter's")
        return store.submit(fn)

    contextvars.copy_context().run(submit).result(120)
    assert seen == ["the submitter's"] * 3


def test_the_time_is_for_all_runs_together(store: holdfast.Store, songs: Songs) -> None:
    runs = []

    def fn() -> None:
        runs.append(songs.fetch("s1"))
        time.sleep(0.3)
        if len(runs) == 1:
            in_thread(lambda: songs.save({"id": "s1"}))
        songs.save({"id": "s2"})

    # The first run takes nearly all of it, so that the second cannot end in time.
    future = store.submit(fn, timeout=0.4)
    assert isinstance(future.exception(120), (holdfast.TimeoutError, holdfast.ConflictError))
    assert not songs.contains("s2")


def test_an_exception_of_a_later_run_is_the_future_s(store: holdfast.Store, songs: Songs) -> None:
    runs = []
    mine = LookupError("mine")

    def fn() -> None:
        runs.append(1)
        if len(runs) > 1:
            raise mine
        raise holdfast.ConflictError("lost")

    assert store.submit(fn).exception(120) is mine
    assert songs.count() == 0
    mine.__traceback__ = None


def test_many_that_want_the_same_entity_all_get_their_turn(store: holdfast.Store, songs: Songs) -> None:
    songs.add({"id": "s1", "plays": 0})

    def play() -> None:
        songs.patch("s1", {"plays": songs["s1"]["plays"] + 1})

    futures = [store.submit(play, max_attempts=1000) for _ in range(100)]
    for future in futures:
        future.result(120)
    assert songs["s1"]["plays"] == 100


def test_a_commit_withdrawn_in_time_leaves_nothing(store: holdfast.Store, songs: Songs) -> None:
    futures = []
    for number in range(2000):
        futures.append(store.submit(lambda number=number: songs.save({"id": str(number)})))
        futures[-1].cancel()
    _, waiting = concurrent.futures.wait(futures, 120)
    assert not waiting
    for number, future in enumerate(futures):
        assert songs.contains(number) is not future.cancelled()
        if future.cancelled():
            assert future.cancel() is True
            with pytest.raises(concurrent.futures.CancelledError):
                future.result(0)
        else:
            assert future.cancel() is False
    assert any(future.cancelled() for future in futures)


def test_a_callback_that_fails_harms_no_other(
    store: holdfast.Store, songs: Songs, caplog: pytest.LogCaptureFixture
) -> None:
    gate = hold_event_thread(store)
    future = store.submit(lambda: songs.save({"id": "s1"}))

    def leave(_: object) -> None:
        raise SystemExit

    def fail(_: object) -> None:
        raise LookupError("mine")

    with caplog.at_level(logging.CRITICAL):
        future.add_done_callback(fail)
        future.add_done_callback(leave)
        gate.set()
        assert store.submit(lambda: "after").result(120) == "after"
    assert songs.contains("s1")


def test_callbacks_may_submit_even_when_the_queue_is_full(open_store: OpenStore) -> None:
    store = open_store(max_in_flight=2)
    songs = store.repository("songs")
    last = threading.Event()

    def next_one(number: int) -> None:
        future = store.submit(lambda: songs.save({"id": f"chain-{number}"}))
        future.add_done_callback(lambda _: next_one(number + 1) if number < 20 else last.set())

    next_one(0)
    for number in range(200):
        store.submit(lambda number=number: songs.save({"id": f"other-{number}"}))
    assert last.wait(120)
    store.close()


def test_closing_completes_everything_that_was_submitted(open_store: OpenStore) -> None:
    store = open_store()
    songs = store.repository("songs")
    futures = [store.submit(lambda number=number: songs.save({"id": str(number)})) for number in range(1000)]
    store.close()
    assert all(future.done() for future in futures)
    assert all(future.exception(0) is None for future in futures)


def test_a_conflict_that_is_told_behind_the_end_of_its_store_ends_its_future(open_store: OpenStore) -> None:
    store = open_store()
    songs = store.repository("songs")
    # From here on there is a thread for later runs, which goes with the store.
    store.submit(losing_race(songs, 1, [])).result(120)
    gate = hold_event_thread(store)
    late = store.submit(losing_race(songs, 1, []))
    songs.save({"id": "s3"})  # behind it: it is refused by now, which nobody can be told
    store.close(timeout=0.1)
    gate.set()
    assert isinstance(late.exception(120), holdfast.ConflictError)


def test_asyncio_awaits_a_future(store: holdfast.Store, songs: Songs) -> None:
    async def main() -> list[Any]:
        futures = [store.submit(lambda id=id: songs.add({"id": id})) for id in "abc"]
        return await asyncio.gather(*map(asyncio.wrap_future, futures))

    assert asyncio.run(main()) == [{"id": "a"}, {"id": "b"}, {"id": "c"}]


def test_threads_that_submit_at_once_each_get_their_own(store: holdfast.Store, songs: Songs) -> None:
    wrong: list[Any] = []

    def work(worker: int) -> None:
        futures = []
        for number in range(200):
            id = f"{worker}-{number}"
            futures.append((id, store.submit(lambda id=id: songs.add({"id": id})["id"])))
        wrong.extend((id, future) for id, future in futures if future.result(60) != id)

    in_threads(work, range(6))
    assert wrong == []
    assert songs.count() == 1200
