"""Several processes work on one store, however Python starts them; interpreters within a process do not."""

import concurrent.futures
import multiprocessing
import shutil
import subprocess
import time
from pathlib import Path
from typing import Optional

import pytest
from programs import exit_code, fork, refuses, run_program, start_program

import holdfast

PROCESSES, ROUNDS = 3, 40


def count_up(path: str) -> int:
    """What each process does: opens the store itself, and adds to one counter."""
    with holdfast.open(path) as store:
        counters = store.repository("counters")

        def add() -> None:
            counters.save({"id": "c", "n": counters["c"]["n"] + 1})

        for _ in range(ROUNDS):
            store.transact(add)
    return ROUNDS


@pytest.fixture
def counted(path: str) -> str:
    with holdfast.open(path) as store:
        store.repository("counters").save({"id": "c", "n": 0})
    return path


def total(path: str) -> int:
    with holdfast.open(path) as store:
        return store.repository("counters")["c"]["n"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_share_a_store(counted: str, method: str) -> None:
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        assert list(pool.map(count_up, [counted] * PROCESSES)) == [ROUNDS] * PROCESSES
    assert total(counted) == PROCESSES * ROUNDS


@pytest.mark.parametrize("cache", [None, holdfast.CachePolicy.AGGRESSIVE])
def test_what_one_process_commits_is_seen_by_the_next_read_of_another(
    counted: str, cache: Optional[holdfast.CachePolicy]
) -> None:
    with holdfast.open(counted) as store:
        counters = store.repository("counters", cache=cache)
        assert counters["c"]["n"] == 0
        for rounds in range(1, 4):
            context = multiprocessing.get_context("spawn")
            process = context.Process(target=count_up, args=(counted,))
            process.start()
            process.join(60)
            assert process.exitcode == 0
            assert counters["c"]["n"] == rounds * ROUNDS
            hits = counters.cache_statistics()["hits"]
            assert counters["c"]["n"] == rounds * ROUNDS
            assert counters.cache_statistics()["hits"] == hits + 1


def test_workers_of_a_preforking_server_open_the_store_after_the_fork(path: str, counted: str) -> None:
    # The server has a store of its own open, as an application that is loaded before its workers would.
    with holdfast.open(path + "-server") as server:
        sessions = server.repository("sessions")
        sessions.save({"id": "s"})

        def worker() -> bool:
            return refuses(lambda: sessions.fetch("s")) and count_up(counted) == ROUNDS

        workers = [fork(worker) for _ in range(PROCESSES)]
        assert [exit_code(worker) for worker in workers] == [0] * PROCESSES
        assert sessions.ids() == ["s"]
    assert total(counted) == PROCESSES * ROUNDS


SUBINTERPRETER = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import holdfast
interpreters.run_string(interpreters.create(), '''
import sys
sys.path[:] = %r
try:
    import holdfast
except ImportError as error:
    print(error)
''' % sys.path)
"""


def test_a_subinterpreter_is_refused_by_name() -> None:
    ended = run_program(SUBINTERPRETER, development=False)
    assert "cannot be imported in a subinterpreter" in ended.stdout, ended.stderr
    assert "process of its own" in ended.stdout
    assert ended.returncode == 0


def test_who_only_reads_keeps_nobody_from_opening_and_closing(path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save({"id": "a"})
    reader = start_program(
        """
        import sys, holdfast
        with holdfast.open(sys.argv[1], read_only=True) as store:
            print("reading", flush=True)
            while True:
                store.describe()
        """,
        path,
    )
    try:
        assert reader.wait_for_line() == "reading"
        began = time.monotonic()
        for number in range(3):
            with holdfast.open(path) as store:
                store.repository("songs").save({"id": str(number)})
        # Each opening and closing would wait five seconds for the reader, half a minute in all.
        assert time.monotonic() - began < 25
    finally:
        reader.process.kill()
        reader.wait()


def test_who_opens_a_store_whose_file_was_replaced_under_another_process_is_told(counted: str) -> None:
    owner = start_program(
        """
        import sys, holdfast
        store = holdfast.open(sys.argv[1])
        store.repository("counters").save({"id": "o", "n": 1})
        print("open", flush=True)
        sys.stdin.readline()
        try:
            store.close()
        except holdfast.IOError:
            print("told", flush=True)
        """,
        counted,
        stdin=subprocess.PIPE,
    )
    assert owner.wait_for_line() == "open"
    shutil.copy(counted, counted + ".copy")
    Path(counted + ".copy").replace(counted)
    with pytest.raises(holdfast.IOError, match="replaced"):
        holdfast.open(counted)
    assert owner.wait().stdout == "told\n"
    # What is there now is a store like any other.
    with holdfast.open(counted) as store:
        counters = store.repository("counters")
        counters.save({"id": "b", "n": 1})
    with holdfast.open(counted) as store:
        assert "b" in store.repository("counters").ids()
