"""Transactions inside a transaction: each is all or nothing by itself, and so is the one around it."""

import asyncio
from typing import Any

import pytest
from nodes import Family, Node

import holdfast
import holdfast.aio


class Keeper(Node):
    """Has a value that it brings back, also to savepoints."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.value = 0
        self.saved: dict[int, int] = {}

    def on_begin(self, transaction: bytes) -> None:
        super().on_begin(transaction)
        self.saved = {0: self.value}

    def on_rollback(self, transaction: bytes) -> None:
        super().on_rollback(transaction)
        self.value = self.saved[0]

    def on_savepoint(self, savepoint: int) -> None:
        self.saved[savepoint] = self.value

    def on_rollback_to(self, savepoint: int) -> None:
        self.value = self.saved.get(savepoint, self.saved[0])


@pytest.fixture(params=["block", "function"])
def nested(request: pytest.FixtureRequest) -> Any:
    """Runs a function in a transaction of the store, by either of its forms."""

    def run(store: Any, function: Any, *trees: holdfast.Transactable) -> None:
        if request.param == "function":
            store.transact(function, trees=trees)
            return
        with store.transaction(*trees):
            function()

    return run


def fail_after(function: Any) -> Any:
    def failing() -> None:
        function()
        raise LookupError

    return failing


def test_an_inner_one_that_fails_takes_its_writes_with_it(store: holdfast.Store, nested: Any) -> None:
    songs = store.repository("songs")
    songs.add({"id": "read", "plays": 1})

    def inner() -> None:
        assert songs.fetch("read")
        songs.save({"id": "s1", "plays": 2})
        songs.add({"id": "s2"})

    with store.transaction() as transaction:
        songs.add({"id": "s1", "plays": 1})
        with pytest.raises(LookupError):
            nested(store, fail_after(inner))
        assert not songs.contains("s2")
        nested(store, lambda: songs.add({"id": "s3"}))
    assert [change.id for change in transaction.receipt.changes] == ["s1", "s3"]
    assert songs.fetch("s1") == {"id": "s1", "plays": 1}
    # What it read counts.
    with pytest.raises(holdfast.ConflictError), store.transaction():
        with pytest.raises(LookupError):
            nested(store, fail_after(inner))
        songs.add({"id": "s4"})
        change_aside(store)


def change_aside(store: holdfast.Store) -> None:
    with store.begin().joined() as other:
        store.repository("songs").save({"id": "read", "plays": 5})
    other.commit()


def test_inner_ones_nest(store: holdfast.Store, nested: Any) -> None:
    songs = store.repository("songs")

    def middle() -> None:
        songs.add({"id": "middle"})
        nested(store, lambda: songs.add({"id": "kept"}))
        with pytest.raises(LookupError):
            nested(store, fail_after(lambda: songs.add({"id": "gone"})))

    with store.transaction():
        nested(store, middle)
        with pytest.raises(LookupError):
            nested(store, fail_after(middle_again(store, nested)))
    assert [song["id"] for song in songs.fetch_all()] == ["kept", "middle"]


def middle_again(store: holdfast.Store, nested: Any) -> Any:
    return lambda: nested(store, lambda: store.repository("songs").add({"id": "gone with the middle"}))


def test_objects_with_savepoints_go_back_with_it(store: holdfast.Store, nested: Any) -> None:
    songs, keeper, late = store.repository("songs"), Keeper("keeper"), Keeper("late")

    def inner() -> None:
        keeper.value = late.value = 2
        songs.add({"id": "gone"})

    with store.transaction(keeper):
        keeper.value = 1
        with pytest.raises(LookupError):
            nested(store, fail_after(inner), late)
        assert (keeper.value, late.value) == (1, 0)
        songs.add({"id": "kept"})
    assert keeper.counts() == late.counts() == [1, 1, 1, 0]
    assert [song["id"] for song in songs.fetch_all()] == ["kept"]


def test_where_an_object_cannot_go_back_the_outer_one_can_only_roll_back(
    store: holdfast.Store, nested: Any, family: Family
) -> None:
    songs = store.repository("songs")
    for trees in ((family.root,), ()):
        family.calls.clear()
        inner_trees = () if trees else (family.root,)
        with pytest.raises(holdfast.UnsupportedError, match="roll all back"), store.transaction(*trees):
            songs.add({"id": "s1"})
            with pytest.raises(LookupError):
                nested(store, fail_after(lambda: songs.add({"id": "s2"})), *inner_trees)
        family.expect(1, 0, 0, 1)
    assert songs.count() == 0


def test_a_tree_s_block_inside_a_store_s_transaction_takes_its_writes_with_it(store: holdfast.Store) -> None:
    songs, keeper = store.repository("songs"), Keeper("keeper")
    with store.transaction(keeper):
        songs.add({"id": "kept"})
        with pytest.raises(LookupError), keeper.transaction():
            keeper.value = 2
            songs.add({"id": "gone"})
            with pytest.raises(LookupError), store.transaction():
                songs.add({"id": "gone too"})
                raise LookupError
            raise LookupError
    assert keeper.value == 0
    assert [song["id"] for song in songs.fetch_all()] == ["kept"]


def test_a_tree_s_block_inside_another_goes_back_or_dooms_it(family: Family) -> None:
    keeper = Keeper("keeper")
    with keeper.transaction():
        keeper.value = 1
        with pytest.raises(LookupError), keeper.transaction():
            keeper.value = 2
            raise LookupError
    assert keeper.value == 1 and keeper.counts() == [1, 1, 1, 0]
    with pytest.raises(holdfast.UnsupportedError, match="roll all back"), family.root.transaction():
        with pytest.raises(LookupError), family.leaf.transaction():
            raise LookupError
    family.expect(1, 0, 0, 1)


def test_tasks_that_share_a_transaction_leave_nothing_half_stored(path: str) -> None:
    async def main() -> None:
        async with holdfast.aio.open(path) as store:
            songs = store.repository("songs")

            async def both(name: str, fails: bool) -> None:
                async with store.transaction():
                    await songs.add({"id": f"{name} 1"})
                    await asyncio.sleep(0)
                    await songs.add({"id": f"{name} 2"})
                    if fails:
                        raise LookupError

            async def one() -> None:
                await songs.add({"id": "alone"})

            # One after the other.
            async with store.transaction():
                with pytest.raises(LookupError):
                    await both("gone", True)
                await both("kept", False)
            assert [song["id"] for song in await songs.fetch_all()] == ["kept 1", "kept 2"]
            await songs.delete_all()
            # Beside each other, where nothing fails.
            async with store.transaction():
                await asyncio.gather(both("a", False), both("b", False), one())
            assert await songs.count() == 5
            await songs.delete_all()
            # Where something fails, all of it goes.
            for other in (both("b", False), one()):
                with pytest.raises(holdfast.InvalidStateError, match="roll all back"):
                    async with store.transaction():
                        await asyncio.gather(both("a", True), other, return_exceptions=True)
                assert await songs.count() == 0

    asyncio.run(main())


# --- on_error ----------------------------------------------------------------------------------------


def test_the_first_failed_write_aborts_the_transaction_where_that_is_wanted(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.add({"id": "s1"})
    with pytest.raises(holdfast.ExistsError) as raised, store.transaction(on_error="abort"):
        songs.add({"id": "s2"})
        with pytest.raises(holdfast.ExistsError) as first:
            songs.add({"id": "s1"})
        for call in (lambda: songs.save({"id": "s3"}), lambda: songs.fetch("s1")):
            with pytest.raises(holdfast.ExistsError):
                call()
    assert str(raised.value) == str(first.value) and not raised.value.retryable
    assert songs.count() == 1

    def unseen() -> None:
        songs.add({"id": "s2"})
        with pytest.raises(holdfast.NotFoundError):
            songs.delete("s9")

    for run in (store.transact, store.submit):
        with pytest.raises(holdfast.NotFoundError):
            run(unseen, on_error="abort")
    assert songs.count() == 1
    store.transact(unseen)
    assert songs.count() == 2
    with pytest.raises(holdfast.InvalidOptionError):
        store.begin(on_error="no")


def test_nothing_is_said_to_be_missing_after_a_write_that_found_nothing(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.add({"id": "s1"})
    with pytest.raises(holdfast.NotFoundError), store.transaction(on_error="abort"):
        with pytest.raises(holdfast.NotFoundError):
            songs.patch("s9", {"n": 1})
        for read in (lambda: songs.fetch("s1"), lambda: songs.fetch("s1", "D"), songs.first, songs.find):
            with pytest.raises(holdfast.InvalidStateError):
                read()
        with pytest.raises(holdfast.NotFoundError):
            songs.delete("s1", missing_ok=True)
    assert songs.count() == 1


def test_what_is_missing_and_may_be_is_no_failure(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    with store.transaction(on_error="abort"):
        songs.delete("s1", missing_ok=True)
        assert songs.fetch("s1") is None
        # A part that fails goes back, and its failure with it.
        with pytest.raises(holdfast.NotFoundError), store.transaction():
            songs.delete("s1")
        with pytest.raises(holdfast.NotFoundError), store.savepoint():
            songs.delete("s1")
        songs.add({"id": "s2"})
    assert songs.count() == 1


def test_an_awaited_write_that_failed_aborts_too(path: str) -> None:
    async def main() -> None:
        async with holdfast.aio.open(path) as store:
            songs = store.repository("songs")
            with pytest.raises(holdfast.NotFoundError):
                async with store.transaction(on_error="abort"):
                    await songs.add({"id": "s1"})
                    await songs.delete("s2", missing_ok=True)
                    with pytest.raises(holdfast.NotFoundError):
                        await songs.delete("s2")
            assert await songs.count() == 0

    asyncio.run(main())
