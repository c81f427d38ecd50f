"""A forked child owns nothing of its parent's, and the interpreter ends whatever is under way."""

import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from typing import Any, Callable

import pytest

import holdfast


def run_program(text: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs a program to its end, in Python's development mode, which reports what is forgotten."""
    command = [sys.executable, "-X", "dev", "-c", textwrap.dedent(text), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def in_child(function: Callable[[], Any]) -> int:
    """Runs a function in a forked child and answers its exit status: 0 when it answered true."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of newer Pythons: forking beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            os._exit(0 if function() else 1)
        except BaseException:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def refuses(call: Callable[[], Any]) -> bool:
    try:
        call()
    except holdfast.ForkedError:
        return True
    return False


def test_everything_of_the_parent_s_is_refused_in_a_forked_child(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.save({"id": "s1"})
    transaction = store.begin()
    future = store.submit(lambda: songs.save({"id": "s2"}))
    calls = [
        lambda: songs.fetch("s1"),
        lambda: songs.save({"id": "s3"}),
        lambda: store.repository("others"),
        lambda: store.submit(lambda: None),
        lambda: store.transact(lambda: None),
        store.begin,
        store.describe,
        store.sync,
        store.close,
        transaction.commit,
        transaction.submit,
        transaction.rollback,
    ]
    assert in_child(lambda: all(map(refuses, calls))) == 0
    future.result(10)
    assert songs.ids() == ["s1", "s2"]
    transaction.rollback()


def test_a_forked_child_may_open_a_store_of_its_own(store: holdfast.Store) -> None:
    store.submit(lambda: None).result(10)

    def child() -> bool:
        with holdfast.open("memory:") as own:
            songs = own.repository("songs")
            own.submit(lambda: songs.save({"id": "s1"})).result(10)
            own.transact(lambda: songs.save({"id": "s2"}))
            return songs.ids() == ["s1", "s2"]

    assert in_child(child) == 0


def test_a_file_that_was_open_at_the_fork_cannot_be_opened_in_the_child(path: str) -> None:
    with holdfast.open(path) as store:
        assert in_child(lambda: refuses(lambda: holdfast.open(path))) == 0
        store.repository("songs").save({"id": "s1"})
    with holdfast.open(path) as store:
        assert store.repository("songs").ids() == ["s1"]


def test_a_child_that_ends_normally_leaves_the_parent_s_store_alone(path: str) -> None:
    program = """
        import gc, os, sys, warnings
        import holdfast
        warnings.simplefilter("ignore")
        store = holdfast.open(sys.argv[1])
        songs = store.repository("songs")
        store.submit(lambda: songs.save({"id": "s1"})).result(10)
        child = os.fork()
        if child == 0:
            del songs, store
            gc.collect()
            sys.exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        songs.save({"id": "s2"})
        assert songs.ids() == ["s1", "s2"]
        store.close()
    """
    ended = run_program(program, path)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_interpreter_ends_with_work_in_flight_and_loses_none_of_it(path: str) -> None:
    program = """
        import sys
        import holdfast
        store = holdfast.open(sys.argv[1])
        songs = store.repository("songs")
        for number in range(3000):
            store.submit(lambda: songs.save({"id": str(number)}))
        transaction = store.begin()
    """
    started = time.monotonic()
    ended = run_program(program, path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert time.monotonic() - started < 30
    with holdfast.open(path) as store:
        assert store.repository("songs").count() == 3000


def test_the_interpreter_ends_with_threads_that_still_work() -> None:
    program = """
        import itertools, threading, time
        import holdfast
        store = holdfast.open("memory:")
        songs = store.repository("songs")
        def work():
            for number in itertools.count():
                try:
                    store.submit(lambda: songs.save({"id": str(number % 100)}))
                    songs.fetch(str(number % 100))
                except holdfast.Error:
                    return
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.5)
    """
    ended = run_program(program)
    assert ended.returncode == 0, ended.stderr


def test_the_interpreter_ends_with_conflicts_still_being_run_again(path: str) -> None:
    program = """
        import sys
        import holdfast
        store = holdfast.open(sys.argv[1])
        songs = store.repository("songs")
        songs.save({"id": "s1", "plays": 0})
        def play():
            songs.patch("s1", {"plays": songs["s1"]["plays"] + 1})
        futures = [store.submit(play) for _ in range(200)]
    """
    ended = run_program(program, path)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_interrupt_ends_a_program_that_waits_for_a_commit() -> None:
    program = """
        import os, signal, threading
        import holdfast
        with holdfast.open("memory:") as store:
            future = holdfast.CommitFuture(store.begin())
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                future.result()
            except KeyboardInterrupt:
                print("interrupted")
    """
    ended = run_program(program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\n", "")


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_process_that_just_dies_keeps_what_was_acknowledged(path: str, end: str) -> None:
    program = f"""
        import os, signal, sys
        import holdfast
        store = holdfast.open(sys.argv[1])
        songs = store.repository("songs")
        def acknowledge(future):
            os.write(1, (future.result() + "\\n").encode())
        for number in range(500):
            store.submit(lambda: songs.save({{"id": str(number)}})["id"]).add_done_callback(acknowledge)
        {end}
    """
    ended = run_program(program, path)
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        assert [id for id in ended.stdout.split() if id not in songs] == []
