"""Stores on a server: what processes do there together, and what is left of who is killed."""

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from server import Server

import holdfast

_names = itertools.count()


@pytest.fixture
def server() -> Server:
    return Server.shared()


@pytest.fixture
def url(server: Server) -> str:
    """Of a store that nobody used before."""
    return f"{server.url}?holdfast_store=test{os.getpid()}.{next(_names)}"


@pytest.fixture
def own() -> Iterator[Server]:
    """A server that a test may kill."""
    server = Server()
    yield server
    server.stop()


def test_a_store_on_a_server_keeps_what_is_committed(url: str) -> None:
    with holdfast.open(url) as store:
        store.repository("songs").save({"id": "s1", "title": "So What"})
        assert store.describe()["engine"] == "postgresql"
    with holdfast.open(url.replace("postgresql://", "postgres://"), create=False) as store:
        assert store.repository("songs")["s1"]["title"] == "So What"


def test_stores_of_one_database_are_apart(server: Server, url: str) -> None:
    with holdfast.open(url) as one, holdfast.open(server.url, store=f"other {url[-20:]}") as other:
        one.repository("songs").save({"id": "s1"})
        assert "s1" in one.repository("songs")
        assert "s1" not in other.repository("songs")


def test_a_store_is_named_by_the_url_or_by_the_option(server: Server, url: str) -> None:
    with pytest.raises(holdfast.InvalidOptionError, match="give one of them"):
        holdfast.open(url, store="another")
    with pytest.raises(holdfast.InvalidOptionError, match="store"):
        holdfast.open("memory:", store="main")
    with pytest.raises(holdfast.CannotOpenError, match='there is no store "never"'):
        holdfast.open(server.url, store="never", create=False)


def test_no_password_is_shown(server: Server, url: str) -> None:
    secret = "0penSesame"
    with_secret = url.replace("postgres@", f"postgres:{secret}@") + f"&password={secret}"
    with holdfast.open(with_secret) as store:
        shown = [repr(store), str(store.describe())]
        shown.append(repr(store.transaction()))
    for broken in (
        with_secret.replace("postgresql://", "postgresql:"),
        with_secret + "&port=nothing",
        with_secret + "&%zz=1",
        with_secret.replace("/postgres?", "/nowhere?"),
        with_secret.replace(":5432", ":5433"),
        with_secret + "&nonsense=1",
    ):
        with pytest.raises(holdfast.Error) as raised:
            holdfast.open(broken, lock_timeout_ms=1000)
        shown.append(str(raised.value))
    assert [text for text in shown if secret in text] == []


def test_what_only_files_have_says_what_to_do_instead(url: str, tmp_path: "os.PathLike[str]") -> None:
    with holdfast.open(url) as store:
        with pytest.raises(holdfast.UnsupportedError, match="pg_dump"):
            store.backup(os.path.join(tmp_path, "copy.db"))
        with pytest.raises(holdfast.UnsupportedError, match="autovacuum"):
            store.compact()


def count_up(url: str, times: int) -> None:
    with holdfast.open(url) as store:
        counters = store.repository("counters")

        def add() -> None:
            counters.save({"id": "c", "n": counters["c"]["n"] + 1})

        for _ in range(times):
            store.transact(add)


def test_processes_lose_no_update(url: str) -> None:
    with holdfast.open(url) as store:
        store.repository("counters").save({"id": "c", "n": 0})
        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=count_up, args=(url, 30)) for _ in range(3)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0, 0, 0]
        # Also out of a cache that has the entity.
        assert store.repository("counters")["c"]["n"] == 90


def test_a_stream_tells_of_another_process(url: str) -> None:
    with holdfast.open(url) as store:
        store.repository("counters").save({"id": "c", "n": 0})
        with store.changes() as changes:
            process = multiprocessing.get_context("spawn").Process(target=count_up, args=(url, 1))
            process.start()
            told = next(iter(changes))
            process.join()
    assert [change.id for change in told] == ["c"]


def test_a_forked_child_leaves_the_connections_to_its_parent(url: str) -> None:
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.save({"id": "s1"})
        child = os.fork()
        if child == 0:
            try:
                songs["s1"]
            except holdfast.ForkedError:
                with holdfast.open(url) as again:
                    again.repository("songs").save({"id": "s2"})
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        songs.save({"id": "s3"})
        assert sorted(song["id"] for song in songs) == ["s1", "s2", "s3"]


WRITER = """
import sys, holdfast
with holdfast.open(sys.argv[1]) as store:
    entries = store.repository("entries")
    for number in range(100_000):
        with store.transaction():
            entries.save({"id": f"{sys.argv[2]}.{number}"})
            entries.save({"id": sys.argv[2], "n": number + 1})
        print(number, flush=True)
"""


def test_what_a_killed_process_was_told_is_stored_whole(url: str) -> None:
    for kill in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, url, f"w{kill}"], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            acknowledged = int(process.stdout.readline())
            deadline = time.monotonic() + 0.05 * (kill + 1)
            while time.monotonic() < deadline:
                acknowledged = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            for line in process.stdout:
                if line.endswith("\n"):
                    acknowledged = int(line)
        with holdfast.open(url) as store:
            entries = store.repository("entries")
            count = entries[f"w{kill}"]["n"]
            assert acknowledged + 1 <= count <= acknowledged + 2
            stored = [entry["id"] for entry in entries if entry["id"].startswith(f"w{kill}.")]
            assert sorted(stored) == sorted(f"w{kill}.{number}" for number in range(count))


def test_what_a_killed_server_has_acknowledged_is_there_once(own: Server) -> None:
    acknowledged: list[set[str]] = [set() for _ in range(4)]
    refused: list[set[str]] = [set() for _ in range(4)]
    unknown: list[set[str]] = [set() for _ in range(4)]
    is_over = threading.Event()

    with holdfast.open(own.url, lock_timeout_ms=20_000) as store:
        entries = store.repository("entries")
        entries.save({"id": "count", "n": 0})

        def add(thread: int, number: int) -> None:
            entries.save({"id": f"{thread}.{number}", "n": entries["count"]["n"]})
            entries.save({"id": "count", "n": entries["count"]["n"] + 1})

        def write(thread: int) -> None:
            for number in itertools.count():
                if is_over.is_set():
                    return
                name = f"{thread}.{number}"
                try:
                    store.transact(lambda number=number: add(thread, number))  # type: ignore[misc]
                    acknowledged[thread].add(name)
                except holdfast.Error as error:
                    is_unknown = error.commit_state is holdfast.CommitState.UNKNOWN
                    (unknown if is_unknown else refused)[thread].add(name)
                    time.sleep(0.01)

        threads = [threading.Thread(target=write, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            time.sleep(0.4)
            own.crash()
            time.sleep(0.1)
            own.start()
        time.sleep(0.4)
        is_over.set()
        for thread in threads:
            thread.join()

    with holdfast.open(own.url) as store:
        stored = {entry["id"]: entry.get("n") for entry in store.repository("entries")}
    count = stored.pop("count")
    assert count == len(stored)
    # Each saw another count, so none was stored twice.
    assert sorted(stored.values()) == list(range(count))
    assert set().union(*acknowledged) <= set(stored)
    assert not set().union(*refused) & set(stored)
    assert set(stored) <= set().union(*acknowledged, *unknown)
    assert all(acknowledged)
