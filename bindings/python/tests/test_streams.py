"""Streams of changes: observers, feeds, who closes what, and who cannot keep up."""

import dataclasses
import gc
import logging
import os
import signal
import threading
import time
import weakref
from typing import Any

import pytest
from actions import eventually
from programs import in_child, refuses
from threads import in_thread

import holdfast
from holdfast import F
from holdfast._inbox import Inbox

Songs = holdfast.Repository[dict[str, Any]]


def told(batch: Any) -> list[tuple[str, str]]:
    return [(change.operation, change.id) for change in batch]


def next_commits(stream: Any, count: int) -> list[Any]:
    """The next commits, however they are brought together."""
    commits: list[Any] = []
    while len(commits) < count:
        commits += stream.next(120).commits
    assert len(commits) == count
    return commits


def test_a_slow_durable_subscription_is_told_each_commit_once_within_a_run(
    store: holdfast.Store, songs: Songs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Inbox, "MOST_EVENTS", 10)
    with store.subscribe("mailer", "songs") as stream:
        numbers: list[int] = []
        for n in range(5):
            songs.save_many([{"id": f"{n}"}])
        numbers += [commit.sequence for commit in next_commits(stream, 5)]
        # More than waits for who does not take it, and nothing of it is acknowledged.
        for n in range(50):
            songs.save({"id": f"slow {n}"})
        store.sync()
        time.sleep(0.2)
        numbers += [commit.sequence for commit in next_commits(stream, 50)]
        songs.save({"id": "last"})
        numbers += [commit.sequence for commit in next_commits(stream, 1)]
        assert numbers == sorted(set(numbers))
    # What was not acknowledged is told again in the next run.
    with store.subscribe("mailer", "songs") as stream:
        assert len(next_commits(stream, 56)) == 56


# --- What is told ------------------------------------------------------------------------------------


def test_each_commit_is_told_in_order_with_the_forms_that_were_asked_for(
    store: holdfast.Store, songs: Songs
) -> None:
    with store.changes(old=True) as changes, store.changes(entities=False) as bare:
        songs.add({"id": "a", "plays": 1})
        with store.transaction():
            songs.update({"id": "a", "plays": 2})
            songs.save({"id": "b"})
        songs.delete("a")
        commits = next_commits(changes, 3)
        assert [[(it.id, it.entity, it.old) for it in commit.changes] for commit in commits] == [
            [("a", {"id": "a", "plays": 1}, None)],
            [("a", {"id": "a", "plays": 2}, {"id": "a", "plays": 1}), ("b", {"id": "b"}, None)],
            [("a", None, {"id": "a", "plays": 2})],
        ]
        assert [it.operation for it in commits[1].changes] == ["update", "insert"]
        assert [it.operation for it in commits[2].changes] == ["delete"]
        assert commits[0].sequence < commits[1].sequence < commits[2].sequence
        assert abs(commits[0].time - time.time()) < 3600
        assert changes.position == store.position
        heard = [change for commit in next_commits(bare, 3) for change in commit.changes]
        assert [(it.repository, it.id) for it in heard] == [("songs", it) for it in ("a", "a", "b", "a")]
        assert {(it.entity, it.old) for it in heard} == {(None, None)}


def test_only_what_was_asked_for_is_told(store: holdfast.Store, songs: Songs) -> None:
    songs.save({"id": "a", "plays": 1})
    streams = {
        "repository": store.changes("songs"),
        "id": songs.changes(id="a"),
        "filter": songs.changes(filter=F.plays >= 10),
        "fields": songs.changes(fields=["plays"]),
    }
    store.repository("others").save({"id": "a", "plays": 100})
    songs.save({"id": "b", "plays": 20})
    songs.patch("a", {"title": "Gloria"})
    songs.patch("b", {"plays": 2})
    songs.patch("b", {"plays": 3})
    songs.save({"id": "a", "plays": 99, "last": True})
    heard: dict[str, list[str]] = {}
    for name, stream in streams.items():
        heard[name] = []
        for batch in stream:
            heard[name] += [change.id for change in batch]
            if any(change.entity and change.entity.get("last") for change in batch):
                break
        stream.close()
    assert heard == {
        "repository": ["b", "a", "b", "b", "a"],
        "id": ["a", "a"],
        "filter": ["b", "b", "a"],
        "fields": ["b", "b", "b", "a"],
    }


def test_a_stream_begins_behind_the_position_that_it_is_given(store: holdfast.Store, songs: Songs) -> None:
    songs.save({"id": "a"})
    position = store.position
    songs.save({"id": "b"})
    songs.save({"id": "c"})
    with store.changes(since=position) as changes:
        songs.save({"id": "d"})
        heard: list[str] = []
        while heard[-1:] != ["d"]:
            heard += [change.id for change in changes.next(120)]
        assert heard == ["b", "c", "d"]


def test_the_feed_is_asked_with_the_position_that_it_answered(store: holdfast.Store, songs: Songs) -> None:
    begin = store.position
    for number in range(10):
        songs.save({"id": number})
    store.repository("others").save({"id": "x"})
    heard, position = [], begin
    while True:
        batch = store.changes_since(position, "songs", limit=3)
        assert len(batch.commits) <= 3
        if batch.position == position:
            break
        heard += [change.id for change in batch]
        position = batch.position
    assert heard == [str(number) for number in range(10)]
    assert position == store.position
    assert "x" in [change.id for change in store.changes_since()]
    assert told(store.changes_since(begin, "songs", id=3)) == [("put", "3")]


def test_a_commit_is_told_before_its_future_is(store: holdfast.Store, songs: Songs) -> None:
    order: list[Any] = []
    stream = store.changes().subscribe(lambda batch: order.extend(change.id for change in batch))
    futures = [store.submit(lambda number=number: songs.save({"id": number})) for number in range(20)]
    for number, future in enumerate(futures):
        future.add_done_callback(lambda _, number=number: order.append(number))
    for future in futures:
        future.result(120)
    in_thread(lambda: store.submit(lambda: None).result(120))
    stream.close()
    assert all(order.index(str(number)) < order.index(number) for number in range(20))


WRONG: dict[str, tuple[Any, type[BaseException]]] = {
    "repository": (lambda store: store.changes("none"), holdfast.NotFoundError),
    "filter": (lambda store: store.changes("songs", filter={"a": {"$near": 1}}), holdfast.InvalidQueryError),
    "filter alone": (lambda store: store.changes(filter={"a": 1}), holdfast.InvalidOptionError),
    "fields": (lambda store: store.changes("songs", fields="plays"), TypeError),
    "position": (lambda store: store.changes(since="nonsense"), holdfast.Error),
    "another store's": (lambda store: store.changes(since="5c" * 16 + ":1"), holdfast.CursorLostError),
    "limit": (lambda store: store.changes_since(limit=0), holdfast.InvalidOptionError),
    "not durable": (lambda store: store.changes().acknowledge(store.position), holdfast.InvalidStateError),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_followed_is_refused(store: holdfast.Store, songs: Songs, name: str) -> None:
    wrong, expected = WRONG[name]
    with pytest.raises(expected):
        wrong(store)


def test_who_follows_a_repository_before_it_is_there_is_told_to_open_it(store: holdfast.Store) -> None:
    for follow in (store.changes, lambda name: store.subscribe("mailer", name)):
        with pytest.raises(holdfast.NotFoundError, match='no repository "outbox": open it first'):
            follow("outbox")
    store.repository("outbox")
    store.subscribe("mailer", "outbox").close()


# --- Entities of a class -----------------------------------------------------------------------------


@dataclasses.dataclass
class Song:
    id: str
    plays: int


def test_an_entity_that_is_not_of_the_class_is_an_error_that_names_it_and_the_others_go_on(
    store: holdfast.Store, songs: Songs
) -> None:
    songs.save_many([{"id": "a", "plays": 1}, {"id": "b"}])
    typed = store.repository("songs", cls=Song)
    with typed.observe() as query, typed.changes() as changes:
        first = query.next(120)
        good, bad = first.entities
        assert good == Song("a", 1)
        assert isinstance(bad, holdfast.CorruptError) and isinstance(bad.__cause__, TypeError)
        assert bad.detail == {"repository": "songs", "id": "b"} and '"b"' in str(bad)
        assert first.errors == (bad,)
        songs.save({"id": "c"})
        event = query.next(120)
        assert [error.detail["id"] for error in event.errors] == ["b", "c"]
        assert event.inserted[0].entity is event.entities[2]
        assert [error.detail["id"] for error in changes.next(120).errors] == ["c"]
        songs.save({"id": "b", "plays": 2})
        event = query.next(120)
        assert event.entities[:2] == [Song("a", 1), Song("b", 2)] and len(event.errors) == 1
        assert [change.entity for change in changes.next(120)] == [Song("b", 2)]


def test_a_difference_that_does_not_fit_is_an_error_and_then_there_is_a_snapshot(
    store: holdfast.Store, songs: Songs
) -> None:
    songs.save({"id": "a"})
    with songs.observe() as query:
        first = query.next(120)
        wrong = holdfast.Difference("p", [], 1, (holdfast.Removed(5, "x"),), (), (), ())
        with pytest.raises(holdfast.InvalidArgumentError):
            holdfast.apply_difference(first.entities, wrong)
        query._source._entities = []  # type: ignore[attr-defined]
        songs.delete("a")
        with pytest.raises(holdfast.InvalidArgumentError):
            query.next(120)
        songs.save({"id": "b"})
        event = query.next(120)
        assert isinstance(event, holdfast.Snapshot) and event.is_reset
        assert holdfast.apply_difference(first.entities, event) == event.entities == [{"id": "b"}]


# --- The end of a stream -----------------------------------------------------------------------------


def test_a_loop_that_is_left_a_block_that_ends_and_garbage_close_a_stream(
    store: holdfast.Store, songs: Songs
) -> None:
    before = holdfast.handle_count()
    songs.save({"id": "a"})
    for event in songs.observe():
        assert len(event.entities) == 1
        break
    assert holdfast.handle_count() == before
    with store.changes():
        assert holdfast.handle_count() == before + 1
    assert holdfast.handle_count() == before
    stream = store.changes()
    cycle: list[Any] = [stream]
    cycle.append(cycle)
    reference = weakref.ref(stream)
    del stream, cycle
    gc.collect()
    assert reference() is None and holdfast.handle_count() == before
    assert not len(store._events._listeners)


def test_closing_the_store_ends_a_loop_that_waits(store: holdfast.Store, songs: Songs) -> None:
    begun = threading.Event()
    heard: list[Any] = []

    def follow() -> None:
        for event in songs.observe():
            heard.append(event)
            begun.set()

    thread = threading.Thread(target=follow)
    thread.start()
    assert begun.wait(120)
    left = store.changes()
    songs.save({"id": "a"})
    store.close()
    thread.join(120)
    assert not thread.is_alive()
    assert heard[-1].entities == [{"id": "a"}], "what was committed before is told before the end"
    assert [change.id for batch in left for change in batch] == ["a"]
    with pytest.raises(holdfast.ClosedError):
        left.next()
    with pytest.raises(holdfast.ClosedError):
        store.changes()


def test_closing_a_stream_ends_a_loop_that_waits_on_another_thread(store: holdfast.Store) -> None:
    stream = store.changes()
    heard: list[Any] = []
    thread = threading.Thread(target=lambda: heard.extend(stream))
    thread.start()
    stream.close()
    thread.join(120)
    assert not thread.is_alive() and heard == []


def test_waiting_ends_after_its_time_and_at_control_c(store: holdfast.Store, songs: Songs) -> None:
    with store.changes() as changes:
        for timeout in (0, 0.01):
            with pytest.raises(holdfast.TimeoutError):
                changes.next(timeout)
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            next(changes)
        songs.save({"id": "a"})
        assert told(changes.next(120))[0][1] == "a"


def test_a_forked_child_has_no_part_in_its_parent_s_streams(store: holdfast.Store, songs: Songs) -> None:
    with songs.observe() as query, store.changes() as changes:
        query.next(120)
        calls = [query.next, changes.next, store.changes, songs.observe, lambda: store.position]
        calls += [lambda: next(changes), lambda: changes.acknowledge("x"), lambda: store.subscribe("x")]

        def child() -> bool:
            query.close()
            return all(map(refuses, calls))

        assert in_child(child) == 0
        songs.save({"id": "a"})
        assert query.next(120).entities == [{"id": "a"}]


# --- Subscribers -------------------------------------------------------------------------------------


def test_a_subscriber_hears_every_event_until_it_closes(store: holdfast.Store, songs: Songs) -> None:
    heard: list[Any] = []
    threads: set[str] = set()
    ended = threading.Event()

    def hear(event: Any) -> None:
        heard.append(event)
        threads.add(threading.current_thread().name)
        expected = holdfast.WouldDeadlockError if len(heard) > 1 else holdfast.Error
        with pytest.raises(expected):
            quiet.next(0)

    quiet = store.changes("songs", id="none")
    stream = songs.observe().subscribe(hear, ended.set)
    reference = weakref.ref(stream)
    del stream
    gc.collect()
    songs.save({"id": "a"})
    songs.save({"id": "b"})
    store.submit(lambda: songs.save({"id": "c"})).result(120)
    assert [len(event.entities) for event in heard][-1] == 3
    assert "holdfast-events" in threads
    assert reference() is not None, "it goes on although nobody keeps it"
    store.close()
    assert ended.wait(120)
    gc.collect()
    assert reference() is None


def test_subscribers_close_themselves_others_and_the_store(store: holdfast.Store, songs: Songs) -> None:
    heard: dict[str, list[Any]] = {"own": [], "other": [], "closer": []}
    streams: dict[str, Any] = {}

    def own(batch: Any) -> None:
        heard["own"] += batch
        streams["own"].close()

    def closer(batch: Any) -> None:
        heard["closer"] += batch
        streams["other"].close()
        if len(heard["closer"]) == 3:
            store.close()

    streams["closer"] = store.changes().subscribe(closer)
    streams["own"] = store.changes().subscribe(own)
    streams["other"] = store.changes().subscribe(heard["other"].append)
    for number in range(3):
        songs.save({"id": number})
        eventually(lambda number=number: len(heard["closer"]) > number)
    store.close()
    assert {name: len(changes) for name, changes in heard.items()} == {"own": 1, "other": 0, "closer": 3}


def test_when_close_returns_no_function_of_a_subscriber_runs_any_more(
    store: holdfast.Store, songs: Songs
) -> None:
    for _ in range(20):
        inside, closed = threading.Event(), threading.Event()
        late: list[bool] = []

        def hear(
            _: Any, inside: threading.Event = inside, closed: Any = closed, late: list[bool] = late
        ) -> None:
            inside.set()
            closed.wait(0.005)
            late.append(closed.is_set())

        stream = store.changes().subscribe(hear)
        songs.save({"id": "a"})
        assert inside.wait(120)
        songs.save({"id": "b"})
        stream.close()
        closed.set()
        store.submit(lambda: songs.save({"id": "c"})).result(120)
        assert late and True not in late


def test_what_a_subscriber_raises_is_told_and_ends_nothing(
    store: holdfast.Store, songs: Songs, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[BaseException] = []

    def fail(batch: Any) -> None:
        raise holdfast.ClosedError("".join(change.id for change in batch))

    def fail_again(_: BaseException) -> None:
        raise KeyError

    with caplog.at_level(logging.CRITICAL + 1):
        streams = [store.changes().subscribe(fail, on_error=it) for it in (told.append, None, fail_again)]
        songs.save({"id": "a"})
        songs.save({"id": "b"})
        eventually(lambda: "".join(map(str, told)) == "ab")
    for stream in streams:
        stream.close()


# --- Consumers that do not keep up -------------------------------------------------------------------


def test_a_consumer_of_changes_that_does_not_keep_up_misses_none(
    store: holdfast.Store, songs: Songs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Inbox, "MOST_EVENTS", 5)
    with store.changes() as changes:
        for number in range(50):
            songs.save({"id": f"s{number}"})
        eventually(lambda: changes._inbox.is_full)
        assert len(changes._inbox._told) <= 5
        heard: list[str] = []
        while len(heard) < 50:
            heard += [change.id for change in changes.next(120)]
        assert heard == [f"s{number}" for number in range(50)]
        songs.save({"id": "last"})
        assert [change.id for change in changes.next(120)] == ["last"]


def test_a_live_query_whose_consumer_keeps_up_is_told_each_change_however_much_comes(
    store: holdfast.Store, songs: Songs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Inbox, "MOST_BYTES", 2000)
    with songs.observe() as query:
        query.next(120)
        for number in range(50):
            songs.save({"id": f"s{number:02}", "text": "x" * 100})
            event = query.next(120)
            assert isinstance(event, holdfast.Difference) and len(event.inserted) == 1


def test_a_live_query_whose_consumer_does_not_keep_up_begins_anew(
    store: holdfast.Store, songs: Songs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Inbox, "MOST_BYTES", 2000)
    with songs.observe() as query:
        for number in range(50):
            kept = query._inbox._bytes
            songs.save({"id": f"s{number:02}", "text": "x" * 100})
            eventually(lambda kept=kept: query._inbox.is_full or query._inbox._bytes > kept)
        assert query._inbox.is_full
        events = []
        while not events or len(events[-1].entities) < 50:
            events.append(query.next(120))
        assert events[-1].entities == songs.find()
        assert [type(event).__name__ for event in events].count("Snapshot") == 2
        assert isinstance(events[-1], holdfast.Snapshot) and events[-1].is_reset
        songs.delete("s00")
        assert query.next(120).entities == songs.find()
