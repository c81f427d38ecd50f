"""Functions that the library calls. A signal's handler may raise in them at any moment, also before their
first line; what ctypes would then answer is whatever lies in memory. So they answer by a call: see
holdfast/answer.h."""

import atexit
import collections
import ctypes
import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Callable, Optional

from . import errors
from ._interrupts import keep, kept, raise_kept
from ._library import lib
from ._plain import done
from ._progress import Progress, told
from ._types import (
    HF_HOST_ERROR,
    hf_function,
    hf_index_progress_fn,
    hf_interrupt_fn,
    hf_progress_fn,
    hf_read_fn,
    hf_upgrade_fn,
    hf_write_fn,
)

#: Answers for the function that the library is calling on this thread, and tells how often that was called
#: before in vain. It keeps the interpreter's lock, for it waits for nothing.
answer = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(("hf_answer", lib))

#: The current transactions, the innermost first; see `transaction`.
scopes: "ContextVar[tuple[Any, ...]]" = ContextVar("holdfast_transaction", default=())

# The thread on which signals are handled.
_main = {"thread": threading.main_thread().ident or 0}


def _renew() -> None:
    _main["thread"] = threading.get_ident()
    kept.clear()
    # What goes on with the one before, another thread does, which is not here. It is kept, for its end would
    # be taken for a signal's.
    _answering_before.append(_answering.pop("now", None))
    next(_answering["now"])
    _have_main_asked()


#: What is raised where the interpreter has no place left, for an answer, too; no signal's handler did.
_LACKING = (RecursionError, MemoryError, ctypes.ArgumentError)


def _answers() -> "Iterator[None]":
    """Tells the library, whenever it goes on, whether the call that the main thread is in is to end: whether
    a signal's handler has raised, which is kept."""
    # Signals are handled where this goes on, behind the yield, and so within the blocks. Of the outer one two
    # are needed where a handler raises while what another one has raised is just being kept.
    while True:
        try:
            while True:
                try:
                    while True:
                        answer(_main["thread"] in kept)
                        yield
                except GeneratorExit:  # the interpreter ends
                    return
                except _LACKING:
                    raise
                except BaseException as error:
                    keep(error)
        except _LACKING:
            # That would be raised again and again. The library asks a limited number of times, and goes on.
            raise
        except BaseException as error:
            keep(error)


#: Has what answers now, under that name. One that has ended, because a stack was too deep to go on with it,
#: is taken out, and the next question makes another.
_answering: "collections.defaultdict[str, Iterator[None]]" = collections.defaultdict(_answers)
_answering_before: "list[Optional[Iterator[None]]]" = []
next(_answering["now"])
# Goes on with it, without a function in which a signal could be handled. What it takes out is "now" where
# that has ended, and None, which is never in there, where not.
_is_interrupted = ctypes.CFUNCTYPE(ctypes.c_bool)(
    map(
        _answering.pop,  # type: ignore[arg-type]
        map(next, map(_answering.__getitem__, itertools.repeat("now")), itertools.repeat("now")),
        itertools.repeat(None),
    ).__next__
)


def _have_main_asked(*_: Any) -> int:
    """Has this thread, the one on which signals are handled, be asked in the midst of its calls."""
    lib.hf_interrupt_set_check(ctypes.cast(_is_interrupted, hf_interrupt_fn), None)
    return 0


def _have_nobody_asked() -> None:
    if threading.get_ident() == _main["thread"]:
        lib.hf_interrupt_set_check(hf_interrupt_fn(), None)


if lib.hf_answer_declare(ctypes.cast(_is_interrupted, hf_function), None):
    raise ImportError("holdfast: the library takes no more functions")
if threading.get_ident() == _main["thread"]:
    _have_main_asked()
else:
    # The interpreter has the main thread call it soon.
    _have_main_asked_soon = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_have_main_asked)
    ctypes.pythonapi.Py_AddPendingCall(_have_main_asked_soon, None)
# Afterwards there is no Python that could answer.
atexit.register(_have_nobody_asked)
os.register_at_fork(after_in_child=_renew)


def native(kind: Any, failure: Optional[int] = None) -> Callable[[Callable[..., Any]], Any]:
    """Decorates a function that the library calls, of a native kind. It lasts as long as the process.

    What it answers is given to the library; `failure` where it could not. One without a `failure` answers
    nothing, and is called again until it has called `answer`, or returned: up to then it may do nothing that
    must not be done twice. Ctrl-C, and what else a signal's handler raises around the function, is kept, and
    raised by the call in which the library calls this.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        def trampoline(*arguments: Any) -> Any:
            interrupt: Optional[BaseException] = None
            is_inside = False
            # Where no function is called, no signal is handled: nothing is lost behind the blocks.
            try:
                before = scopes.get()
                try:
                    is_main = threading.get_ident() == _main["thread"]
                    if failure is None:
                        if is_main:
                            # Not to be raised inside.
                            interrupt = kept.get(_main["thread"])
                            kept.pop(_main["thread"], None)
                        is_inside = True
                        function(*arguments)
                        is_inside = False
                        if answer(0) > 0 and is_main and interrupt is None:
                            # It came before the first line, where Python keeps nothing of it.
                            interrupt = KeyboardInterrupt()
                    elif is_main and (answer(failure) > 0 or kept):
                        if not kept:
                            interrupt = KeyboardInterrupt()
                    else:
                        answer(failure)
                        answer(function(*arguments))
                finally:
                    # Ctrl-C may have kept the function from that.
                    scopes.set(before)
            except _LACKING:
                raise
            except BaseException as error:
                is_main = threading.get_ident() == _main["thread"]
                # A function that answers nothing has nobody else to tell of what the program raised.
                if not is_main or (is_inside and not isinstance(error, KeyboardInterrupt)):
                    raise
                if interrupt is None:
                    interrupt = error
            finally:
                if interrupt is not None:
                    kept[_main["thread"]] = interrupt  # type: ignore[index, assignment]
            return failure

        made = kind(trampoline)
        if lib.hf_answer_declare(ctypes.cast(made, hf_function), None):
            raise ImportError("holdfast: the library takes no more functions")
        return made

    return decorate


class Callbacks:
    """The functions of one call. Once one has raised, none is called any more, and the call raises that."""

    def __init__(
        self,
        progress: Any = None,
        work: Optional[Callable[..., int]] = None,
        *,
        name: str = "",
        unit: str = "entities",
    ) -> None:
        self._told = told(progress, name, unit)
        self._progress: Optional[Callable[..., object]] = None
        self._work = work
        self._raised: Optional[BaseException] = None

    def hear(self, *numbers: int) -> bool:
        """Tells the progress function. False gives up."""
        if self._raised is not None:
            return False
        try:
            if self._progress is not None:
                done(self._progress(*numbers), "A function that is told of progress")
        except BaseException as error:
            self._raised = error
        return self._raised is None

    def do(self, failure: int, *arguments: Any) -> int:
        """Has a part of the work done."""
        if self._raised is not None or self._work is None:
            return failure
        try:
            return self._work(*arguments)
        except BaseException as error:
            self._raised = error
            return failure

    @contextmanager
    def calling(self) -> Iterator[int]:
        """Around the native call, with the token that it is to hand to its functions."""
        token = next(_tokens)
        try:
            with self._told as self._progress:
                _calls[token] = self
                yield token
        except errors.Error:
            raise_kept()
            if self._raised is not None:
                raise self._raised from None
            raise
        else:
            # The work was over already.
            if self._raised is not None:
                raise self._raised
        finally:
            _calls.pop(token, None)


# Without a lock: each access is atomic.
_calls: dict[int, Callbacks] = {}
_tokens = itertools.count(1)


@native(hf_progress_fn, 0)
def progress(done: int, total: int, token: int) -> int:
    """Hears how far the work is."""
    return _calls[token].hear(done, total)


def progress_for(function: Optional[Progress]) -> Any:
    """What the library calls to tell it; NULL where there is none."""
    return hf_progress_fn() if function is None else progress


@native(hf_index_progress_fn, 0)
def index_progress(done: int, token: int) -> int:
    """Hears how far the building of an index is."""
    return _calls[token].hear(done)


@native(hf_write_fn, HF_HOST_ERROR)
def write(text: Any, length: int, token: int, _out_error: Any) -> int:
    """Takes a piece of an export."""
    return _calls[token].do(HF_HOST_ERROR, text, length)


@native(hf_read_fn, -1)
def read(buffer: Any, capacity: int, token: int, _out_error: Any) -> int:
    """Gives a piece of an import."""
    return _calls[token].do(-1, buffer, capacity)


@native(hf_upgrade_fn, HF_HOST_ERROR)
def upgrade(transaction: Any, version: int, to: int, token: int, _out_error: Any) -> int:
    """Upgrades by one version."""
    return _calls[token].do(HF_HOST_ERROR, transaction, version)
