"""A server that has lost commits which it had acknowledged: a replica without them was promoted, or
a copy put back.

Who knew of them hears so, and goes on with what is there.
"""

import itertools
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from proxy import Direction, Fault, Kind, Proxy
from server import Server

import holdfast

_names = itertools.count()

TABLES = ("store", "repository", "entity", "index", "entry", "log", "idempotency")


class Copied:
    """The URL of a store of which copies are taken and put back, as a server's administrator may."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._name = f"history{os.getpid()}.{next(_names)}"
        self.query = f"?holdfast_store={self._name}"
        self.url = server.url + self.query
        self._mine = f"store = (SELECT store FROM holdfast_store WHERE name = '{self._name}')"

    def copy(self) -> None:
        for table in TABLES:
            self._server.sql(
                f"DROP TABLE IF EXISTS kept_{table}; "
                f"CREATE TABLE kept_{table} AS SELECT * FROM holdfast_{table} WHERE {self._mine}"
            )

    def put_back(self) -> None:
        self._server.sql(self._putting_back)

    def put_back_and_hold(self, seconds: float) -> "subprocess.Popen[bytes]":
        """Another program has the store's row at once, as long as that."""
        return self.hold(seconds, self._putting_back + "; ")

    def hold(self, seconds: float, first: str = "") -> "subprocess.Popen[bytes]":
        row = f"SELECT FROM holdfast_store WHERE {self._mine} FOR UPDATE"
        text = f"{first}BEGIN; {row}; SELECT pg_sleep({seconds}); COMMIT"
        held = subprocess.Popen(["psql", "--no-psqlrc", "--quiet", self._server.url, "--command", text])
        sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        while self._server.sql(sleeps) == "0":
            time.sleep(0.01)
        return held

    def let_go(self) -> None:
        """Of the row, before the time."""
        sleeping = "FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        self._server.sql(f"SELECT pg_terminate_backend(pid) {sleeping}")

    @property
    def _putting_back(self) -> str:
        statements = [f"DELETE FROM holdfast_{table} WHERE {self._mine}" for table in reversed(TABLES)]
        statements += [f"INSERT INTO holdfast_{table} SELECT * FROM kept_{table}" for table in TABLES]
        return "BEGIN; " + "; ".join(statements) + "; COMMIT"


@pytest.fixture
def copied() -> Iterator[Copied]:
    server = Server.shared()
    yield Copied(server)
    for table in TABLES:
        server.sql(f"DROP TABLE IF EXISTS kept_{table}")


def filled(store: holdfast.Store) -> holdfast.Repository:
    songs = store.repository("songs")
    songs.create_index("n")
    songs.save_many([{"id": "s1", "n": 1}, {"id": "s2", "n": 1}])
    return songs


def test_what_is_there_is_served_and_nothing_that_was_lost(copied: Copied) -> None:
    with holdfast.open(copied.url) as store:
        songs = filled(store)
        copied.copy()
        songs.save({"id": "s1", "n": 2})
        songs.save({"id": "s3", "n": 2})
        assert songs.fetch("s1") == {"id": "s1", "n": 2} and songs.fetch("s3") is not None
        copied.put_back()
        assert songs.fetch("s3") is None
        assert songs.fetch("s1") == {"id": "s1", "n": 1} == songs.fetch("s1")
        assert songs.find({"n": 2}) == [] and songs.count({"n": 1}) == 2
        songs.save({"id": "s1", "n": 3})
        assert store.transact(lambda: songs.fetch("s1")) == {"id": "s1", "n": 3}
        store.verify()
    with holdfast.open(copied.url) as store:
        assert sorted(song["n"] for song in store.repository("songs").find()) == [1, 3]


@pytest.mark.parametrize("how", ["blind", "adding", "transaction"])
def test_a_commit_finds_out_and_is_stored_on_what_is_there(copied: Copied, how: str) -> None:
    with holdfast.open(copied.url) as store:
        songs = filled(store)
        copied.copy()
        songs.save({"id": "s3", "n": 2})
        lost = store.describe()["sequence"]
        copied.put_back()
        if how == "blind":
            songs.save({"id": "s4", "n": 4})
        elif how == "adding":
            # What was there is no more.
            songs.add({"id": "s3", "n": 4})
        else:
            with store.transaction():
                songs.save({"id": "s4", "n": 4})
        assert store.describe()["sequence"] > lost
        assert songs.count() == 3


def test_who_has_read_what_is_no_more_is_told_so(copied: Copied) -> None:
    with holdfast.open(copied.url) as store:
        songs = filled(store)
        copied.copy()
        songs.save({"id": "s1", "n": 2})
        writing, reading, blind = (store.begin() for _ in range(3))
        with writing.joined():
            songs.save({"id": "s1", "n": songs.fetch("s1")["n"] + 1})
        with reading.joined():
            assert songs.fetch("s1") == {"id": "s1", "n": 2}
        with blind.joined():
            songs.save({"id": "s4", "n": 4})
        copied.put_back()
        with pytest.raises(holdfast.HistoryLostError) as told:
            writing.commit()
        assert told.value.commit_state is holdfast.CommitState.NONE and not told.value.retryable
        with reading.joined(), pytest.raises(holdfast.HistoryLostError):
            songs.fetch("s2")
        reading.rollback()
        blind.commit()
        assert songs.fetch("s1") == {"id": "s1", "n": 1} and songs.fetch("s4") is not None


def test_what_others_have_committed_meanwhile_does_not_hide_the_loss(copied: Copied) -> None:
    with holdfast.open(copied.url) as store:
        songs = filled(store)
        copied.copy()
        for number in range(2, 5):
            songs.save({"id": "s1", "n": number})
        lost = store.describe()["sequence"]
        transaction = store.begin()
        with transaction.joined():
            assert songs.fetch("s1")["n"] == 4
        copied.put_back()
        with holdfast.open(copied.url) as other:
            while other.describe()["sequence"] <= lost:
                other.repository("songs").save({"id": "s1", "n": -1})
        with transaction.joined():
            songs.save({"id": "s2", "n": 5})
        with pytest.raises(holdfast.HistoryLostError):
            transaction.commit()
        assert songs.fetch("s1") == {"id": "s1", "n": -1}


def test_streams_begin_anew_with_what_is_there(copied: Copied) -> None:
    with holdfast.open(copied.url) as store:
        songs = filled(store)
        copied.copy()
        with (
            songs.changes() as changes,
            songs.observe({"n": {"$gte": 2}}) as found,
            songs.observe_aggregate([{"$count": "all"}]) as counted,
        ):
            assert found.next(timeout=20).entities == []
            assert counted.next(timeout=20).documents == [{"all": 2}]
            songs.save({"id": "s3", "n": 2})
            assert [change.id for change in changes.next(timeout=20)] == ["s3"]
            assert [row.id for row in found.next(timeout=20).inserted] == ["s3"]
            assert counted.next(timeout=20).documents == [{"all": 3}]
            lost = store.position
            copied.put_back()
            with pytest.raises(holdfast.CursorLostError) as told:
                changes.next(timeout=20)
            begun = found.next(timeout=20)
            assert isinstance(begun, holdfast.Snapshot) and begun.is_reset and begun.entities == []
            assert counted.next(timeout=20).documents == [{"all": 2}]
            songs.save({"id": "s4", "n": 3})
            assert [change.id for change in changes.next(timeout=20)] == ["s4"]
            assert [row.id for row in found.next(timeout=20).inserted] == ["s4"]
        assert [change.id for change in store.changes_since(told.value.position)] == ["s4"]
        with pytest.raises(holdfast.CursorLostError):
            store.changes_since(lost)
    # Nor does one that is opened anew take it for a position of its own.
    with holdfast.open(copied.url) as store, pytest.raises(holdfast.CursorLostError):
        store.changes_since(lost)


def test_a_repository_that_was_lost_ends_the_store_until_it_is_opened_anew(copied: Copied) -> None:
    with holdfast.open(copied.url) as store:
        filled(store)
        copied.copy()
        others = store.repository("others")
        others.save({"id": "o1"})
        copied.put_back()
        for _ in range(2):
            with pytest.raises(holdfast.Error, match="open it again"):
                others.fetch("o1")
            with pytest.raises(holdfast.Error, match="open it again"):
                others.save({"id": "o2"})
    with holdfast.open(copied.url) as store:
        assert store.repositories() == ["songs"]


def test_a_standby_that_is_behind_another_is_waited_for_and_no_loss(own: Server) -> None:
    copied = Copied(own)
    with holdfast.open(copied.url) as store:
        songs = filled(store)
        copied.copy()
        songs.save({"id": "s3"})
    with holdfast.open(copied.url, read_only=True, lock_timeout_ms=1000) as store:
        songs = store.repository("songs")
        assert songs.fetch("s3") == {"id": "s3"}
        copied.put_back()
        Path(own.folder, "data", "standby.signal").touch()
        own.restart()
        with pytest.raises(holdfast.BusyError, match="has not got commit"):
            songs.fetch("s3")
        # Of a primary it is one.
        own.sql("SELECT pg_promote()")
        assert songs.fetch("s3") is None and songs.fetch("s1") == {"id": "s1", "n": 1}


def test_a_store_whose_last_commits_were_lost_closes(copied: Copied) -> None:
    with holdfast.open(copied.url) as store:
        songs = filled(store)
        copied.copy()
        songs.save({"id": "s3"})
        copied.put_back()
    with holdfast.open(copied.url) as store:
        assert store.repository("songs").count() == 2


def test_a_loss_that_cannot_be_told_at_first_is_told_later(copied: Copied) -> None:
    with holdfast.open(copied.url, lock_timeout_ms=200) as store:
        songs = filled(store)
        copied.copy()
        with songs.changes() as changes, songs.observe({"n": {"$gte": 2}}) as found:
            assert found.next(timeout=20).entities == []
            songs.save({"id": "s3", "n": 2})
            assert [change.id for change in changes.next(timeout=20)] == ["s3"]
            assert [row.id for row in found.next(timeout=20).inserted] == ["s3"]
            lost = store.position
            with copied.put_back_and_hold(2) as held:
                assert songs.fetch("s3") is None
                assert held.poll() is None
            with holdfast.open(copied.url) as other:
                for number in range(3):
                    other.repository("songs").save({"id": f"o{number}", "n": 1})
            with pytest.raises(holdfast.CursorLostError):
                changes.next(timeout=20)
            begun = found.next(timeout=20)
            assert isinstance(begun, holdfast.Snapshot) and begun.is_reset and begun.entities == []
            assert songs.fetch("s3") is None and songs.count({"n": 1}) == 5
            with pytest.raises(holdfast.CursorLostError):
                store.changes_since(lost)


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.repository("songs").save({"id": "s4"}),
        lambda store: store.repository("songs").create_index("m"),
        lambda store: store.repository("others"),
        lambda store: store.rename("songs", "tunes"),
        lambda store: store.describe(),
        lambda store: store.repositories(),
        lambda store: store.verify(),
        lambda store: store.export_lines(os.devnull),
        lambda store: store.changes().close(),
        lambda store: store.changes_since(None),
    ],
)
def test_who_has_read_nothing_is_told_nothing(
    copied: Copied, call: "Callable[[holdfast.Store], object]"
) -> None:
    with holdfast.open(copied.url) as store:
        songs = store.repository("songs")
        songs.save_many([{"id": "s1"}, {"id": "s2"}])
        copied.copy()
        songs.save({"id": "s3"})
        copied.put_back()
        call(store)


def test_a_commit_whose_server_has_lost_others_when_it_is_asked_is_not_stored(copied: Copied) -> None:
    with Proxy(Server.shared().url) as proxy, holdfast.open(proxy.url + copied.query) as store:
        songs = store.repository("songs")
        songs.save({"id": "s1", "n": 1})
        copied.copy()
        for number in range(2, 4):
            songs.save({"id": "s1", "n": number})
        assert songs.fetch("s1") is not None
        proxy.arm(Fault(Direction.TO_CLIENT, 0, kind=Kind.OUTAGE, seconds=2))
        transaction = store.begin()
        with transaction.joined():
            songs.save({"id": "s3", "n": 3})
        with pytest.raises(holdfast.HistoryLostError) as told, ThreadPoolExecutor() as threads:
            threads.submit(lambda: (time.sleep(0.5), copied.put_back()))
            transaction.commit()
        assert told.value.commit_state is holdfast.CommitState.NONE
        assert songs.fetch("s3") is None and songs.fetch("s1") == {"id": "s1", "n": 1}


def test_what_nobody_can_say_of_a_commit_is_no_refusal_of_it(copied: Copied) -> None:
    with (
        Proxy(Server.shared().url) as proxy,
        holdfast.open(proxy.url + copied.query, lock_timeout_ms=2000) as store,
    ):
        songs = store.repository("songs")
        songs.save({"id": "s1", "n": 1})
        assert songs.fetch("s1") is not None
        proxy.arm(Fault(Direction.TO_CLIENT, 0, kind=Kind.OUTAGE, seconds=1.5))
        transaction = store.begin()
        with transaction.joined():
            songs.save({"id": "s3", "n": 3})

        def hold_once_it_is_stored() -> "subprocess.Popen[bytes]":
            while not proxy.struck[Kind.OUTAGE]:
                time.sleep(0.01)
            return copied.hold(60)

        with ThreadPoolExecutor() as threads:
            held = threads.submit(hold_once_it_is_stored)
            with pytest.raises(holdfast.IOError, match="idempotency key") as told:
                transaction.commit()
            assert told.value.commit_state is holdfast.CommitState.UNKNOWN and not told.value.retryable
            copied.let_go()
            held.result().wait()
        assert songs.fetch("s3") == {"id": "s3", "n": 3}


def test_a_sync_does_not_say_that_what_was_lost_is_durable(copied: Copied) -> None:
    with holdfast.open(copied.url, durability="relaxed") as store:
        songs = filled(store)
        copied.copy()
        songs.save({"id": "s3"})
        copied.put_back()
        with pytest.raises(holdfast.HistoryLostError):
            store.sync()
        assert songs.fetch("s3") is None
        store.sync()


def test_a_sync_tells_once_of_a_loss_that_others_have_found_before(copied: Copied) -> None:
    with holdfast.open(copied.url, durability="relaxed") as store:
        songs = filled(store)
        store.sync()
        copied.copy()
        songs.save({"id": "s3"})
        copied.put_back()
        assert songs.fetch("s3") is None
        songs.create_index("m")
        with pytest.raises(holdfast.HistoryLostError):
            store.sync()
        store.sync()


@pytest.mark.parametrize("is_main", [True, False])
def test_a_sync_tells_of_each_loss_of_what_was_acknowledged_since_the_last(
    copied: Copied, is_main: bool
) -> None:
    def lose_twice() -> None:
        with holdfast.open(copied.url) as store:
            songs = filled(store)
            store.sync()
            copied.copy()
            songs.save({"id": "s3"})
            copied.put_back()
            with pytest.raises(holdfast.HistoryLostError):
                store.sync()
            copied.copy()
            songs.save_many([{"id": "s5"}, {"id": "s6"}])
            copied.put_back()
            # By what does not tell of it.
            deadline = time.monotonic() + 60
            while songs.fetch("s5") is not None and time.monotonic() < deadline:
                time.sleep(0.01)
            with pytest.raises(holdfast.HistoryLostError):
                store.sync()
            store.sync()

    if is_main:
        lose_twice()
    else:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lose_twice).result()


def test_what_the_cache_of_a_server_has_not_got_is_a_miss(copied: Copied) -> None:
    with holdfast.open(copied.url) as store:
        filled(store)
    with holdfast.open(copied.url) as store:
        songs = store.repository("songs")
        for _ in range(2):
            assert songs.fetch("s1") is not None
        assert songs.fetch("absent") is None
        assert songs.cache_statistics()["hits"] == 1 and songs.cache_statistics()["misses"] == 2
