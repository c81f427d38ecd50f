"""A program that forks while a call waits for a server: the child has no part in that."""

import os
import signal
import socket
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from proxy import Direction, Proxy
from test_silent_server import CALLS, store

import holdfast

__all__ = ["store"]


@pytest.mark.parametrize("is_connected", [True, False])
@pytest.mark.parametrize("call", CALLS)
def test_a_child_that_is_forked_meanwhile_is_refused(
    proxy: Proxy, store: holdfast.Store, tmp_path: Path, call: str, is_connected: bool
) -> None:
    """It says nothing to the server, and what it opens is not taken for a connection of its parent's."""
    things = store.repository("things")
    assert things.fetch("t0") == {"id": "t0", "n": 0}
    if not is_connected:
        proxy.cut_all()
    opened: list[Any] = []
    children: list[int] = []

    def fork(*_: object) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if child:
            children.append(child)
            threading.Timer(0.4, proxy.heal).start()
            return
        # What nothing ends ends.
        signal.alarm(20)
        for number in range(20):
            # Numbers that its parent's connections have.
            ours, theirs = socket.socketpair()
            theirs.setblocking(False)
            opened.append((ours, theirs, open(tmp_path / str(number), "wb", buffering=0)))

    before = signal.signal(signal.SIGALRM, fork)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    proxy.fall_silent()
    said = proxy.messages[Direction.TO_SERVER]
    try:
        failure = None
        try:
            CALLS[call](store)
        except BaseException as error:
            failure = error
        if opened:
            is_silent = all(is_untouched(*ends) for ends in opened)
            os._exit(0 if isinstance(failure, holdfast.ForkedError) and is_silent else 1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert failure is None
    assert [os.waitpid(child, 0)[1] for child in children] == [0]
    things.save({"id": "t5", "n": 50})
    assert things.fetch("t5") == {"id": "t5", "n": 50}
    # Nothing has ended a session of the parent's, but itself those that were cut.
    time.sleep(0.05)
    assert not is_connected or said[b"X"] == 0


def is_untouched(ours: socket.socket, theirs: socket.socket, file: Any) -> bool:
    """Whether nobody has written to what was opened, or closed it."""
    try:
        theirs.recv(1)
        return False
    except BlockingIOError:
        return os.fstat(ours.fileno()).st_size == 0 and os.fstat(file.fileno()).st_size == 0
