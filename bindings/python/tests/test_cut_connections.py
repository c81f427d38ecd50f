"""Connections to a server that are cut, and what is said to be on its way: at every place of a commit, and at
places that are drawn while several processes commit. `make torture-postgresql` draws a thousand of them."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Callable

import pytest
from cuts import Told, judge
from proxy import Direction, Fault, Kind, Proxy
from server import Server, new_store

import holdfast

CUTS = Path(__file__).with_name("cuts.py")


class Counted:
    """A store behind a proxy whose commits count up, and tell from what."""

    def __init__(self, proxy: Proxy, patience: int = 5_000, has_keys: bool = True) -> None:
        self.proxy = proxy
        self.query = f"?{new_store()}"
        self.has_keys = has_keys
        self.store = holdfast.open(proxy.url + self.query, lock_timeout_ms=patience)
        self.entries = self.store.repository("entries")
        self.entries.save({"id": "count", "n": 0})
        self.acknowledged: list[str] = []
        self.unknown: list[str] = []
        self.refused: list[str] = []

    def add(self, name: str) -> None:
        count = self.entries["count"]["n"]
        self.entries.save({"id": name, "n": count})
        self.entries.save({"id": "count", "n": count + 1})

    def commit(self, name: str) -> None:
        """As a program does that goes on after a failure."""
        try:
            key = name if self.has_keys else None
            self.store.transact(lambda: self.add(name), idempotency_key=key, timeout=10)
            self.acknowledged.append(name)
        except holdfast.Error as error:
            is_unknown = error.commit_state is holdfast.CommitState.UNKNOWN
            (self.unknown if is_unknown else self.refused).append(name)

    def messages(self, direction: Direction, unit: str) -> int:
        """How many go there for a commit when nothing goes wrong."""
        self.commit("warm")
        counter = Fault(direction, sys.maxsize, unit)
        self.proxy.arm(counter)
        self.commit("counted")
        self.proxy.arm(None)
        return counter.passed

    def judge(self) -> None:
        self.store.close()
        with holdfast.open(Server.shared().url + self.query) as store:
            stored = {entry["id"]: entry["n"] for entry in store.repository("entries")}
        count = stored.pop("count")
        assert sorted(stored.values()) == list(range(count))
        assert set(self.acknowledged) <= set(stored)
        assert not set(self.refused) & set(stored)
        assert set(stored) <= {*self.acknowledged, *self.unknown}


@pytest.mark.parametrize("direction", Direction)
def test_a_commit_that_is_cut_behind_any_of_its_messages_is_stored_once_or_not(
    proxy: Proxy, direction: Direction
) -> None:
    counted = Counted(proxy)
    number = counted.messages(direction, "messages")
    assert number > 3
    for after in range(number + 1):
        kind = Kind.LATE if after % 2 else Kind.CUT
        proxy.arm(Fault(direction, after, kind=kind, seconds=0.02))
        counted.commit(f"{after}")
        proxy.arm(None)
        counted.commit(f"{after}, then")
        assert counted.acknowledged[-1] == f"{after}, then"
    # Not each commit takes as many.
    assert sum(proxy.struck.values()) >= number // 2
    # The server is there: each can be told.
    assert counted.unknown == []
    counted.judge()


@pytest.mark.parametrize("direction", Direction)
def test_a_commit_that_is_cut_behind_any_of_its_bytes_is_stored_once_or_not(
    proxy: Proxy, direction: Direction
) -> None:
    counted = Counted(proxy)
    number = counted.messages(direction, "bytes")
    places = range(1, number, 67)
    for after in places:
        proxy.arm(Fault(direction, after, "bytes"))
        counted.commit(f"{after}")
        proxy.arm(None)
    # Not each commit takes as many.
    assert proxy.struck[Kind.CUT] >= len(places) // 2
    counted.judge()


def test_a_batch_that_is_cut_before_its_commit_is_sent_begins_anew(proxy: Proxy) -> None:
    with holdfast.open(f"{proxy.url}?{new_store()}") as store:
        entries = store.repository("entries")
        entries.save({"id": "warm"})
        # It goes out in parts, with the row locked.
        proxy.arm(Fault(Direction.TO_SERVER, 9 << 20, "bytes"))
        entries.save_many({"id": f"e{number}", "text": "x" * 100_000} for number in range(150))
        assert proxy.struck[Kind.CUT] == 1
        assert entries.count() == 151


def test_a_commit_that_is_still_on_its_way_when_it_is_asked_about_is_not_stored_and_never_will_be(
    proxy: Proxy,
) -> None:
    counted = Counted(proxy, patience=1_000, has_keys=False)
    number = counted.messages(Direction.TO_SERVER, "messages")
    for passed in range(0, number, max(1, number // 6)):
        # The server hears of it when the store has asked what became of it already, and gone on.
        proxy.arm(Fault(Direction.TO_SERVER, passed, kind=Kind.LATE, seconds=2))
        counted.commit(f"{passed}")
        proxy.arm(None)
    time.sleep(2)
    resolved = counted.store.describe()["server"]["resolved_commits"]
    counted.judge()
    assert counted.refused and resolved > 0


def test_what_the_server_was_not_able_to_say_is_told_later_by_the_key(proxy: Proxy) -> None:
    with holdfast.open(f"{proxy.url}?holdfast_store=told{os.getpid()}", lock_timeout_ms=0) as store:
        entries = store.repository("entries")
        entries.save({"id": "warm"})
        counter = Fault(Direction.TO_CLIENT, sys.maxsize)
        proxy.arm(counter)
        with store.transaction(idempotency_key="counted"):
            entries.save({"id": "counted"})
        proxy.arm(None)
        for back in range(1, counter.passed):
            # The server has committed, in one of these turns, and nobody is told.
            key = f"k{back}"
            for _ in range(2):
                with store.transaction(idempotency_key=f"before {key}"):
                    entries.save({"id": "warm"})
            proxy.arm(Fault(Direction.TO_CLIENT, counter.passed - back, kind=Kind.OUTAGE, seconds=60))
            began = time.monotonic()
            try:
                with store.transaction(idempotency_key=key):
                    entries.save({"id": key})
            except holdfast.Error as error:
                is_unknown = error.commit_state is holdfast.CommitState.UNKNOWN
            else:
                is_unknown = False
            assert time.monotonic() - began < 20
            proxy.heal()
            if not is_unknown:
                continue
            with store.transaction(idempotency_key=key) as transaction:
                entries.save({"id": key})
            if transaction.receipt is not None and transaction.receipt.replayed:
                break
        else:
            pytest.fail("no commit was stored of which nobody was told")
        assert [entry["id"] for entry in entries].count(key) == 1


def test_what_is_found_and_told_to_be_durable_is_there_after_the_servers_crash() -> None:
    server = Server(HOLDFAST_SERVER_SETTINGS="-c fsync=on -c wal_writer_delay=10s")
    try:
        query = f"?{new_store()}"
        with Proxy(server.url) as proxy, holdfast.open(proxy.url + query, durability="relaxed") as store:
            entries = store.repository("entries")
            entries.save({"id": "warm"})
            store.sync()
            for after in range(12):
                proxy.arm(Fault(Direction.TO_CLIENT, after))
                transaction = store.begin()
                with transaction.joined():
                    entries.save({"id": f"e{after}"})
                with contextlib.suppress(holdfast.Error):
                    if transaction.commit().durable:
                        break
            else:
                pytest.fail("no commit was found of which nobody was told")
            proxy.arm(None)
            server.crash()
            server.start()
            with holdfast.open(server.url + query) as other:
                assert other.repository("entries").fetch(f"e{after}") == {"id": f"e{after}"}
    finally:
        server.stop()


def test_what_waits_for_a_replica_when_it_is_cut_is_acknowledged_once_that_has_it(own: Server) -> None:
    def wait_for_replica(name: str) -> None:
        own.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        own.sql("SELECT pg_reload_conf()")

    waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

    def wait_until_it_waits() -> None:
        deadline = time.monotonic() + 20
        while own.sql(f"SELECT count(*) {waiting}") == "0":
            assert time.monotonic() < deadline
            time.sleep(0.02)

    with holdfast.open(f"{own.url}?{new_store()}") as store:
        entries = store.repository("entries")
        entries.save({"id": "warm"})
        saved: list[str] = []
        is_last = threading.Event()

        def save() -> None:
            # The server takes a moment to begin to wait.
            while not is_last.is_set():
                entries.save({"id": f"e{len(saved)}"})
                saved.append(f"e{len(saved)}")

        wait_for_replica("nobody")
        thread = threading.Thread(target=save)
        thread.start()
        wait_until_it_waits()
        is_last.set()
        own.sql(f"SELECT pg_terminate_backend(pid, 10000) {waiting}")
        # It is found, and still nowhere else.
        thread.join(1)
        assert thread.is_alive()
        wait_until_it_waits()
        wait_for_replica("")
        thread.join(20)
        assert not thread.is_alive()
        assert [entry["id"] for entry in entries.find()] == sorted([*saved, "warm"])


def test_what_meets_nobody_costs_a_statement_and_a_round_trip(proxy: Proxy) -> None:
    """The least of some, for between them the store asks what others have committed."""
    with holdfast.open(f"{proxy.url}?holdfast_store=counted{os.getpid()}") as store:
        entries = store.repository("entries")
        entries.save({"id": "e1", "n": 0})
        sent = proxy.messages[Direction.TO_SERVER]

        def count_up() -> None:
            entries.save({"id": "e1", "n": entries["e1"]["n"] + 1})

        def cost(work: "Callable[[int], object]") -> "tuple[int, int]":
            costs = []
            for number in range(20):
                before = sent[b"E"], sent[b"S"]
                work(number)
                costs.append((sent[b"E"] - before[0], sent[b"S"] - before[1]))
            return min(costs)

        assert cost(lambda number: entries.save({"id": f"s{number}"})) == (1, 1)
        assert cost(lambda _: store.transact(count_up)) == (1, 1)
        assert cost(lambda _: entries["e1"]) == (1, 1)
        # What must be known first is asked for in one more.
        assert cost(lambda number: entries.add({"id": f"a{number}"}))[1] == 2
        assert entries["e1"]["n"] == 20


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        (Told(acknowledged={"p00.0", "p00.1", "p00.2"}), "is lost"),
        (Told(acknowledged={"p00.0"}, refused={"p00.1": "no"}), "although refused"),
        (Told(acknowledged={"p00.0"}), "nobody knows"),
        (Told(acknowledged={"p00.0"}, unknown={"p00.1"}), "a0"),
        (Told(acknowledged={"p00.0", "p00.1"}, longest_read=1e3), "a read took"),
        (Told(acknowledged={"p00.0", "p00.1"}, longest_commit=1e3), "a commit took"),
    ],
)
def test_the_judge_of_cuts_finds_what_is_wrong(path: str, told: Told, complaint: str) -> None:
    """Two commits of which the second did not see the first, where the complaint is about an account."""
    with holdfast.open(path) as store:
        store.repository("accounts").save({"id": "a0", "n": 2})
        second = 0 if complaint == "a0" else 1
        store.repository("entries").save_many(
            [{"id": "p00.0", "seen": {"a0": 0}}, {"id": "p00.1", "seen": {"a0": second}}]
        )
    with pytest.raises(AssertionError, match=complaint):
        judge(path, told)


def test_under_load_cuts_lose_and_double_nothing() -> None:
    """In processes of its own, where a server that says nothing is given up soon."""
    environment = {**os.environ, "HOLDFAST_LIMITS": "serverReply=1000000000,foreignLock=5000000000"}
    done = subprocess.run([sys.executable, CUTS, "60"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
