"""Durable subscriptions to what is quiet, in stores whose other repositories are not."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from programs import Writer

import holdfast

# The shortest log there is. A place is moved when a sixteenth of this has come.
RETENTION = 1000
PART = RETENTION // 16


class Neighbour(Writer):
    """Another process, which keeps no longer log."""

    TEXT = Writer.TEXT.replace("(sys.argv[1])", f"(sys.argv[1], log_retention={RETENTION})")


@contextmanager
def opened(engine: str, path: str) -> Iterator[holdfast.Store]:
    url = "memory:" if engine == "memory" else path
    with holdfast.open(url, log_retention=RETENTION, durability="relaxed") as store:
        store.repository("songs")
        store.repository("orders")
        yield store


def commit_many(store: holdfast.Store, count: int = 2 * RETENTION + 100) -> None:
    """Without a count so often that the log has nothing of before."""
    save = store.repository("songs").deferred.save({"id": "often"})
    for future in [save.submit() for _ in range(count)]:
        future.result(60)


def ids(batch: Any) -> list[str]:
    return [change.id for change in batch]


def follow_all(store: holdfast.Store) -> None:
    """Returns once all that was committed was followed, and what follows from that is committed, too."""
    songs = store.repository("songs")
    with store.changes("songs") as changes:
        songs.save({"id": "mark"})
        while "mark" not in ids(changes.next(120)):
            pass
    songs.save({"id": "behind it"})


def begin(store: holdfast.Store, name: str = "mailer") -> "holdfast.ChangeStream[Any]":
    """A subscription that has acknowledged all that it was told."""
    mailer = store.subscribe(name, "orders")
    store.repository("orders").save({"id": "first"})
    mailer.acknowledge(mailer.next(120).position)
    return mailer


def test_a_subscription_that_has_missed_nothing_keeps_its_place(engine: str, path: str) -> None:
    with opened(engine, path) as store:
        with begin(store):
            commit_many(store)
            follow_all(store)
        with store.subscribe("mailer", "orders") as mailer:
            store.repository("orders").save({"id": "next"})
            assert ids(mailer.next(120)) == ["next"]


def test_a_subscription_keeps_its_place_where_another_process_commits(path: str) -> None:
    with opened("", path) as store:
        writer = Neighbour(path)
        with begin(store):
            for _ in range(3):  # each of which the log keeps until it is followed
                writer("save = songs.deferred.save({'id': 'often'})")
                writer(f"runs = [save.submit() for _ in range({RETENTION - 2 * PART})]")
                writer("[run.result(60) for run in runs]")
                follow_all(store)
        writer.close()
        with store.subscribe("mailer", "orders") as mailer:
            store.repository("orders").save({"id": "next"})
            assert ids(mailer.next(120)) == ["next"]


def test_a_subscription_stays_in_front_of_what_was_not_acknowledged(engine: str, path: str) -> None:
    with opened(engine, path) as store:
        orders = store.repository("orders")
        with begin(store) as mailer:
            commit_many(store)
            orders.save({"id": "told"})
            commit_many(store, 2 * PART)
            orders.save({"id": "told, too"})
            told = store.position
            commit_many(store, 2 * PART)
            orders.save({"id": "behind it"})
            commit_many(store, 2 * PART)
            assert "told" in ids(mailer.next(120))
            follow_all(store)
        with store.subscribe("mailer", "orders") as mailer:
            heard = []
            while "behind it" not in heard:
                heard += ids(mailer.next(120))
            assert heard == ["told", "told, too", "behind it"]
            mailer.acknowledge(told)
            commit_many(store, 2 * PART)
            follow_all(store)
        with store.subscribe("mailer", "orders") as mailer:
            assert ids(mailer.next(120)) == ["behind it"]
            commit_many(store)
        with pytest.raises(holdfast.CursorLostError):
            store.subscribe("mailer", "orders")


def test_a_subscription_stays_lost_until_the_place_that_it_goes_on_from_is_acknowledged(
    engine: str, path: str
) -> None:
    with opened(engine, path) as store:
        begin(store).close()
        commit_many(store)
        for is_dealt_with in (False, True):
            with pytest.raises(holdfast.CursorLostError) as lost:
                store.subscribe("mailer", "orders")
            with store.subscribe("mailer", "orders", since=lost.value.position) as mailer:
                if is_dealt_with:
                    mailer.acknowledge(lost.value.position)
                commit_many(store)
                follow_all(store)
        store.subscribe("mailer", "orders").close()


def test_places_move_together_and_no_more_often_than_they_have_to() -> None:
    with opened("memory", "") as store:
        songs = store.repository("songs")
        mailers = [begin(store)]
        before, count = store.describe()["sequence"], 2 * PART
        mailers += [store.subscribe(f"mailer {number}", "orders") for number in range(count)]
        time.sleep(0.3)
        # What was committed is places alone, which do not move one another.
        assert store.describe()["sequence"] == before + count

        before, count = store.describe()["sequence"], 8 * PART
        for _ in range(count):
            songs.save({"id": "often"})
        follow_all(store)
        moves = store.describe()["sequence"] - before - count - 2
        assert 1 <= moves <= count // PART + 1
        for mailer in mailers:
            mailer.close()
