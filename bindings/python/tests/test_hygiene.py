"""What a long-running program relies on: nothing accumulates, nothing that a callback raises is lost."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any, Callable

import pytest

import holdfast
import holdfast.aio

SOAK = Path(__file__).with_name("soak.py")


def test_operations_of_every_kind_leave_no_memory_and_no_handles() -> None:
    ended = subprocess.run(
        [sys.executable, SOAK, "20000"], capture_output=True, text=True, timeout=500, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_function_that_heard_of_progress_is_let_go_of(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.save_many([{"id": str(number), "plays": number} for number in range(100)])

    class Progress:
        def __call__(self, *_: int) -> None: ...

    works: list[Callable[[Any], Any]] = [
        lambda progress: songs.create_index("plays", progress=progress),
        lambda progress: store.verify(progress=progress),
    ]
    for work in works:
        progress = Progress()
        kept = weakref.ref(progress)
        work(progress)
        del progress
        gc.collect()
        assert kept() is None


class Mine(BaseException):
    """What a host's function raises."""


def raising(*_: object) -> Any:
    raise Mine("mine")


Waits = Callable[[holdfast.Store], Any]
WAITS: dict[str, Waits] = {
    "transact": lambda store: store.transact(raising),
    "submit": lambda store: store.submit(raising),
    "operation": lambda store: store.operation(raising).perform(),
    "predicate": lambda store: store.repository("songs").find(raising),
    "starter": lambda store: holdfast.await_result(raising),
    "answer": lambda store: holdfast.await_result(lambda done: done(error=Mine("mine"))),
}


@pytest.mark.parametrize("wait", WAITS)
def test_what_a_callback_raises_reaches_who_waits(store: holdfast.Store, wait: str) -> None:
    store.repository("songs").add({"id": "s1", "plays": 1})
    with pytest.raises(Mine, match="mine"):
        WAITS[wait](store)
    assert store.describe()["transactions"] == 0
    assert store.repository("songs").count() == 1


def test_what_an_awaited_function_raises_reaches_who_awaits() -> None:
    class Own(Exception):
        """What a host's coroutine raises."""

    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            songs = store.repository("songs")

            async def fail() -> None:
                await songs.add({"id": "s1"})
                raise Own("mine")

            for run in (store.transact(fail), store.submit(fail), store.operation(fail).perform()):
                with pytest.raises(Own, match="mine"):
                    await run
            assert await songs.count() == 0
            # What nobody can wait for is told to the loop.
            heard: list[Any] = []
            asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context))
            future = songs.deferred.count().submit()
            future.add_done_callback(lambda _: (_ for _ in ()).throw(Own("in a callback")))
            assert await future == 0
            await asyncio.sleep(0)
            assert [type(context["exception"]) for context in heard] == [Own]

    asyncio.run(main())


def interrupt_soon() -> None:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_an_interrupt_ends_waiting_in_a_loop(path: str) -> None:
    async def main() -> None:
        async with holdfast.aio.open(path) as store:
            songs = store.repository("songs")
            await songs.add({"id": "s1"})
            interrupt_soon()
            async with store.transaction():
                await songs.save({"id": "s2"})
                await holdfast.aio.await_result(lambda done: None, timeout=60)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    with holdfast.open(path) as store:
        assert store.repository("songs").ids() == ["s1"]


def test_an_interrupt_is_raised_also_when_it_meets_the_call_of_a_function(
    store: holdfast.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the library's call and the function's first line there is no handler that could catch it."""
    lost: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: lost.append(told.exc_type))

    def interrupt(frame: Any, event: str, argument: Any) -> None:
        if frame.f_code.co_name == "trampoline":
            sys.settrace(None)
            raise KeyboardInterrupt

    songs = store.repository("songs")
    for _ in range(20):
        sys.settrace(interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.transact(lambda: songs.save({"id": "s1"}))
    assert lost == [KeyboardInterrupt] * 20
    assert songs.count() == 0
