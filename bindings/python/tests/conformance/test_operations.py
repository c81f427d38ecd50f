"""Operations: described now, run later, as often as wanted, in four ways."""

import asyncio
import concurrent.futures
import threading
from typing import Any, Callable

import pytest
from described import Heard, Song, results
from threads import in_thread

import holdfast

Songs = holdfast.Repository[dict[str, Any]]


@pytest.mark.parametrize("way", ["perform", "submit", "await"])
def test_every_operation_answers_what_the_repository_s_call_does(store: holdfast.Store, way: str) -> None:
    async def wait(operation: Any) -> Any:
        return await operation

    run: dict[str, Callable[[Any], Any]] = {
        "perform": lambda operation: operation.perform(),
        "submit": lambda operation: operation.submit().result(120),
        "await": lambda operation: asyncio.run(wait(operation)),
    }
    for operation, expected in results(store.repository("songs", cls=Song)):
        assert run[way](operation) == expected, operation


def test_making_an_operation_does_nothing(store: holdfast.Store, songs: Songs) -> None:
    operation = songs.deferred.add({"id": "s1"})
    assert songs.count() == 0
    assert operation.perform() == {"id": "s1"}
    with pytest.raises(holdfast.ExistsError):
        operation.perform()


def test_what_is_wrong_with_an_operation_is_told_by_its_run(store: holdfast.Store, songs: Songs) -> None:
    wrong = [
        (songs.deferred.delete("none"), holdfast.NotFoundError),
        (songs.deferred.add({"id": ""}), holdfast.InvalidIdError),
        (songs.deferred.find({"$no": 1}), holdfast.InvalidQueryError),
    ]
    for operation, error in wrong:
        with pytest.raises(error):
            operation.perform()
        assert type(operation.submit().exception(120)) is error


def test_a_run_sees_what_was_written_since_the_last(songs: Songs) -> None:
    operation = songs.deferred.fetch("s1")
    assert operation.perform() is None
    songs.add({"id": "s1"})
    assert operation.perform() == {"id": "s1"}


def test_the_entity_is_the_one_that_was_described(songs: Songs) -> None:
    entity = {"id": "s1", "plays": 1}
    operation = songs.deferred.add(entity)
    entity["plays"] = 2
    assert operation.perform()["plays"] == 1


def test_a_version_comes_with_the_entity(songs: Songs) -> None:
    songs.add({"id": "s1"})
    found = songs.deferred.fetch_versioned("s1").perform()
    assert found == songs.fetch_versioned("s1")
    songs.deferred.update({"id": "s1", "plays": 1}, found[1]).perform()
    with pytest.raises(holdfast.VersionMismatchError):
        songs.deferred.update({"id": "s1", "plays": 2}, found[1]).perform()


def test_an_operation_performed_in_a_transaction_is_a_part_of_it(store: holdfast.Store, songs: Songs) -> None:
    operation = songs.deferred.add({"id": "s1"})
    with pytest.raises(LookupError), store.transaction():
        operation.perform()
        assert songs.contains("s1")
        raise LookupError
    assert not songs.contains("s1")
    with pytest.raises(holdfast.InvalidStateError), store.transaction():
        operation.submit()


def test_an_operation_may_run_on_many_threads_at_once(songs: Songs) -> None:
    operation = songs.deferred.modify("s1", {"$inc": {"plays": 1}}, initial={})
    with concurrent.futures.ThreadPoolExecutor(8) as executor:
        list(executor.map(lambda _: operation.perform(), range(200)))
    assert songs["s1"]["plays"] == 200


def test_an_operation_may_run_for_the_first_time_on_many_threads_at_once(songs: Songs) -> None:
    barrier = threading.Barrier(8)

    def perform(operation: "holdfast.Operation[Any]") -> None:
        barrier.wait()
        operation.perform()

    with concurrent.futures.ThreadPoolExecutor(8) as executor:
        for number in range(20):
            operation = songs.deferred.save({"id": str(number)})
            list(executor.map(perform, [operation] * 8))
    assert songs.count() == 20


def test_a_future_of_an_operation_has_its_receipt(songs: Songs) -> None:
    future = songs.deferred.add({"id": "s1"}).submit()
    assert future.result(120) == {"id": "s1"}
    assert future.receipt is not None and future.receipt.changes[0].id == "s1"
    reading = songs.deferred.fetch("s1").submit()
    assert reading.result(120) == {"id": "s1"}
    assert reading.receipt is None


def test_an_operation_is_stored_or_cancelled_never_both(songs: Songs) -> None:
    futures = []
    for number in range(1000):
        futures.append(songs.deferred.add({"id": str(number)}).submit())
        futures[-1].cancel()
    concurrent.futures.wait(futures, 120)
    for number, future in enumerate(futures):
        assert songs.contains(number) is not future.cancelled()
    assert any(future.cancelled() for future in futures)


def test_waiting_on_the_thread_that_completes_futures_is_refused(songs: Songs) -> None:
    told: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def wait_there(_: object) -> None:
        other = songs.deferred.modify("s1", {"$inc": {"plays": 1}}).submit()
        try:
            other.result(120)
        except holdfast.WouldDeadlockError as error:
            told.set_result((error, other))

    songs.add({"id": "s1"})
    songs.deferred.fetch("s1").subscribe(wait_there)
    _, other = told.result(120)
    assert other.result(120)["plays"] == 1


# --- Subscriptions ---------------------------------------------------------------------------------


def test_a_subscriber_hears_one_value_and_the_end_or_one_error(songs: Songs) -> None:
    operation = songs.deferred.add({"id": "s1"})
    first, second = Heard(), Heard()
    operation.subscribe(first.value, first.finished, first.error)
    assert first.wait() == [("value", {"id": "s1"}), "finished"]
    operation.subscribe(second.value, second.finished, second.error)
    assert second.wait() == [holdfast.ExistsError]
    assert first.threads == second.threads == {"holdfast-events"}


def test_what_a_subscriber_raises_goes_to_its_on_error(songs: Songs) -> None:
    heard = Heard()

    def fail(_: object) -> None:
        raise LookupError("mine")

    songs.deferred.count().subscribe(fail, heard.finished, heard.error)
    assert heard.wait() == [LookupError]


def test_a_cancelled_subscription_ends_with_that_or_is_too_late(songs: Songs) -> None:
    for number in range(300):
        heard = Heard()
        operation = songs.deferred.add({"id": str(number)})
        was_cancelled = operation.subscribe(heard.value, heard.finished, heard.error).cancel()
        events = heard.wait()
        assert (events == [holdfast.CancelledError]) is was_cancelled
        assert songs.contains(number) is not was_cancelled


# --- Sequences and functions -----------------------------------------------------------------------


def test_a_sequence_is_stored_as_a_whole_or_not_at_all(store: holdfast.Store) -> None:
    songs = store.repository("songs", cls=Song)
    later = songs.deferred
    sequence = store.sequence(later.add(Song("s1")), later.patch("s1", {"plays": 2}), later.count())
    future = sequence.submit()
    assert future.result(120) == [Song("s1"), Song("s1", 2), 1]
    assert future.receipt is not None and len(future.receipt.changes) == 1
    failing = store.sequence(later.add(Song("s2")), later.add(Song("s1")))
    with pytest.raises(holdfast.ExistsError) as raised:
        failing.perform()
    assert raised.value.detail["index"] == 1
    assert not songs.contains("s2")


def test_a_sequence_with_an_idempotency_key_is_stored_once(store: holdfast.Store, songs: Songs) -> None:
    pay = songs.deferred.modify("s1", {"$inc": {"paid": 1}}, initial={})
    sequence = store.sequence(pay, idempotency_key="order 17", timeout=10, max_attempts=3)
    assert sequence.perform() == [{"id": "s1", "paid": 1}]
    assert sequence.perform() is None
    assert songs["s1"]["paid"] == 1


def test_what_cannot_be_a_step_is_refused(store: holdfast.Store, songs: Songs) -> None:
    for step in (songs.deferred.fetch_versioned("s1"), store.operation(lambda: 1), store.sequence()):
        with pytest.raises(TypeError):
            store.sequence(step)
    with holdfast.open("memory:") as other, pytest.raises(holdfast.InvalidArgumentError):
        store.sequence(other.repository("songs").deferred.count())


def test_a_function_is_an_operation_too(store: holdfast.Store, songs: Songs) -> None:
    songs.add({"id": "s1", "plays": 0})
    runs = []

    def play() -> int:
        plays = songs["s1"]["plays"] + 1
        runs.append(plays)
        if len(runs) == 1:
            in_thread(lambda: songs.patch("s1", {"plays": 10}))
        songs.patch("s1", {"plays": plays})
        return plays

    operation = holdfast.operation(store, play)
    assert not runs
    assert operation.perform() == 11
    assert runs == [1, 11]
    assert operation.submit().result(120) == 12
    heard = Heard()
    operation.subscribe(heard.value, heard.finished, heard.error)
    assert heard.wait() == [("value", 13), "finished"]
    wrong = Heard()
    store.operation(lambda: songs["none"]).subscribe(wrong.value, wrong.finished, wrong.error)
    assert wrong.wait() == [holdfast.NotFoundError]


def test_an_operation_that_outlives_its_store_says_so(path: str) -> None:
    with holdfast.open(path) as store:
        operation = store.repository("songs").deferred.add({"id": "s1"})
    for run in (operation.perform, operation.submit):
        with pytest.raises(holdfast.ClosedError):
            run()
