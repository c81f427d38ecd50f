"""Objects and entities change together, or not at all."""

import sys
from typing import Any

import pytest
from nodes import Node, Refusal, refuse
from threads import in_thread

import holdfast


class Song(holdfast.Transactable):
    """Stores its plays when it is validated, and goes back on a rollback."""

    def __init__(self, songs: "holdfast.Repository[Any]", id: str) -> None:
        self.songs, self.id, self.plays, self.before = songs, id, 0, 0

    def on_begin(self, transaction: bytes) -> None:
        self.before = self.plays

    def on_validate_commit(self) -> None:
        if self.plays < 0:
            raise Refusal("less than none")
        self.songs.save({"id": self.id, "plays": self.plays})

    def on_rollback(self, transaction: bytes) -> None:
        self.plays = self.before

    @property
    def stored(self) -> int:
        return in_thread(lambda: self.songs.fetch(self.id, {"plays": 0})["plays"])


@pytest.fixture
def song(store: holdfast.Store) -> Song:
    return Song(store.repository("songs"), "s1")


def test_objects_and_entities_change_together(store: holdfast.Store, song: Song) -> None:
    with store.transaction(song) as transaction:
        song.plays = 1
    assert song.stored == 1 and transaction.receipt.changes[0].id == "s1"
    with pytest.raises(LookupError), store.transaction(song):
        song.plays = 2
        song.songs.add({"id": "s2"})
        raise LookupError
    assert (song.plays, song.stored, song.songs.count()) == (1, 1, 1)


def test_a_refusal_rolls_the_store_back_too_and_is_raised_as_it_is(store: holdfast.Store, song: Song) -> None:
    with pytest.raises(Refusal, match="less than none"), store.transaction(song):
        song.songs.add({"id": "s2"})
        song.plays = -1
    assert (song.plays, song.songs.count(), song.transaction_is_active) == (0, 0, False)


def test_a_refused_explicit_commit_leaves_everything_open_for_repair(
    store: holdfast.Store, song: Song
) -> None:
    for end in ("commit", "submit"):
        with store.transaction(song) as transaction:
            song.plays = -1
            for _ in range(2):
                with pytest.raises(Refusal):
                    transaction.validate()
                with pytest.raises(Refusal):
                    getattr(transaction, end)()
                assert transaction.state is holdfast.TransactionState.OPEN
            song.plays = 3
        assert song.stored == 3
        transaction = store.begin()
        transaction.enlist(song)
        song.plays = 4
        assert (transaction.commit() if end == "commit" else transaction.submit().result(120)).changes
        assert song.stored == 4


def test_a_conflict_rolls_objects_back_before_the_body_runs_again(store: holdfast.Store, song: Song) -> None:
    song.songs.add({"id": "clock", "time": 0})
    runs = []

    def play() -> None:
        runs.append(song.plays)
        time = song.songs["clock"]["time"]
        if len(runs) < 3:
            in_thread(lambda: song.songs.patch("clock", {"time": time + 1}))
        song.plays += 1

    _, receipt = store.transact(play, trees=[song], receipt=True)
    assert runs == [0, 0, 0] and (song.plays, song.stored, receipt.attempts) == (1, 1, 3)
    runs.clear()
    store.submit(play, trees=[song]).result(120)
    assert (song.plays, song.stored) == (2, 2)
    song.plays = 0
    with pytest.raises(Refusal):
        store.transact(lambda: setattr(song, "plays", -1), trees=[song])
    assert song.plays == 0


def test_a_tree_is_in_one_transaction_at_a_time_and_sealed_while_it_is_stored(
    store: holdfast.Store, song: Song
) -> None:
    with song.transaction(), pytest.raises(holdfast.TransactionActiveError), store.transaction(song):
        pass
    with store.transaction(song) as outer, store.transaction(song) as inner:
        assert inner is outer
        with song.transaction():
            song.plays = 7
        with pytest.raises(holdfast.InvalidStateError):
            song.commit_transaction()
    transaction = store.begin()
    transaction.enlist(song)
    heard: list[bool] = []
    future = transaction.submit()
    future.add_done_callback(lambda _: heard.append(song.transaction_is_active))
    other = Node("other")
    while not future.done():
        try:
            other.attach(song)
        except holdfast.BusyError:
            continue
        other.detach()
    future.result(120)
    assert not song.transaction_is_active
    assert heard in ([], [False])


def test_trees_validate_in_the_order_of_joining_and_commit_in_reverse(store: holdfast.Store) -> None:
    calls: list[str] = []
    one, two = Node("one", calls=calls), Node("two", calls=calls)
    with store.transaction(one, two):
        pass
    assert calls == [f"{phase} {name}" for phase in ("begin", "validate") for name in ("one", "two")] + [
        "commit two",
        "commit one",
    ]


def test_what_cannot_fail_is_told_in_the_receipt_and_to_the_hook(
    store: holdfast.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked: list[BaseException] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: hooked.append(told.exc_value))
    node = Node("node")
    node.hooks["commit"] = node.hooks["rollback"] = refuse
    with store.transaction(node) as transaction:
        store.repository("songs").save({"id": "s1"})
    assert [type(error) for error in transaction.receipt.secondary] == [Refusal]
    _, receipt = store.transact(lambda: None, trees=[node], receipt=True)
    assert [type(error) for error in receipt.secondary] == [Refusal]
    future = store.submit(lambda: store.repository("songs").save({"id": "s2"}), trees=[node])
    future.result(120)
    assert [type(error) for error in future.receipt.secondary] == [Refusal]
    with pytest.raises(LookupError), store.transaction(node):
        raise LookupError
    with node.transaction():
        pass
    assert [type(error) for error in hooked] == [Refusal] * 5


def test_what_cannot_fail_is_told_in_the_receipt_of_the_run_that_was_stored(
    store: holdfast.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    node = Node("node")
    node.hooks["commit"] = refuse
    runs = []

    def run() -> None:
        store.repository("songs").save({"id": "s1"})
        runs.append(1)
        if len(runs) < 3:
            raise holdfast.ConflictError("lost")

    future = store.submit(run, trees=[node])
    future.result(120)
    assert [type(error) for error in future.receipt.secondary] == [Refusal]


def test_an_error_while_closing_is_told_beside_the_block_s_own(store: holdfast.Store) -> None:
    node = Node("node")
    with pytest.raises(LookupError) as raised, store.transaction(node):
        store.close()
        raise LookupError
    assert all(isinstance(error, holdfast.Error) for error in getattr(raised.value, "secondary", []))
    assert not node.transaction_is_active and node.counts() == [1, 0, 0, 1]


def test_objects_and_store_agree_wherever_another_commit_comes_between(
    store: holdfast.Store, song: Song
) -> None:
    things = song.songs
    other = Song(things, "s2")
    other.attach(song)
    things.add({"id": "clock", "time": 0})
    outcomes = set()
    place = step = 0

    def tick() -> None:
        nonlocal step
        step += 1
        if step == place:
            in_thread(lambda: things.modify("clock", {"$inc": {"time": 1}}))

    for each in (song, other):
        for name in ("on_begin", "on_validate_commit", "on_commit", "on_rollback"):
            original = getattr(each, name)

            def around(*arguments: Any, original: Any = original) -> None:
                tick()
                original(*arguments)
                tick()

            setattr(each, name, around)
    while step >= place:
        place, step, before = place + 1, 0, song.plays
        try:
            with store.transaction(song):
                tick()
                things.fetch("clock")
                tick()
                song.plays += 1
                tick()
                other.plays += 1
                tick()
        except holdfast.ConflictError:
            outcomes.add("conflict")
            assert song.plays == before
        else:
            outcomes.add("commit")
            assert song.plays == before + 1
        assert (song.stored, other.stored) == (song.plays, other.plays)
        assert song.plays == other.plays
        assert not song.transaction_is_active
    assert outcomes == {"conflict", "commit"} and place > 12
