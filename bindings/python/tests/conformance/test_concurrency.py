"""Threads on one store: nothing is lost, nobody sees half of a commit, and what cannot be is refused."""

import random
import threading
from typing import Any, Callable

import pytest
from threads import in_thread, in_threads

import holdfast

Songs = holdfast.Repository[dict[str, Any]]


def on_threads(count: int, work: Callable[[int], None]) -> None:
    """Runs the work on so many threads at once; the first exception comes out."""
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    in_threads(run, range(count))
    if failures:
        raise failures[0]


def test_parallel_saves_give_as_many_entities(songs: Songs) -> None:
    on_threads(4, lambda number: [songs.save({"id": f"{number}-{n}"}) for n in range(25)] and None)
    assert songs.count() == 100


def test_of_parallel_adds_of_one_id_one_succeeds(songs: Songs) -> None:
    added: list[int] = []

    def add(number: int) -> None:
        for n in range(10):
            try:
                songs.add({"id": str(n), "by": number})
                added.append(n)
            except holdfast.ExistsError:
                pass

    on_threads(4, add)
    assert sorted(added) == list(range(10))


def test_no_increment_is_lost_however_it_is_made(store: holdfast.Store, songs: Songs) -> None:
    songs.add({"id": "a", "n": 0})

    def increase() -> None:
        songs.patch("a", {"n": songs["a"]["n"] + 1})

    def work(number: int) -> None:
        for _ in range(10):
            if number % 2:
                store.transact(increase)
            else:
                songs.modify("a", {"$inc": {"n": 1}})

    on_threads(4, work)
    assert songs["a"]["n"] == 40


def test_a_lost_update_is_refused(store: holdfast.Store, songs: Songs) -> None:
    songs.add({"id": "a", "n": 0})
    with pytest.raises(holdfast.ConflictError) as caught, store.transaction():
        n = songs["a"]["n"]
        in_thread(lambda: songs.patch("a", {"n": 10}))
        songs.patch("a", {"n": n + 1})
    assert caught.value.retryable and caught.value.detail["ids"] == ["a"]
    assert songs["a"]["n"] == 10


def test_write_skew_is_refused(store: holdfast.Store, songs: Songs) -> None:
    songs.save_many([{"id": "a", "on_call": True}, {"id": "b", "on_call": True}])

    def leave(id: str) -> None:
        if songs.count({"on_call": True}) > 1:
            songs.patch(id, {"on_call": False})

    with pytest.raises(holdfast.ConflictError), store.transaction():
        leave("a")
        in_thread(lambda: store.transact(lambda: leave("b")))
    assert songs.count({"on_call": True}) == 1


def test_a_phantom_is_refused(store: holdfast.Store, songs: Songs) -> None:
    songs.save_many([{"id": "a", "n": 1}, {"id": "b", "n": 2}])
    others = store.repository("others")
    with pytest.raises(holdfast.ConflictError), store.transaction():
        count = songs.count({"n": {"$gt": 1}})
        in_thread(lambda: songs.add({"id": "c", "n": 3}))
        others.save({"id": "count", "n": count})
    with store.transaction():
        count = songs.count({"n": {"$gt": 1}})
        in_thread(lambda: songs.add({"id": "d", "n": 0}))  # matches nothing that was asked for
        others.save({"id": "count", "n": count})
    assert others["count"]["n"] == 2


def test_reading_that_something_is_missing_is_reading(store: holdfast.Store, songs: Songs) -> None:
    with pytest.raises(holdfast.ConflictError), store.transaction():
        assert songs.fetch("a") is None
        in_thread(lambda: songs.add({"id": "a"}))
        songs.add({"id": "b"})
    assert songs.ids() == ["a"]


def test_a_transaction_reads_one_state_whatever_others_commit(store: holdfast.Store, songs: Songs) -> None:
    songs.save_many([{"id": str(n), "n": 0} for n in range(10)])
    with store.transaction():
        assert songs["0"]["n"] == 0

        def change() -> None:
            songs.modify_all({}, {"$inc": {"n": 1}})
            songs.delete("3")
            songs.add({"id": "new", "n": 5})

        in_thread(change)
        assert [song["n"] for song in songs.fetch_all()] == [0] * 10
        assert songs["3"]["n"] == 0
        assert songs.fetch("new") is None
        assert songs.count({"n": {"$gt": 0}}) == 0
    assert songs.count({"n": {"$gt": 0}}) == 10


def test_nobody_sees_half_of_a_commit(store: holdfast.Store, songs: Songs) -> None:
    songs.save_many([{"id": str(n), "n": 100} for n in range(5)])
    moved = threading.Event()

    def move(number: int) -> None:
        chance = random.Random(number)
        try:
            for _ in range(15):
                source, target = chance.sample("01234", 2)

                def transfer(source: str = source, target: str = target) -> None:
                    songs.patch(source, {"n": songs[source]["n"] - 1})
                    songs.patch(target, {"n": songs[target]["n"] + 1})

                store.transact(transfer)
        finally:
            if number == 1:
                moved.set()

    def look() -> None:
        while not moved.is_set():
            assert sum(song["n"] for song in songs.fetch_all()) == 500
            # Again where its snapshot was taken back.
            assert store.transact(lambda: sum(songs[id]["n"] for id in "01234")) == 500

    on_threads(3, lambda number: look() if number == 0 else move(number))
    assert sum(song["n"] for song in songs.fetch_all()) == 500


def test_what_was_stored_is_read_at_once_by_everybody(songs: Songs) -> None:
    for n in range(20):
        songs.save({"id": "a", "n": n})
        assert in_thread(lambda: songs["a"]["n"]) == songs["a"]["n"] == n
        songs.delete("a")
        assert in_thread(lambda: songs.fetch("a")) is None


def test_submitted_commits_are_stored_in_their_order(store: holdfast.Store, songs: Songs) -> None:
    futures = [store.submit(lambda n=n: songs.save({"id": "a", "n": n}) and n) for n in range(50)]
    assert [future.result() for future in futures] == list(range(50))
    sequences = [future.receipt.sequence for future in futures]
    assert sequences == sorted(set(sequences))
    assert songs["a"]["n"] == 49
