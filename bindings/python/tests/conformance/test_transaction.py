"""Transactions: together or not at all, alone or again."""

import asyncio
import itertools
import traceback
from typing import Any, Callable

import pytest
from threads import in_thread, in_threads

import holdfast

Songs = holdfast.Repository[dict[str, Any]]
OpenStore = Callable[..., holdfast.Store]


def test_a_block_commits_at_its_end(store: holdfast.Store, songs: Songs) -> None:
    with store.transaction() as transaction:
        songs.add({"id": "s1"})
        songs.add({"id": "s2"})
        assert songs.count() == 2
        assert in_thread(songs.count) == 0
        assert transaction.state is holdfast.TransactionState.OPEN
    assert in_thread(songs.count) == 2
    assert transaction.state is holdfast.TransactionState.COMMITTED


def test_a_block_rolls_back_on_an_exception_which_goes_on_its_way(
    store: holdfast.Store, songs: Songs
) -> None:
    songs.add({"id": "s1", "plays": 1})
    mine = LookupError("mine")
    with pytest.raises(LookupError) as caught, store.transaction() as transaction:
        songs.patch("s1", {"plays": 2})
        songs.add({"id": "s2"})
        raise mine
    assert caught.value is mine
    assert transaction.state is holdfast.TransactionState.ROLLED_BACK
    assert songs.fetch_all() == [{"id": "s1", "plays": 1}]


def test_the_receipt_names_the_changes(store: holdfast.Store, songs: Songs) -> None:
    songs.add({"id": "s2"})
    with store.transaction() as transaction:
        assert transaction.receipt is None
        songs.save({"id": "s1"})
        songs.save({"id": "s1", "plays": 1})
        songs.delete("s2")
    receipt = transaction.receipt
    assert receipt is not None
    assert receipt.sequence > 0 and receipt.position == store.position
    assert (receipt.attempts, receipt.replayed, receipt.secondary) == (1, False, ())
    assert [(change.repository, change.id, change.operation) for change in receipt.changes] == [
        ("songs", "s1", "put"),
        ("songs", "s2", "delete"),
    ]
    assert songs.fetch_versioned("s1") == ({"id": "s1", "plays": 1}, receipt.changes[0].version)


def test_a_transaction_that_changed_nothing_has_no_place(store: holdfast.Store, songs: Songs) -> None:
    with store.transaction() as transaction:
        songs.fetch("s1")
    assert transaction.receipt is not None
    assert (transaction.receipt.sequence, transaction.receipt.position) == (0, None)


def test_a_failed_call_leaves_the_transaction_open(store: holdfast.Store, songs: Songs) -> None:
    with store.transaction():
        songs.add({"id": "s1"})
        with pytest.raises(holdfast.ExistsError):
            songs.add({"id": "s1"})
        songs.add({"id": "s2"})
    assert songs.count() == 2


def test_a_nested_block_joins_and_goes_back_alone_when_it_fails(store: holdfast.Store, songs: Songs) -> None:
    with store.transaction() as outer:
        with store.transaction() as inner:
            assert inner is outer
            songs.add({"id": "s1"})
        assert in_thread(songs.count) == 0
        with pytest.raises(LookupError), store.transaction():
            songs.add({"id": "s2"})
            raise LookupError
        assert store.transact(lambda: songs.add({"id": "s3"})) == {"id": "s3"}
    assert songs.ids() == ["s1", "s3"]


def test_what_cannot_join_is_refused(store: holdfast.Store, songs: Songs) -> None:
    with store.transaction():
        with pytest.raises(holdfast.InvalidStateError), store.transaction(idempotency_key="k"):
            pass
        with pytest.raises(holdfast.InvalidStateError):
            store.transact(songs.count, idempotency_key="k")
        with pytest.raises(holdfast.InvalidStateError):
            store.transact(songs.count, receipt=True)
        with pytest.raises(holdfast.InvalidStateError):
            store.submit(songs.count)


def test_two_stores_have_transactions_of_their_own(tmp_path: Any) -> None:
    with holdfast.open("memory:") as first, holdfast.open(tmp_path / "b.db") as second:
        ours, theirs = first.repository("songs"), second.repository("songs")
        with pytest.raises(LookupError), first.transaction():
            ours.add({"id": "s1"})
            with second.transaction():
                theirs.add({"id": "s1"})
                ours.add({"id": "s2"})
            assert in_thread(theirs.count) == 1
            raise LookupError
        assert (ours.count(), theirs.count()) == (0, 1)


def test_a_savepoint_undoes_its_own_part(store: holdfast.Store, songs: Songs) -> None:
    with store.transaction():
        songs.add({"id": "s1", "plays": 1})
        with pytest.raises(LookupError), store.savepoint():
            songs.patch("s1", {"plays": 2})
            songs.add({"id": "s2"})
            with store.savepoint():
                songs.add({"id": "s3"})
            raise LookupError
        with store.savepoint():
            songs.add({"id": "s4"})
    assert songs.fetch_all() == [{"id": "s1", "plays": 1}, {"id": "s4"}]


def test_a_savepoint_needs_a_transaction(store: holdfast.Store) -> None:
    with pytest.raises(holdfast.InvalidStateError), store.savepoint():
        pass


def test_savepoints_by_number_can_be_rolled_back_to_again_and_again(
    store: holdfast.Store, songs: Songs
) -> None:
    with store.transaction() as transaction:
        songs.add({"id": "s1"})
        first = transaction.savepoint()
        for _ in range(3):
            songs.add({"id": "s2"})
            second = transaction.savepoint()
            transaction.rollback_to(first)
            with pytest.raises(holdfast.InvalidArgumentError):
                transaction.rollback_to(second)
    assert songs.ids() == ["s1"]


def test_an_explicit_transaction_is_joined_where_one_says_so(store: holdfast.Store, songs: Songs) -> None:
    first, second = store.begin(), store.begin()
    with first.joined():
        songs.save({"id": "s1", "by": "first"})
        assert store.current_transaction is first
    with second.joined():
        songs.save({"id": "s2", "by": "second"})
        assert songs.fetch("s1") is None
    assert store.current_transaction is None
    assert first.commit().sequence > 0
    second.rollback()
    second.rollback()
    assert songs.fetch_all() == [{"id": "s1", "by": "first"}]
    with pytest.raises(holdfast.InvalidStateError):
        second.commit()


def test_a_transaction_that_ended_takes_nothing_more(store: holdfast.Store, songs: Songs) -> None:
    transaction = store.begin()
    transaction.commit()
    with transaction.joined(), pytest.raises(holdfast.InvalidStateError):
        songs.save({"id": "s1"})
    assert songs.count() == 0


def test_ending_inside_the_block_is_the_end(store: holdfast.Store, songs: Songs) -> None:
    with store.transaction() as transaction:
        songs.save({"id": "s1"})
        transaction.rollback()
    with store.transaction() as transaction:
        songs.save({"id": "s2"})
        transaction.commit()
    assert songs.ids() == ["s2"]


def test_a_store_closed_inside_the_block_is_told_at_its_end(open_store: OpenStore) -> None:
    store = open_store()
    with pytest.raises(holdfast.Error), store.transaction():
        store.repository("songs").save({"id": "s1"})
        store.close()


def test_write_skew_is_refused(store: holdfast.Store, songs: Songs) -> None:
    songs.add_many([{"id": "a", "on": True}, {"id": "b", "on": True}])
    first, second = store.begin(), store.begin()
    for transaction, id in ((first, "a"), (second, "b")):
        with transaction.joined():
            assert songs.count({"on": True}) == 2
            songs.patch(id, {"on": False})
    first.commit()
    with pytest.raises(holdfast.ConflictError):
        second.commit()
    assert second.state is holdfast.TransactionState.FAILED
    assert songs.count({"on": True}) == 1


def test_snapshot_isolation_compares_only_what_was_written(store: holdfast.Store, songs: Songs) -> None:
    songs.add_many([{"id": "a", "on": True}, {"id": "b", "on": True}])
    first, second = store.begin(isolation="snapshot"), store.begin(isolation="snapshot")
    for transaction, id in ((first, "a"), (second, "b")):
        with transaction.joined():
            assert songs.count({"on": True}) == 2
            songs.save({"id": id, "on": False})
    first.commit()
    second.commit()
    assert songs.count({"on": True}) == 0


def test_a_transaction_reads_one_snapshot(store: holdfast.Store, songs: Songs) -> None:
    songs.add({"id": "s1", "plays": 1})
    with store.transaction():
        assert songs["s1"]["plays"] == 1
        in_thread(lambda: songs.save({"id": "s1", "plays": 2}))
        assert songs["s1"]["plays"] == 1
    assert songs["s1"]["plays"] == 2


def test_transact_answers_the_value_and_on_demand_the_receipt(store: holdfast.Store, songs: Songs) -> None:
    assert store.transact(lambda: songs.add({"id": "s1"})["id"]) == "s1"
    value, receipt = store.transact(lambda: songs.add({"id": "s2"})["id"], receipt=True)
    assert value == "s2"
    assert (receipt.attempts, receipt.changes[0].id) == (1, "s2")


def test_transact_runs_again_after_a_conflict(store: holdfast.Store, songs: Songs) -> None:
    songs.add({"id": "s1", "plays": 0})
    seen = []

    def play() -> int:
        plays = songs["s1"]["plays"]
        seen.append(plays)
        if len(seen) < 3:
            in_thread(lambda: songs.save({"id": "s1", "plays": plays + 10}))
        songs.patch("s1", {"plays": plays + 1})
        return plays + 1

    value, receipt = store.transact(play, receipt=True)
    assert seen == [0, 10, 20]
    assert (value, receipt.attempts) == (21, 3)
    assert songs["s1"]["plays"] == 21


def test_transact_runs_again_when_the_function_itself_raises_the_conflict(store: holdfast.Store) -> None:
    attempts = []

    def fn() -> str:
        attempts.append(1)
        if len(attempts) < 3:
            raise holdfast.ConflictError("lost")
        return "done"

    assert store.transact(fn) == "done"
    assert len(attempts) == 3


def test_transact_gives_up_after_so_many_attempts(store: holdfast.Store) -> None:
    met = []

    def fn() -> None:
        met.append(holdfast.ConflictError("lost"))
        raise met[-1]

    with pytest.raises(holdfast.ConflictError) as caught:
        store.transact(fn, max_attempts=4)
    assert len(met) == 4
    assert caught.value.detail["attempts"] == 4
    assert caught.value.__cause__ is met[-1]


def test_an_exception_of_the_function_comes_out_unchanged_with_its_traceback(
    store: holdfast.Store, songs: Songs
) -> None:
    mine = LookupError("mine")

    def deep_inside() -> None:
        raise mine

    def fn() -> None:
        songs.add({"id": "s1"})
        deep_inside()

    with pytest.raises(LookupError) as caught:
        store.transact(fn)
    assert caught.value is mine
    assert "deep_inside" in "".join(traceback.format_tb(mine.__traceback__))
    assert mine.__cause__ is None and mine.__context__ is None
    assert songs.count() == 0
    mine.__traceback__ = None


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_exceptions_that_end_programs_come_out_too(store: holdfast.Store, kind: type[BaseException]) -> None:
    def fn() -> None:
        raise kind

    with pytest.raises(kind):
        store.transact(fn)


def test_the_body_cannot_end_its_transaction(store: holdfast.Store, songs: Songs) -> None:
    def fn() -> None:
        songs.add({"id": "s1"})
        transaction = store.current_transaction
        assert transaction is not None
        for end in (transaction.commit, transaction.rollback, transaction.submit):
            with pytest.raises(holdfast.InvalidStateError):
                end()

    store.transact(fn)
    assert songs.count() == 1


def test_a_coroutine_function_is_refused(store: holdfast.Store) -> None:
    async def fn() -> None:
        pass

    with pytest.raises(TypeError, match="coroutine"):
        store.transact(fn)


def test_a_transactional_function_runs_in_a_transaction(store: holdfast.Store, songs: Songs) -> None:
    @store.transactional
    def move(source: str, target: str, *, plays: int) -> int:
        """Moves plays."""
        songs.patch(source, {"plays": songs[source]["plays"] - plays})
        songs.patch(target, {"plays": songs[target]["plays"] + plays})
        return plays

    @store.transactional(max_attempts=3, durability="relaxed")
    def move_twice() -> None:
        move("a", "b", plays=1)
        move("a", "missing", plays=1)

    songs.add_many([{"id": "a", "plays": 5}, {"id": "b", "plays": 0}])
    assert move("a", "b", plays=2) == 2
    assert move.__doc__ == "Moves plays."
    with pytest.raises(KeyError):
        move_twice()
    assert [song["plays"] for song in songs] == [3, 2]


def test_as_many_idempotency_keys_are_remembered_as_is_asked_for(open_store: OpenStore) -> None:
    store = open_store(idempotency_max_count=3, durability="relaxed")
    songs = store.repository("songs")
    for number in range(10):
        store.transact(lambda: songs.save({"id": "s1"}), idempotency_key=f"k{number}")
    for number in range(2500):  # they are counted from time to time
        songs.save({"id": str(number)})
    remembered = []
    # The newest first: one that is stored anew counts among those that are remembered.
    for number in reversed(range(10)):
        _, receipt = store.transact(
            lambda: songs.save({"id": "s1"}), idempotency_key=f"k{number}", receipt=True
        )
        remembered += [number] if receipt.replayed else []
    assert remembered == [9, 8, 7]


def test_an_idempotency_key_stores_once(store: holdfast.Store, songs: Songs) -> None:
    runs = []

    def fn() -> str:
        runs.append(1)
        return songs.add({"plays": 1})["id"]

    id, first = store.transact(fn, idempotency_key="k1", receipt=True)
    again, second = store.transact(fn, idempotency_key="k1", receipt=True)
    assert (id is not None, again, len(runs)) == (True, None, 1)
    assert (first.replayed, second.replayed) == (False, True)
    assert second.changes == first.changes
    assert songs.count() == 1


@pytest.mark.parametrize("meets", ["other ids", "the same id", "what it read"])
def test_of_the_same_request_twice_at_once_one_is_stored_and_both_get_its_receipt(
    store: holdfast.Store, songs: Songs, meets: str
) -> None:
    songs.save({"id": "total", "paid": 0})
    faster: list[holdfast.Receipt] = []
    runs = itertools.count(1)

    def pay() -> None:
        if meets == "what it read":
            songs.update({"id": "total", "paid": songs["total"]["paid"] + 1, "at": next(runs)})
        else:
            songs.add({"at": next(runs)} if meets == "other ids" else {"id": "s1", "at": next(runs)})

    def overtaken() -> str:
        pay()
        if not faster:
            faster.append(in_thread(lambda: store.transact(pay, idempotency_key="k1", receipt=True))[1])
        return "dropped"

    value, receipt = store.transact(overtaken, idempotency_key="k1", receipt=True)
    assert (value, receipt.replayed, receipt.sequence) == (None, True, faster[0].sequence)
    assert songs["total"]["paid"] + songs.count() == 2
    assert store.transact(overtaken, idempotency_key="k1") is None


def test_what_a_request_met_that_was_not_the_same_one_is_told(store: holdfast.Store, songs: Songs) -> None:
    songs.save({"id": "s1"})
    with pytest.raises(holdfast.ExistsError):
        store.transact(lambda: songs.add({"id": "s1"}), idempotency_key="k1")
    store.transact(lambda: songs.add({"id": "s2"}), idempotency_key="k1")
    assert songs.ids() == ["s1", "s2"], "a request that failed has not used its key"


def test_a_key_that_was_used_for_other_writes_is_refused_by_hand_and_answered_to_a_block(
    store: holdfast.Store, songs: Songs
) -> None:
    with store.transaction(idempotency_key="k1"):
        songs.save({"id": "s1"})
    by_hand = store.begin(idempotency_key="k1")
    with by_hand.joined():
        songs.save({"id": "s2"})
    with pytest.raises(holdfast.KeyReusedError):
        by_hand.commit()
    with store.transaction(idempotency_key="k1") as block:
        songs.save({"id": "s2"})
    assert block.receipt is not None and block.receipt.replayed
    assert songs.ids() == ["s1"]


def test_an_unknown_isolation_is_refused(store: holdfast.Store) -> None:
    with pytest.raises(holdfast.InvalidOptionError):
        store.begin(isolation="wishful")


def test_asyncio_tasks_do_not_share_their_transactions(store: holdfast.Store, songs: Songs) -> None:
    async def work(id: str, fail: bool) -> None:
        with store.transaction():
            songs.save({"id": id})
            await asyncio.sleep(0.01)
            songs.save({"id": id + "b"})
            if fail:
                raise LookupError

    async def main() -> list[Any]:
        return await asyncio.gather(
            work("1", False), work("2", True), work("3", False), return_exceptions=True
        )

    results = asyncio.run(main())
    assert [type(result) for result in results] == [type(None), LookupError, type(None)]
    assert songs.ids() == ["1", "1b", "3", "3b"]


def test_counting_on_many_threads_loses_nothing(store: holdfast.Store, songs: Songs) -> None:
    songs.add({"id": "s1", "plays": 0})

    def play() -> None:
        songs.patch("s1", {"plays": songs["s1"]["plays"] + 1})

    def work() -> None:
        for _ in range(20):
            store.transact(play, max_attempts=1000, durability="relaxed")

    in_threads(lambda _: work(), range(4))
    assert songs["s1"]["plays"] == 80


def test_a_query_relies_on_each_of_the_many_entities_that_it_found(
    store: holdfast.Store, songs: Songs
) -> None:
    # More than it keeps the ids of.
    songs.save_many([{"id": f"{number:05}", "plays": 1} for number in range(10_050)])
    with pytest.raises(holdfast.ConflictError), store.transaction():
        found = songs.find({"plays": 1}, fields=["id"])
        in_thread(lambda: songs.save({"id": "10049", "plays": 0}))
        songs.save({"id": "sum", "found": len(found)})
    assert not songs.contains("sum")
