"""Streams over several processes, and over restarts."""

from collections.abc import Iterator
from typing import Any

import pytest
from programs import Writer, run_program, start_program

import holdfast

ONE = """
    import sys, holdfast
    with holdfast.open(sys.argv[1]) as store:
        store.repository("songs").save({"id": "c"})
"""

# Tells each id that it is told, then notes that it has dealt with it; ends at "last".
MAILER = """
    import sys, holdfast
    store = holdfast.open(sys.argv[1])
    stream = store.subscribe("mailer", "songs")
    print("ready", flush=True)
    for batch in stream:
        for change in batch:
            print(change.id, flush=True)
        stream.acknowledge(batch.position)
        print("acknowledged", flush=True)
        if any(change.id == "last" for change in batch):
            break
    store.close()
"""


@pytest.fixture
def writer(path: str) -> Iterator[Writer]:
    writer = Writer(path)
    yield writer
    writer.close()


def ids(batch: Any) -> list[str]:
    return [change.id for change in batch]


def test_what_another_process_commits_is_told(path: str, writer: Writer) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save({"id": "a", "plays": 1})
        changes, query = store.changes("songs"), songs.observe(sort={"plays": -1}, limit=2)
        assert query.next(120).entities == [{"id": "a", "plays": 1}]
        writer('songs.save({"id": "b", "plays": 2})')
        event = query.next(120)
        assert [it.id for it in event.inserted] == ["b"] and event.entities == songs.find(sort={"plays": -1})
        (change,) = changes.next(120)
        assert (change.id, change.operation, change.entity) == ("b", "put", {"id": "b", "plays": 2})
        writer("[songs.patch('b', {'plays': number}) for number in range(50)]; songs.delete('a')")
        result = event.entities
        while result != [{"id": "b", "plays": 49}]:
            event = query.next(120)
            result = holdfast.apply_difference(result, event)
            assert result == event.entities
        heard: list[Any] = []
        while not heard or heard[-1].operation != "delete":
            heard += changes.next(120)
        assert ids(heard) == ["b"] * 50 + ["a"]
        assert heard[-2].entity == {"id": "b", "plays": 49}
        changes.close()
        query.close()


def test_a_repository_that_another_process_makes_is_told_too(path: str, writer: Writer) -> None:
    with holdfast.open(path) as store, store.changes() as changes:
        writer('store.repository("new").save({"id": "x"})')
        heard = [(it.repository, it.id) for it in changes.next(120)]
        assert heard == [("new", "x")]


def test_the_feed_goes_on_in_a_store_that_was_opened_again(path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save({"id": "a"})
        position = store.position
        store.repository("songs").save({"id": "b"})
    run_program(ONE, path)
    with holdfast.open(path) as store:
        batch = store.changes_since(position)
        assert ids(batch) == ["b", "c"]
        assert store.changes_since(batch.position).commits == ()
        store.repository("songs").save({"id": "d"})
        assert ids(store.changes_since(batch.position)) == ["d"]


def test_a_durable_subscription_goes_on_behind_what_was_acknowledged(path: str) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        with store.subscribe("mailer", "songs") as stream:
            with pytest.raises(holdfast.InvalidStateError):
                store.subscribe("mailer")
            songs.save({"id": "a"})
            stream.acknowledge(stream.next(120).position)
            songs.save({"id": "b"})
            assert ids(stream.next(120)) == ["b"]  # which is not acknowledged
        songs.save({"id": "c"})
    with holdfast.open(path) as store:
        store.repository("songs").save({"id": "d"})
        with store.subscribe("mailer", "songs") as stream:
            heard: list[str] = []
            while len(heard) < 3:
                heard += ids(stream.next(120))
            assert heard == ["b", "c", "d"]
        with store.subscribe("other", "songs") as stream:
            store.repository("songs").save({"id": "e"})
            assert ids(stream.next(120)) == ["e"], "one that is new begins with the next commit"


def test_each_commit_is_told_at_least_once_to_a_subscriber_that_is_killed(path: str) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        store.subscribe("mailer", since=store.position).acknowledge(store.position)
        committed = [f"s{number}" for number in range(60)]
        heard: list[str] = []
        for begin in range(0, 60, 20):
            program = start_program(MAILER, path, development=False)
            assert program.wait_for_line() == "ready"
            for id in committed[begin : begin + 20]:
                songs.save({"id": id})
            heard += [program.wait_for_line() for _ in range(7)]
            program.process.kill()
            heard += iter(program.wait_for_line, "")
            program.wait()
        program = start_program(MAILER, path, development=False)
        songs.save({"id": "last"})
        heard += iter(program.wait_for_line, "")
        assert program.wait().returncode == 0
        assert "acknowledged" in heard
        first_times = [id for id in dict.fromkeys(heard) if id not in ("ready", "acknowledged")]
        assert first_times == [*committed, "last"], "in order, and none is left out"


def test_the_feed_tells_commits_of_every_size(store: holdfast.Store, songs: Any) -> None:
    begin = store.position
    counts, lengths = [1, 127, 128, 129, 255, 256], [63, 64, 65, 127, 128, 129, 511, 512]
    for count in counts:
        songs.save_many([{"id": f"{count}-{number}"} for number in range(count)])
    for length in lengths:
        songs.save({"id": "i" * length})
    batch = store.changes_since(begin)
    assert [len(commit.changes) for commit in batch.commits] == counts + [1] * len(lengths)
    assert [len(commit.changes[0].id) for commit in batch.commits[len(counts) :]] == lengths


def test_two_processes_with_one_durable_name_each_hear_everything(path: str) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        store.subscribe("mailer", "songs").close()
        mailers = [start_program(MAILER, path) for _ in range(2)]
        assert [mailer.wait_for_line() for mailer in mailers] == ["ready", "ready"]
        songs.save_many([{"id": "first"}, {"id": "last"}])
        for mailer in mailers:
            assert [mailer.wait_for_line() for _ in range(3)] == ["first", "last", "acknowledged"]
            assert mailer.wait().returncode == 0
