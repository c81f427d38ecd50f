"""Streams behind a log that was trimmed."""

from collections.abc import Iterator
from typing import Any

import pytest
from programs import Writer

import holdfast
from holdfast._inbox import Inbox


@pytest.fixture
def writer(path: str) -> Iterator[Writer]:
    writer = Writer(path)
    yield writer
    writer.close()


def ids(batch: Any) -> list[str]:
    return [change.id for change in batch]


def commit_many(store: holdfast.Store, count: int) -> None:
    """Makes so many commits, more than the log keeps."""
    songs = store.repository("songs")
    futures = [store.submit(lambda number=number: songs.save({"id": number})) for number in range(count)]
    for future in futures:
        future.result(60)


def test_the_feed_misses_no_commit_where_the_log_was_trimmed(path: str) -> None:
    store = holdfast.open(path, log_retention=1000, durability="relaxed")
    songs = store.repository("songs")
    positions = [store.position]
    for number in range(3000):
        songs.save({"id": str(number)})
        positions.append(store.position)
    lost = 0
    for number, position in enumerate(positions[:-1]):
        try:
            batch = store.changes_since(position, limit=1)
        except holdfast.CursorLostError:
            lost += 1
        else:
            assert ids(batch) == [str(number)]
    assert 0 < lost < len(positions) - 1000
    store.close()


def test_a_position_that_the_log_has_lost_is_an_error_that_says_where_to_go_on(
    engine: str, path: str
) -> None:
    with holdfast.open("memory:" if engine == "memory" else path, log_retention=1000) as store:
        songs = store.repository("songs")
        position = store.position
        commit_many(store, 3000)
        for follow in (lambda: store.changes(since=position), lambda: store.changes_since(position)):
            with pytest.raises(holdfast.CursorLostError) as lost:
                follow()
            assert lost.value.position == store.position
        with store.changes(since=lost.value.position) as changes:
            songs.save({"id": "next"})
            assert ids(changes.next(120)) == ["next"]


def test_a_durable_subscription_that_the_log_has_left_behind_begins_where_it_is_told_to(
    engine: str, path: str
) -> None:
    with holdfast.open("memory:" if engine == "memory" else path, log_retention=1000) as store:
        with store.subscribe("mailer") as stream:
            stream.acknowledge(store.position)
        commit_many(store, 3000)
        with pytest.raises(holdfast.CursorLostError) as lost:
            store.subscribe("mailer")
        for options in ({"since": lost.value.position}, {}):
            with store.subscribe("mailer", **options) as stream:
                store.repository("songs").save({"id": "next"})
                batch = stream.next(120)
                assert ids(batch) == ["next"]
                stream.acknowledge(batch.position)


def test_what_another_process_commits_takes_its_part_of_the_bytes_that_the_log_may_take(
    path: str, writer: Writer
) -> None:
    writer("None")
    with holdfast.open(path, log_max_bytes=1 << 20) as store:
        songs = store.repository("songs")
        with store.subscribe("mailer") as stream:
            stream.acknowledge(store.position)
        position = store.position
        entities = [{"id": f"{number:0100}"} for number in range(1000)]
        songs.save_many(entities)
        assert len(store.changes_since(position).commits) == 1
        # It has more room for its log than this process, and leaves it to this one to trim it.
        writer("[songs.save_many([{'id': f'{number:0100}'} for number in range(1000)]) for _ in range(30)]")
        assert len(store.changes_since(position).commits) == 31
        songs.save_many(entities)
        with pytest.raises(holdfast.CursorLostError):
            store.changes_since(position)
        assert 9 <= len(store.changes_since().commits) <= 10
        with pytest.raises(holdfast.CursorLostError):
            store.subscribe("mailer")


def test_a_consumer_that_the_log_has_left_behind_hears_so_once_and_goes_on(
    engine: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Inbox, "MOST_EVENTS", 3)
    with holdfast.open("memory:" if engine == "memory" else path, log_retention=1000) as store:
        songs = store.repository("songs")
        with store.changes() as changes, songs.observe() as query:
            for _ in range(10):
                commit_many(store, 300)
            heard: list[str] = []
            with pytest.raises(holdfast.CursorLostError) as lost:
                while True:
                    heard += ids(changes.next(120))
            assert heard == [str(number % 300) for number in range(len(heard))]
            assert lost.value.position == store.position
            while query.next(120).entities != songs.find():
                pass
            songs.save({"id": "next"})
            assert ids(changes.next(120)) == ["next"]
            assert len(query.next(120).entities) == 301
