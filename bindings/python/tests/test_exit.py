"""The interpreter ends whatever is under way."""

import time

import pytest
from programs import run_program

import holdfast


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
    assert time.monotonic() - started < 200
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
            try:
                threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
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


def test_the_interpreter_ends_with_streams_that_are_followed(path: str) -> None:
    program = """
        import sys, threading
        import holdfast
        store = holdfast.open(sys.argv[1])
        songs = store.repository("songs")
        def follow():
            for event in songs.observe():
                begun.set()
        begun = threading.Event()
        threading.Thread(target=follow, daemon=True).start()
        heard = store.changes().subscribe(lambda batch: None)
        left = store.changes()
        begun.wait()
        for number in range(100):
            store.submit(lambda: songs.save({"id": number}))
    """
    for _ in range(3):
        ended = run_program(program, path)
        assert (ended.returncode, ended.stderr) == (0, "")


def test_the_interpreter_ends_with_controllers_that_are_at_work(path: str) -> None:
    program = """
        import sys, threading
        import holdfast
        store = holdfast.open(sys.argv[1])
        songs = store.repository("songs")
        heard = []
        controller = holdfast.Controller(songs, lambda action, _: heard.append(action), heard.append)
        def follow():
            for state in controller.states():
                heard.append(state)
        threading.Thread(target=follow, daemon=True).start()
        controller.dispatch({"action": "request"})
        for number in range(100):
            controller.dispatch({"action": "save", "id": number, "element": {"id": number}})
    """
    for _ in range(3):
        ended = run_program(program, path)
        assert (ended.returncode, ended.stderr) == (0, "")
    with holdfast.open(path) as store:
        assert store.repository("songs").count() > 0
