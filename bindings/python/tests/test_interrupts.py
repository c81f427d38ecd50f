"""Ctrl-C at any moment of what the library calls: it arrives, at once, and no answer is garbled."""

import contextlib
import contextvars
import ctypes
import functools
import gc
import io
import itertools
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional

import pytest
from nodes import Family
from programs import start_program

import holdfast

Songs = holdfast.Repository[dict[str, Any]]
#: Each is one of the real signals that a test sends, at a moment drawn anew.
TRIES = 60
#: What Ctrl-C does not end would take at least half a minute.
LONGEST = 20.0


@pytest.fixture(autouse=True)
def nothing_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nothing is counted here: what a call has answered just as Ctrl-C comes, before it has a name, is
    nobody's, as in all of Python. What goes late must not go while the next test counts."""
    yield
    request.node.funcargs.clear()
    holdfast.errors.refusals._kept.clear()
    for _ in range(3):
        gc.collect()
        time.sleep(0.05)


class Shelf(holdfast.StorageProvider):
    """A provider in memory, with all that one can do."""

    def __init__(self) -> None:
        self.bodies: dict[tuple[str, str], bytes] = {}
        self.changes = 0

    def save(self, repository: str, id: str, body: bytes) -> None:
        self.bodies[repository, id] = body
        self.changes += 1

    def fetch(self, repository: str, id: str) -> Optional[bytes]:
        return self.bodies.get((repository, id))

    def fetch_all(self, repository: str) -> Iterator[tuple[str, bytes]]:
        return ((id, body) for (name, id), body in list(self.bodies.items()) if name == repository)

    def delete(self, repository: str, id: str) -> None:
        self.bodies.pop((repository, id), None)

    def change_token(self) -> int:
        return self.changes


def interrupt(work: Callable[[], object]) -> None:
    """Has work done again and again, until Ctrl-C has arrived, which must be in the call in which it came."""
    # What the work leaves in its context when it is interrupted where a block begins is not the next one's.
    for seed in range(TRIES):
        contextvars.copy_context().run(_interrupt, work, random.Random(seed).uniform(0.0001, 0.004))
        gc.collect()


def _interrupt(work: Callable[[], object], seconds: float) -> None:
    handled: list[float] = []

    def handle(*_: object) -> None:
        handled.append(time.monotonic())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handle)
    alarm = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    # What ctypes says of an exception before the first line goes nowhere.
    unraised: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda it: unraised.append((it.err_msg, it.object))
    try:
        sent = time.monotonic() + seconds
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            while not handled:
                work()
            # What finalisers raise Python tells nobody but the hook.
            assert unraised and "trampoline" not in str(unraised), f"Ctrl-C was lost: {unraised}"
        except KeyboardInterrupt:
            assert time.monotonic() - sent < LONGEST
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = hook


def refuse(*_: object) -> None:
    raise LookupError


def test_in_the_body_of_a_transaction(store: holdfast.Store, songs: Songs) -> None:
    def body() -> None:
        songs.save({"id": "a"})
        raise LookupError

    def work() -> None:
        with pytest.raises(LookupError):
            store.transact(body)

    interrupt(work)
    assert songs.count() == 0
    interrupt(functools.partial(store.transact, lambda: songs.contains("a")))


def test_in_a_predicate(songs: Songs) -> None:
    songs.add_many({"id": str(number)} for number in range(20))
    found = []
    interrupt(lambda: found.append(len(songs.find(lambda song: song["id"] < "15"))))
    assert set(found) <= {7}


def test_in_a_predicate_ends_the_query(songs: Songs) -> None:
    songs.add_many({"id": str(number)} for number in range(20_000))
    called = itertools.count()

    def press(_: Any) -> bool:
        if next(called) == 10:
            signal.raise_signal(signal.SIGINT)
        return True

    with pytest.raises(KeyboardInterrupt):
        songs.find(press)
    assert next(called) < 20


def test_in_a_validator(store: holdfast.Store, songs: Songs) -> None:
    songs.set_validator(refuse)

    def work() -> None:
        with pytest.raises(LookupError):
            songs.save({"id": "a"})

    interrupt(work)
    assert songs.count() == 0


def test_in_the_progress_of_an_index(songs: Songs) -> None:
    songs.add_many({"id": str(number), "n": number} for number in range(100))

    def work() -> None:
        songs.create_index("n", name="n", progress=lambda _: None)
        songs.drop_index("n")

    def work_anew() -> None:
        if songs.indexes():
            songs.drop_index("n")
        work()

    interrupt(work_anew)
    songs.create_index("n", name="n")
    assert songs.verify()["ok"]


def test_in_the_progress_of_verifying_and_of_backups(tmp_path: Path, path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").add_many({"id": str(number)} for number in range(100))
        numbers = itertools.count()
        interrupt(lambda: store.verify(progress=lambda *_: None))
        interrupt(lambda: store.backup(tmp_path / str(next(numbers)), progress=lambda *_: None))


def test_in_what_takes_and_gives_lines(store: holdfast.Store, songs: Songs) -> None:
    songs.add_many({"id": str(number)} for number in range(100))
    exported = io.BytesIO()
    store.export_lines(exported)
    assert exported.getvalue().count(b"\n") > 100

    interrupt(lambda: store.export_lines(io.BytesIO(), progress=lambda *_: None))
    interrupt(
        lambda: store.import_lines(
            io.BytesIO(exported.getvalue()), existing="replace", progress=lambda *_: None
        )
    )
    assert songs.count() == 100


def test_in_the_methods_of_a_provider() -> None:
    with holdfast.open_provider(Shelf(), cache_bytes=0) as store:
        songs = store.repository("songs")
        songs.save({"id": "a", "plays": 1})

        def work() -> None:
            songs.save({"id": "b"})
            assert songs.fetch("a") == {"id": "a", "plays": 1}
            assert songs.fetch("c") is None
            assert songs.count() in (1, 2)
            songs.delete("b", missing_ok=True)

        interrupt(work)


def test_in_a_middleware(songs: Songs) -> None:
    seen = []
    with holdfast.Controller(songs, lambda action, _: seen.append(action)) as controller:
        interrupt(lambda: controller.dispatch({"action": "cancelRequest", "token": "none"}))
    assert all(action["action"] == "cancelRequest" for action in seen)


def test_in_a_clock(store: holdfast.Store) -> None:
    store.set_clock(time.monotonic)
    songs = store.repository("songs", cache=holdfast.CachePolicy.DEFAULT)
    songs.save({"id": "a"})

    def work() -> None:
        assert songs.fetch("a") == {"id": "a"}

    interrupt(work)


def test_in_the_members_of_trees(store: holdfast.Store, family: Family) -> None:
    def alone() -> None:
        with family.root.transaction():
            pass

    def stored() -> None:
        with pytest.raises(LookupError), store.transaction(family.root):
            store.repository("songs").save({"id": "a"})
            raise LookupError

    for work in (alone, stored):
        interrupt(work)
        assert not family.root.transaction_is_active
    assert store.repository("songs").count() == 0


def test_in_the_rollback_of_models_brings_their_whole_state_back(store: holdfast.Store) -> None:
    class Chart(holdfast.Model):
        def __init__(self) -> None:
            self.slices = {str(number): 0 for number in range(50)}

    chart = Chart()

    def fail() -> None:
        chart.slices.update(dict.fromkeys(chart.slices, 1))
        raise LookupError

    def work() -> None:
        with pytest.raises(LookupError):
            store.transact(fail, trees=[chart])

    def work_in_a_part() -> None:
        with pytest.raises(LookupError), store.transaction(chart) as transaction:
            savepoint = transaction.savepoint()
            chart.slices.clear()
            transaction.rollback_to(savepoint)
            raise LookupError

    for one in (work, work_in_a_part):
        interrupt(one)
        assert not chart.transaction_is_active
        assert chart.slices == {str(number): 0 for number in range(50)}


def test_in_an_upgrade(store: holdfast.Store, songs: Songs) -> None:
    songs.save({"id": "a"})

    def upgrade(_: Any) -> None:
        songs.save({"id": "b"})
        raise LookupError

    def work() -> None:
        with pytest.raises(LookupError):
            store.upgrade({0: upgrade}, backup=False)

    interrupt(work)
    assert songs.ids() == ["a"]
    assert store.schema_version is None


def test_too_deep_a_stack_is_no_answer(store: holdfast.Store, songs: Songs) -> None:
    songs.set_validator(refuse)

    def save(depth: int) -> None:
        if depth > 0:
            return save(depth - 1)
        with contextlib.suppress(LookupError, holdfast.Error):
            songs.save({"id": "a"})

    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        for depth in range(sys.getrecursionlimit()):
            with contextlib.suppress(RecursionError, ctypes.ArgumentError):
                save(depth)
    finally:
        sys.unraisablehook = hook
    assert songs.count() == 0

    # What had no place there has not ended for good.
    songs.set_validator(None)
    songs.add_many({"n": number} for number in range(10_000))
    interrupt(lambda: songs.find({"n": {"$gte": 0}}))


def test_ctrl_c_ends_a_program_in_the_midst_of_a_long_work() -> None:
    program = start_program(
        """
        import holdfast
        with holdfast.open("memory:") as store:
            songs = store.repository("songs")
            songs.add_many({"id": str(number), "n": number} for number in range(20_000))
            print("filled", flush=True)
            while True:
                songs.create_index("n", progress=lambda _: None)
                songs.drop_index("n")
        """
    )
    assert program.wait_for_line() == "filled"
    program.process.send_signal(signal.SIGINT)
    end = program.wait()
    assert end.returncode == -signal.SIGINT
    assert end.stderr.rstrip().endswith("KeyboardInterrupt")
