"""Handles: native objects owned by Python, the memory that calls answer into, what a fork leaves of both."""

import ctypes
import itertools
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Callable, Generic, NoReturn, Optional, TypeVar

from . import _interrupts, errors
from ._json import Load, load
from ._library import lib
from ._limits import LIMITS
from ._types import HF_OK, hf_buffer, hf_entity, hf_entity_list, hf_error

C = TypeVar("C", bound="Closing")
S = TypeVar("S", bound=ctypes.Structure)
T = TypeVar("T")


class Process:
    """Tells the process that created an object from its forked children."""

    epoch = object()

    @classmethod
    def renew(cls) -> None:
        """Makes everything created so far foreign. Called in a forked child, before its first Python code."""
        cls.epoch = object()


FORKED = "The store belongs to the parent of this process; open one of its own here."


class OfOneProcess:
    """What another process can do nothing with, and so cannot be sent there."""

    #: What it is shown as, whatever has become of it, and without waiting.
    _title: Callable[[], str]

    def __repr__(self) -> str:
        module = type(self).__module__
        package = "holdfast.aio" if module.startswith("holdfast.aio.") else module.partition(".")[0]
        return f"<{package}.{type(self).__name__} {self._title()}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"A holdfast.{type(self).__name__} cannot be pickled; open the store in the other process."
        )


class Closing:
    """What is closed at the end of its `with` block."""

    def close(self) -> None:
        """Ends it."""
        raise NotImplementedError

    def __enter__(self: C) -> C:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Handle:
    """Owns one native handle and frees it once, in the process that made it.

    The pointer stays what it was after that: the library answers "invalid handle" to a freed one, while
    NULL would mean "no transaction".
    """

    __slots__ = ("__weakref__", "_epoch", "_free", "pointer")

    def __init__(self, pointer: Any, free: Callable[[Any], None]) -> None:
        # NULL until the library fills it in. It is owned before, so that nothing that Ctrl-C comes behind is
        # left to nobody.
        self.pointer = pointer
        self._free: Optional[Callable[[Any], None]] = free
        self._epoch = Process.epoch

    def free(self) -> None:
        """Frees the native handle, unless that was done before or this is a forked child. Raises Ctrl-C that
        came meanwhile."""
        self.let_go()
        if _interrupts.kept:
            _interrupts.raise_kept_after(_interrupts.untold)

    def let_go(self) -> None:
        """The same where nothing can be raised: the next call does."""
        free, self._free = self._free, None
        if free is not None and self._epoch is Process.epoch:
            free(self.pointer)

    @property
    def is_foreign(self) -> bool:
        """Whether this is a forked child, and the handle its parent's."""
        return self._epoch is not Process.epoch

    def check_process(self) -> None:
        """Raises ForkedError in a forked child, for methods that use more than the library."""
        if self.is_foreign:
            raise errors.ForkedError(FORKED)

    def __del__(self) -> None:
        # A net only: at shutdown the atexit hook has closed what was open, and nothing else is safe.
        if not sys.is_finalizing():
            self.let_go()


#: Integers by which native code knows Python objects, never 0, none twice in a process.
tokens = itertools.count(1)


class Registry(Generic[T]):
    """Python objects that native code knows by an integer, with a lock of its own."""

    def __init__(self) -> None:
        self._objects: dict[int, T] = {}
        self.renew()

    def renew(self) -> None:
        """Replaces the lock, which another thread may have held when this process was forked."""
        # The garbage collector may remove an object while this thread adds another.
        self._lock = threading.RLock()

    def add(self, item: T) -> int:
        """Keeps an object and answers its token, never 0."""
        with self._lock:
            token = next(tokens)
            self._objects[token] = item
        return token

    def get(self, token: int) -> T:
        """The object of a token."""
        with self._lock:
            return self._objects[token]

    def find(self, token: int) -> Optional[T]:
        """The object of a token, or None."""
        with self._lock:
            return self._objects.get(token)

    def remove(self, token: int) -> Optional[T]:
        """Lets an object go and answers it, or None."""
        with self._lock:
            return self._objects.pop(token, None)

    def tokens(self) -> list[int]:
        """The tokens of all, in their order."""
        return list(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def remove_all(self) -> list[T]:
        """Lets all objects go and answers them."""
        with self._lock:
            items = list(self._objects.values())
            self._objects.clear()
        return items


class Result:
    """Memory for one entity and one error, reused by call after call."""

    __slots__ = ("entity", "entity_reference", "error", "error_reference", "text")

    # The memory of an entity longer than this is not kept for the next call.
    LARGEST_KEPT = LIMITS.kept_bytes
    # Results out of use. One is taken for a call and put back after it, so a signal handler, a finaliser or
    # another thread that calls in between gets another one. pop and append are atomic. One that is not put
    # back, because of an exception or its size, is collected.
    idle: "list[Result]" = []  # noqa: RUF012

    def __init__(self) -> None:
        self.entity = hf_entity()
        # The entity's first field as a pointer to characters, a slice of which is bytes.
        self.text = ctypes.POINTER(ctypes.c_char).from_buffer(self.entity)
        self.entity_reference = ctypes.byref(self.entity)
        self.error = ctypes.POINTER(hf_error)()
        self.error_reference = ctypes.byref(self.error)

    @classmethod
    def take(cls) -> "Result":
        """A result for one call."""
        try:
            return cls.idle.pop()
        except IndexError:
            return cls()

    def put_back(self) -> None:
        """Ends the call's use of this result."""
        # Where Ctrl-C came just behind the call, nobody has freed the error; to free it twice does nothing.
        if self.error:
            lib.hf_error_free(self.error)
        if self.entity.length <= self.LARGEST_KEPT:
            self.idle.append(self)

    def check(
        self, status: int, stored: Optional[Callable[[], Any]] = None, is_piecemeal: bool = False
    ) -> None:
        """Raises the exception of a failed call, or Ctrl-C that came meanwhile, with what one that has stored
        something answers."""
        if _interrupts.kept:
            if not status and stored is not None:
                _interrupts.raise_kept_after(stored)
            error = errors.taken(status, self.error) if status else None
            _interrupts.raise_kept(error, is_piecemeal)
            if error is not None:
                raise error
        elif status:
            errors.fail(status, self.error)

    def bytes(self) -> "bytes":
        """The entity's bytes."""
        return self.text[: self.entity.length]

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # The names of this module may be gone by then.
        if not is_finalizing():
            lib.hf_entity_free(self.entity_reference)
            lib.hf_error_free(self.error)


def call(
    function: Callable[..., int],
    *arguments: Any,
    stored: Optional[Callable[[], Any]] = None,
    is_piecemeal: bool = False,
    accepted: int = HF_OK,
) -> bool:
    """Calls a function that answers a status and takes the error last; raises what it tells. False for the
    status that is accepted, which is no failure here."""
    result = Result.take()
    statuses: list[int] = []
    try:
        # No signal is handled before the status is in the list; one that came in the call is in the block.
        statuses += itertools.starmap(function, ((*arguments, result.error_reference),))
        status = statuses[0]
        if status and status == accepted:
            # Not where the caller could take it for that failure.
            _interrupts.raise_kept()
            return False
        result.check(status, stored, is_piecemeal)
        return True
    except BaseException as error:
        _interrupts.tell_late(error, statuses, stored)
        raise
    finally:
        result.put_back()


@contextmanager
def _freed(result: S, free: Callable[[Any], None]) -> Iterator[S]:
    try:
        yield result
    finally:
        free(ctypes.byref(result))


def native_buffer() -> "AbstractContextManager[hf_buffer]":
    """A text buffer, freed at the end of the block."""
    return _freed(hf_buffer(), lib.hf_buffer_free)


def text_of(buffer: hf_buffer) -> bytes:
    """What a buffer holds."""
    return ctypes.string_at(buffer.data, buffer.length) if buffer.data else b""


def native_list() -> "AbstractContextManager[hf_entity_list]":
    """An entity list, freed at the end of the block."""
    return _freed(hf_entity_list(), lib.hf_entity_list_free)


def json_of(entities: hf_entity_list) -> bytes:
    """The entities of a list as one JSON array."""
    return ctypes.string_at(entities.json, entities.json_length) if entities.json else b"[]"


def load_list(entities: hf_entity_list, load: Load = load) -> Any:
    """The entities of a list, read a piece at a time: no signal is handled while one is read."""
    if entities.json_length <= LIMITS.read_bytes:
        return load(json_of(entities))
    loaded: list[Any] = []
    step = max(1, entities.count * LIMITS.read_bytes // entities.json_length)
    for start in range(0, entities.count, step):
        first = entities.items[start].data
        last = entities.items[min(start + step, entities.count) - 1]
        loaded += load(b"[" + ctypes.string_at(first, last.data + last.length - first) + b"]")
    return loaded


os.register_at_fork(after_in_child=Process.renew)
