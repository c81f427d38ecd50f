"""Ctrl-C in the midst of the library's calls: it arrives at once, as what its handler has raised."""

import contextlib
import ctypes
import functools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from actions import WAIT, eventually
from programs import run_program, start_program

import holdfast
from holdfast import _interrupts
from holdfast._limits import LIMITS

Songs = holdfast.Repository[dict[str, Any]]

#: Within this time Ctrl-C arrives, in seconds, also on a machine that is busy. What waits here would wait for
#: half a minute by itself.
LONGEST = 20.0
#: A text on which this pattern tries long, and finds nothing.
TEXT = "a" * 18 + "b"
SLOW = {"text": {"$regex": "^(a|aa)+$"}}
MANY = 20_000


def is_stopped_while_it_counts() -> bool:
    """Whether a handler of SIGALRM that raises KeyboardInterrupt ends a call that takes long."""
    with holdfast.open("memory:") as store:
        songs = store.repository("songs")
        songs.add_many({"id": str(number), "text": TEXT} for number in range(MANY))
        began = time.process_time()
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            songs.count(SLOW)
            time.sleep(100)
        except KeyboardInterrupt:
            return time.process_time() - began < 1.5
    return False


def press_soon(sent: list[float], number: int = signal.SIGINT) -> None:
    """Sends a signal to this process, a moment from now, perhaps before this returns; the list tells when."""

    def press() -> None:
        time.sleep(random.uniform(0.05, 0.15))
        sent.append(time.monotonic())
        os.kill(os.getpid(), number)

    threading.Thread(target=press).start()


def interrupted(work: Callable[[], object], kind: type[BaseException] = KeyboardInterrupt) -> BaseException:
    """What Ctrl-C has raised in the midst of this work. What ctypes says of functions of the program's that
    it comes before is Python's own."""
    unraised: list[Any] = []
    sent: list[float] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda it: unraised.append(str(it))
    try:
        with pytest.raises(kind) as raised:
            press_soon(sent)
            work()
            # On a busy machine it may come only now.
            time.sleep(WAIT)
        took = time.monotonic() - sent[0]
    finally:
        sys.unraisablehook = hook
    assert took < LONGEST
    assert not [it for it in unraised if "trampoline" not in it]
    return raised.value


@pytest.fixture
def slow(songs: Songs) -> Songs:
    """Songs among which looking for a pattern takes long."""
    songs.add_many({"id": f"{number:05}", "text": TEXT, "n": number % 10} for number in range(MANY))
    return songs


READS: dict[str, Callable[[Songs], object]] = {
    "find": lambda songs: songs.find(SLOW),
    "find_sorted": lambda songs: songs.find(SLOW, sort={"n": 1}),
    "first": lambda songs: songs.first(SLOW),
    "count": lambda songs: songs.count(SLOW),
    "exists": lambda songs: songs.exists(SLOW),
    "explain": lambda songs: songs.explain(SLOW),
    "distinct": lambda songs: songs.distinct("n", SLOW),
    "iterate": lambda songs: list(songs.iterate(SLOW)),
    "modify_all": lambda songs: songs.modify_all(SLOW, {"$set": {"n": 1}}),
    "delete_all": lambda songs: songs.delete_all(SLOW),
    "function": lambda songs: songs.find(lambda _: time.sleep(0.001) or True),
}


@pytest.mark.parametrize("read", READS)
def test_in_a_long_read(read: str, slow: Songs) -> None:
    error = interrupted(lambda: READS[read](slow))
    assert getattr(error, "outcome", None) is None
    assert slow.count() == MANY


@pytest.mark.parametrize("read", ["find", "iterate", "modify_all"])
def test_in_a_long_read_of_a_transaction_which_goes_on(read: str, store: holdfast.Store, slow: Songs) -> None:
    with store.transaction():
        slow.save({"id": "before"})
        interrupted(lambda: READS[read](slow))
        slow.save({"id": "after"})
    assert slow.count() == MANY + 2


def test_in_the_building_of_an_index_of_which_nothing_is_left(songs: Songs) -> None:
    numbers = list(range(2000))
    songs.add_many({"id": str(id), "n": numbers} for id in range(300))
    interrupted(lambda: songs.create_index("n"))
    assert all(index["state"] == "dropping" for index in songs.indexes())
    songs.save({"id": "0", "n": [1]})
    songs.delete_all({"id": {"$gt": "1"}})
    songs.create_index("n", unique=False)
    assert songs.verify()["ok"]


def test_in_the_verifying_of_an_index(songs: Songs) -> None:
    songs.create_index("n")
    songs.add_many({"id": str(id), "n": list(range(2000))} for id in range(40))
    interrupted(lambda: [songs.verify() for _ in range(100)])
    assert songs.verify()["ok"]


def test_in_the_care_of_a_store_which_leaves_no_file(tmp_path: Path) -> None:
    path, backup, copy = tmp_path / "store.db", tmp_path / "backup.db", tmp_path / "copy.db"
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.add_many({"id": str(number), "text": TEXT * 20} for number in range(MANY))
        store.backup(backup)

        def again(work: Callable[[], object]) -> None:
            while True:
                work()
                copy.unlink(missing_ok=True)

        for work in (
            store.verify,
            store.compact,
            lambda: store.backup(copy),
            lambda: store.export_lines(copy),
            lambda: holdfast.restore(backup, copy),
            store.sync,
        ):
            interrupted(functools.partial(again, work))
            # A store that was restored has a lock file, as each that was opened.
            assert {it.name for it in tmp_path.glob("copy.db?*")} <= {"copy.db-lock"}
            copy.unlink(missing_ok=True)
        assert songs.count() == MANY
        assert store.verify()["ok"]


def test_in_an_import(store: holdfast.Store, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(b"".join(b'{"id":"%d"}\n' % number for number in range(MANY)))

    def again() -> None:
        while True:
            store.import_lines(lines, repository="songs", existing="replace")

    interrupted(again)
    store.import_lines(lines, repository="songs", existing="replace")
    assert store.repository("songs").count() == MANY


# --- Waiting -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def another_program_writes(path: Path) -> Iterator[None]:
    """Another program has the store's file locked for writing."""
    program = start_program(
        """
        import sqlite3, sys
        connection = sqlite3.connect(sys.argv[1], isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        print("locked", flush=True)
        sys.stdin.read()
        """,
        str(path),
        stdin=subprocess.PIPE,
    )
    assert program.wait_for_line() == "locked"
    try:
        yield
    finally:
        program.wait()


def test_in_a_commit_that_waits_for_another_program_and_stores_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with holdfast.open(path) as store:
        songs = store.repository("songs")

        def in_a_transaction() -> None:
            with store.transaction():
                songs.save({"id": "a"})

        waiting: list[Callable[[], object]] = [
            lambda: songs.save({"id": "a"}),
            lambda: songs.add_many([{"id": "a"}]),
            lambda: store.transact(lambda: songs.save({"id": "a"})),
            in_a_transaction,
            lambda: songs.deferred.save({"id": "a"}).perform(),
            lambda: store.repository("others"),
        ]
        with another_program_writes(path):
            for work in waiting:
                assert getattr(interrupted(work), "outcome", None) is None
        assert songs.count() == 0
        for work in waiting[2:]:
            work()
        assert songs.ids() == ["a"]


def test_in_a_commit_of_one_thread_which_does_no_harm_to_another(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        with another_program_writes(path):
            other = threading.Thread(target=lambda: songs.save({"id": "other"}))
            other.start()
            interrupted(lambda: songs.save({"id": "own"}))
        other.join()
        assert songs.ids() == ["other"]


def test_at_the_door_of_a_store(tmp_path: Path) -> None:
    import fcntl

    path = tmp_path / "store.db"
    holdfast.open(path).close()
    with Path(f"{path}-lock").open("r+b") as door:
        # An open file description's lock on byte 1: see StoreLock.swift.
        request = struct_flock(start=1)
        fcntl.fcntl(door, 37, request)  # F_OFD_SETLK
        interrupted(lambda: holdfast.open(path, lock_timeout_ms=60_000))
    holdfast.open(path).close()


def struct_flock(start: int) -> bytes:
    """A lock for writing on one byte."""

    class Flock(ctypes.Structure):
        _fields_ = [
            ("type", ctypes.c_short),
            ("whence", ctypes.c_short),
            ("start", ctypes.c_int64),
            ("length", ctypes.c_int64),
            ("pid", ctypes.c_int),
        ]

    return bytes(Flock(1, os.SEEK_SET, start, 1, 0))


# --- Handlers ----------------------------------------------------------------------------------------


@pytest.fixture
def handling() -> Iterator[Callable[[int, Any], None]]:
    """Sets the handlers of signals until the end of the test."""
    before: dict[int, Any] = {}

    def handle(number: int, handler: Any) -> None:
        before.setdefault(number, signal.signal(number, handler))

    yield handle
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_handler_that_raises_nothing_lets_the_call_go_on(slow: Songs, handling: Any) -> None:
    handled: list[int] = []
    handling(signal.SIGUSR1, lambda *_: handled.append(slow.count({"n": 3})))
    press_soon([], signal.SIGUSR1)
    assert slow.count({"n": {"$lt": 5}, **SLOW}) == 0
    assert slow.count({"n": {"$lt": 5}}) == MANY / 2
    eventually(lambda: handled)
    assert handled == [MANY / 10]


@pytest.mark.parametrize("kind", [SystemExit, LookupError, TimeoutError, holdfast.ConflictError])
def test_what_a_handler_raises_is_raised(kind: type[BaseException], slow: Songs, handling: Any) -> None:
    given = kind("stop")

    def handle(*_: object) -> None:
        raise given

    handling(signal.SIGINT, handle)
    assert interrupted(lambda: slow.count(SLOW), kind) is given
    assert given.__context__ is None


def test_signals_in_a_row_are_all_handled_and_none_ends_in_the_wrong_place(
    slow: Songs, handling: Any
) -> None:
    handled = []

    def handle(*_: object) -> None:
        handled.append(time.monotonic())
        if len(handled) % 3 == 0:
            raise KeyboardInterrupt

    handling(signal.SIGALRM, handle)
    unraised: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, unraised.append
    raised = 0
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        while raised < 10:
            try:
                slow.count(SLOW)
            except KeyboardInterrupt:
                raised += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook
    assert raised == len(handled) // 3
    assert not unraised
    assert not _interrupts.kept


def test_a_child_s_only_thread_is_asked_wherever_the_fork_came_from() -> None:
    end = run_program(
        """
        import os, signal, sys, threading, time, holdfast
        sys.path.insert(0, sys.argv[1])
        from test_interrupted_calls import MANY, SLOW, TEXT, is_stopped_while_it_counts

        def stop(*_):
            raise KeyboardInterrupt

        def fork():
            pid = os.fork()
            if pid == 0:
                os._exit(not is_stopped_while_it_counts())
            statuses.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

        statuses = []
        signal.signal(signal.SIGALRM, stop)
        fork()
        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()
        # In the midst of being asked, too.
        asked = threading.Event()

        def fork_when_asked():
            asked.wait()
            fork()

        def handle(*_):
            asked.set()
            thread.join()

        thread = threading.Thread(target=fork_when_asked)
        thread.start()
        signal.signal(signal.SIGUSR1, handle)
        with holdfast.open("memory:") as store:
            songs = store.repository("songs")
            songs.add_many({"id": str(number), "text": TEXT} for number in range(MANY // 4))
            threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGUSR1]).start()
            songs.count(SLOW)
            asked.wait()
        print(statuses)
        """,
        str(Path(__file__).parent),
        development=False,
    )
    assert end.stdout.strip() == "[0, 0, 0]", end.stderr


def test_the_main_thread_is_asked_also_where_another_has_imported_the_package() -> None:
    end = run_program(
        """
        import signal, sys, threading, time
        sys.path.insert(0, sys.argv[1])
        thread = threading.Thread(target=__import__, args=["holdfast"])
        thread.start()
        thread.join()
        from test_interrupted_calls import is_stopped_while_it_counts

        def stop(*_):
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, stop)
        print(is_stopped_while_it_counts())
        """,
        str(Path(__file__).parent),
        development=False,
    )
    assert end.stdout.strip() == "True", end.stderr


# --- Long texts --------------------------------------------------------------------------------------


def test_long_lists_are_read_and_written_in_pieces(songs: Songs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LIMITS, "read_bytes", 500)
    monkeypatch.setattr(LIMITS, "written_entities", 3)
    lengths = [0, 1000, 3, 0, 700, *range(60)]
    given = [{"id": f"{number:04}", "text": "ä" * length} for number, length in enumerate(lengths)]
    assert songs.add_many(given) == given
    assert songs.fetch_all() == songs.find() == list(songs) == given
    assert songs.find(fields=["id"]) == [{"id": song["id"]} for song in given]
    many = [{"id": f"{number:04}"} for number in range(3001)]
    songs.save_many(many)
    assert songs.fetch_all() == many
    assert songs.find({"id": "none"}) == []
