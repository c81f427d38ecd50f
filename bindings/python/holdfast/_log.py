"""Log: what the library has to say to a program's log, which hears it from the logger "holdfast.library".

The library tells it on any of its threads, where commits may wait; and a handler takes its time, holds locks,
and may use a store. So each entry is noted there, and a thread of Python's hands it to the handlers.

There is one receiver in a process. A program that had loaded the library itself, as one in C that runs
Python, may have one; it is left alone, and so is one that replaces this one.
"""

import atexit
import collections
import enum
import json
import logging
import os
import sys
import threading
import time
from typing import Any

from ._callbacks import answer, native
from ._library import is_the_program_s, lib
from ._limits import LIMITS
from ._types import destructor, hf_log_fn

_log = logging.getLogger("holdfast.library")
# A program that wants no log gets nothing printed.
_log.addHandler(logging.NullHandler())


class Level(enum.IntEnum):
    """How much an entry matters. The names are those of `logging`, too."""

    INFO = 1
    WARNING = 2
    ERROR = 3


_LEVELS = {level.value: getattr(logging, level.name) for level in Level}


class _Entries:
    """What was told and is not logged yet, and the thread that does so while there is something."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting: collections.deque[Any] = collections.deque()
        self._thread: threading.Thread | None = None

    def add(self, *entry: Any) -> None:
        """Has an entry logged soon."""
        with self._lock:
            self._waiting.append(entry)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="holdfast-log", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # there are too many; with the next entry it is tried again
                    self._thread = None

    def finish(self) -> None:
        """Waits until all is logged, for a limited time."""
        thread = self._thread
        if thread is not None:
            thread.join(LIMITS.exit_wait / 1000)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                entry = self._waiting.popleft()
            try:
                _hand_on(*entry)
            except BaseException:  # of a filter or a handler, which would be told of it itself
                sys.excepthook(*sys.exc_info())


def _hand_on(level: int, message: bytes, fields: bytes, moment: float) -> None:
    text = f"{message.decode()} {fields.decode()}"
    # What the sentence speaks of, for programs.
    extra = {"holdfast": json.loads(fields)}
    record = _log.makeRecord(_log.name, level, "libholdfast", 0, text, (), None, extra=extra)
    record.created, record.msecs = moment, moment % 1 * 1000
    _log.handle(record)


_entries = _Entries()


@native(hf_log_fn)
def _receive(level: int, message: bytes, fields: bytes, _: Any) -> None:
    answer(0)
    number = _LEVELS.get(level, logging.ERROR)
    # Without a lock, unlike `isEnabledFor`.
    if number >= _log.getEffectiveLevel():
        _entries.add(number, message, fields, time.time())


# There while this is the receiver. Without a lock: each access is atomic.
_listening: set[str] = set()


@native(destructor)
def _replaced(_: Any) -> None:
    answer(0)
    _listening.clear()


def _listen() -> None:
    _listening.add("now")
    lib.hf_log_set_callback(_receive, None, _replaced, None)


def _renew() -> None:
    """In a forked child, which has none of the parent's threads."""
    global _entries
    _entries = _Entries()
    if _listening:
        _listen()


def _finish() -> None:
    if _listening:
        lib.hf_log_set_callback(hf_log_fn(), None, destructor(), None)
    _entries.finish()


if not is_the_program_s:
    _listen()
atexit.register(_finish)
os.register_at_fork(after_in_child=_renew)
