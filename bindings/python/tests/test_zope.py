"""holdfast.zope: a store in transactions of the package `transaction`."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import transaction
from loops import Run
from nodes import Family

import holdfast
import holdfast.aio
import holdfast.zope

Songs = holdfast.Repository[dict[str, Any]]


@pytest.fixture(autouse=True)
def nothing_is_open() -> Iterator[None]:
    yield
    transaction.abort()


class Other:
    """Another data manager, which notes its calls and fails in those that it is told of."""

    transaction_manager = transaction.manager

    def __init__(self, *failing: str) -> None:
        self.calls: list[str] = []
        self._failing = failing

    def __getattr__(self, name: str) -> Any:
        if name not in ("abort", "tpc_begin", "commit", "tpc_vote", "tpc_finish", "tpc_abort"):
            raise AttributeError(name)

        def call(_: Any) -> None:
            self.calls.append(name)
            if name in self._failing:
                raise ZeroDivisionError(name)

        return call

    def sortKey(self) -> str:
        return "other"


def test_what_is_done_in_a_transaction_is_stored_with_it(store: holdfast.Store, songs: Songs) -> None:
    with transaction.manager:
        joined = holdfast.zope.join(store)
        assert holdfast.zope.join(store) is joined is store.current_transaction
        songs.add({"id": "s1"})
        with store.transaction():
            songs.add({"id": "s2"})
    assert store.current_transaction is None
    assert joined.receipt is not None
    assert joined.state is holdfast.TransactionState.COMMITTED
    assert songs.ids() == ["s1", "s2"]


def test_what_is_aborted_is_rolled_back(store: holdfast.Store, songs: Songs) -> None:
    with pytest.raises(KeyError), transaction.manager:
        joined = holdfast.zope.join(store)
        songs.add({"id": "s1"})
        raise KeyError
    assert store.current_transaction is None
    assert joined.state is holdfast.TransactionState.ROLLED_BACK
    assert songs.ids() == []


def test_a_doomed_transaction_stores_nothing(store: holdfast.Store, songs: Songs) -> None:
    holdfast.zope.join(store)
    songs.add({"id": "s1"})
    transaction.doom()
    with pytest.raises(transaction.interfaces.DoomedTransaction):
        transaction.commit()
    transaction.abort()
    assert songs.ids() == []


@pytest.mark.parametrize("step", ["tpc_begin", "commit", "tpc_vote"])
def test_what_another_refuses_is_not_stored(store: holdfast.Store, songs: Songs, step: str) -> None:
    other = Other(step)
    with pytest.raises(ZeroDivisionError), transaction.manager:
        holdfast.zope.join(store)
        transaction.get().join(other)
        songs.add({"id": "s1"})
    assert songs.ids() == []
    assert store.current_transaction is None


def test_the_others_hear_in_time_that_the_store_refuses(store: holdfast.Store, songs: Songs) -> None:
    other = Other()
    with pytest.raises(holdfast.ConflictError), transaction.manager:
        transaction.get().join(other)
        holdfast.zope.join(store)
        songs.fetch("s1")
        songs.save({"id": "s2"})
        thread = threading.Thread(target=songs.save, args=({"id": "s1"},))
        thread.start()
        thread.join()
    assert "tpc_finish" not in other.calls
    assert other.calls[-1] == "tpc_abort"
    assert songs.ids() == ["s1"]


def test_it_is_told_where_another_fails_behind_the_last_vote(
    store: holdfast.Store, songs: Songs, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ZeroDivisionError), transaction.manager:
        transaction.get().join(Other("tpc_finish"))
        holdfast.zope.join(store)
        songs.add({"id": "s1"})
    assert songs.ids() == ["s1"]
    assert "has stored its part of a transaction that failed later" in caplog.text


def test_a_savepoint_takes_back_what_was_written_since(store: holdfast.Store, songs: Songs) -> None:
    with transaction.manager:
        holdfast.zope.join(store)
        songs.add({"id": "s1"})
        first = transaction.savepoint()
        songs.add({"id": "s2"})
        second = transaction.savepoint()
        songs.add({"id": "s3"})
        second.rollback()
        assert songs.ids() == ["s1", "s2"]
        second.rollback()
        first.rollback()
        assert songs.ids() == ["s1"]
        songs.add({"id": "s4"})
    assert songs.ids() == ["s1", "s4"]


def test_a_savepoint_before_the_store_has_joined_takes_all_of_it_back(
    store: holdfast.Store, songs: Songs
) -> None:
    with transaction.manager:
        savepoint = transaction.savepoint()
        first = holdfast.zope.join(store)
        songs.add({"id": "s1"})
        savepoint.rollback()
        assert first.state is holdfast.TransactionState.ROLLED_BACK
        assert store.current_transaction is None
        assert holdfast.zope.join(store) is not first
        songs.add({"id": "s2"})
    assert songs.ids() == ["s2"]


def test_attempts_try_again_after_a_conflict_and_after_nothing_else(
    store: holdfast.Store, songs: Songs
) -> None:
    songs.add({"id": "s1", "plays": 0})
    tried = 0
    for attempt in transaction.manager.attempts(3):
        with attempt:
            holdfast.zope.join(store)
            tried += 1
            plays = songs["s1"]["plays"]
            if tried == 1:
                thread = threading.Thread(target=songs.save, args=({"id": "s1", "plays": 10},))
                thread.start()
                thread.join()
            songs.save({"id": "s1", "plays": plays + 1})
    assert (tried, songs["s1"]["plays"]) == (2, 11)

    def add() -> None:
        nonlocal tried
        tried += 1
        holdfast.zope.join(store)
        songs.add({"id": "s1"})

    with pytest.raises(holdfast.ExistsError):
        transaction.manager.run(add)
    assert tried == 3


def test_each_thread_has_its_own_and_none_is_lost(store: holdfast.Store, songs: Songs) -> None:
    songs.add({"id": "s1", "plays": 0})

    def play() -> None:
        def once() -> None:
            holdfast.zope.join(store)
            songs.save({"id": "s1", "plays": songs["s1"]["plays"] + 1})

        for _ in range(20):
            transaction.manager.run(once, 1000)

    threads = [threading.Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert songs["s1"]["plays"] == 80


def test_a_thread_goes_on_behind_a_transaction_that_another_has_ended(
    store: holdfast.Store, songs: Songs
) -> None:
    manager = transaction.TransactionManager(explicit=True)
    for number, end in enumerate([manager.commit, manager.abort, manager.commit]):
        manager.begin()
        holdfast.zope.join(store, manager)
        songs.add({"id": f"s{number}"})
        thread = threading.Thread(target=end)
        thread.start()
        thread.join()
        assert store.current_transaction is None
        songs.save({"id": "own", "number": number})
    assert songs.ids() == ["own", "s0", "s2"]


def test_trees_and_options_are_those_of_the_store_s_own(
    store: holdfast.Store, songs: Songs, family: Family
) -> None:
    with transaction.manager:
        joined = holdfast.zope.join(store, name="an import", idempotency_key="k1")
        joined.enlist(family.root)
        songs.add({"id": "s1"})
    assert joined.receipt is not None and not joined.receipt.replayed
    assert not family.root.transaction_is_active


def test_a_transaction_of_the_store_s_own_is_not_joined(store: holdfast.Store) -> None:
    with store.transaction(), pytest.raises(holdfast.InvalidStateError, match="join before"):
        holdfast.zope.join(store)


async def test_only_the_blocking_face_of_a_store_joins(run: Run, path: str) -> None:
    async with holdfast.aio.open(path) as awaited:
        with pytest.raises(TypeError, match="blocking"):
            holdfast.zope.join(awaited)  # type: ignore[arg-type]
        with transaction.manager:
            holdfast.zope.join(awaited.blocking)
            awaited.blocking.repository("songs").add({"id": "s1"})
        assert await awaited.repository("songs").ids() == ["s1"]


def test_it_is_told_where_ctrl_c_comes_behind_the_store_s_vote(
    store: holdfast.Store, songs: Songs, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = holdfast.Transaction.commit

    def interrupted(self: holdfast.Transaction) -> None:
        commit(self)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), transaction.manager:
        monkeypatch.setattr(holdfast.Transaction, "commit", interrupted)
        holdfast.zope.join(store)
        songs.add({"id": "s1"})
    assert songs.ids() == ["s1"]
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == [
        f"{store!r} has stored its part of a transaction that failed later"
    ]


def test_a_manager_that_takes_no_more_leaves_nothing_open(store: holdfast.Store, songs: Songs) -> None:
    transaction.get().join(Other("tpc_vote"))
    with pytest.raises(ZeroDivisionError):
        transaction.commit()
    with pytest.raises(transaction.interfaces.TransactionFailedError):
        holdfast.zope.join(store)
    assert store.current_transaction is None
    assert store.describe()["transactions"] == 0


def test_a_store_that_was_closed_meanwhile_is_told_and_leaves_nothing_current(songs: Songs) -> None:
    store = songs.store
    holdfast.zope.join(store)
    songs.add({"id": "s1"})
    store.close()
    with pytest.raises(holdfast.ClosedError):
        transaction.commit()
    transaction.abort()
    assert store.current_transaction is None
