"""Errors: one exception class for each status of the library, and the one place where they are raised.

The class name is the status's name: HF_NOT_FOUND is NotFoundError. Where Python has an exception of the
same meaning, the class is one of those as well. Messages are the library's own, unchanged.
"""

import builtins
import collections
import concurrent.futures
import enum
import itertools
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, Optional

from ._library import lib
from ._limits import LIMITS


class CommitState(enum.IntEnum):
    """What became of a commit whose call failed."""

    #: Nothing of it was stored.
    NONE = 0
    #: It may or may not have been stored: the failure came from the commit itself.
    UNKNOWN = 1
    #: It was stored, although something afterwards failed.
    DONE = 2


class Error(Exception):
    """Something that the library refused or could not do."""

    #: The number of the status (see holdfast/status.h).
    status: int = 0
    #: Whether running the same work again may succeed.
    retryable: bool
    #: What became of the commit.
    commit_state: CommitState
    #: Details for programs, such as "position", "id", "ids", "expected" and "actual".
    detail: dict[str, Any]
    #: The error behind this one.
    cause: Optional["Error"]

    def __init__(
        self,
        message: str = "",
        *,
        retryable: bool = False,
        commit_state: CommitState = CommitState.NONE,
        detail: Optional[dict[str, Any]] = None,
        cause: Optional["Error"] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable
        self.commit_state = commit_state
        self.detail = detail or {}
        self.cause = cause
        if cause is not None:
            self.__cause__ = cause

    # Said here because KeyError would show the message in quotes.
    def __str__(self) -> str:
        return self.message


class InvalidArgumentError(Error, ValueError):
    """A parameter is missing or outside its documented range."""

    status = 1


class InvalidHandleError(Error, ValueError):
    """A handle that was freed, never existed, or is of another type."""

    status = 2


class InvalidJsonError(Error, ValueError):
    """A payload is no JSON, or JSON beyond the limits for depth and size. The detail has "position"."""

    status = 3


class InvalidEntityError(Error, ValueError):
    """An entity is no JSON object, or its id is missing where one is needed."""

    status = 4


class InvalidIdError(Error, ValueError):
    """An id is empty, too long, holds control characters, or is neither text nor a 64-bit integer."""

    status = 5


class InvalidNameError(Error, ValueError):
    """A repository's name does not follow the rule."""

    status = 6


class InvalidOptionError(Error, ValueError):
    """An option is unknown or has a wrong value. The detail has "option" and perhaps "nearest"."""

    status = 7


class InvalidQueryError(Error, ValueError):
    """A filter uses an unknown operator or a wrong operand."""

    status = 8


class InvalidUrlError(Error, ValueError):
    """The store's URL names no engine that the library has."""

    status = 9


class InvalidStateError(Error):
    """The call is not allowed in the object's present state, such as a write in a finished transaction."""

    status = 10


class UnsupportedError(Error):
    """The library or engine does not offer what was asked."""

    status = 11


class VersionUnsupportedError(Error):
    """The library's API version is older than the one that was selected."""

    status = 12


class NotFoundError(Error, KeyError):
    """There is no such entity, or no such repository."""

    status = 20


class ExistsError(Error):
    """An entity, or a repository, of this name is there already."""

    status = 21


class VersionMismatchError(Error):
    """The expected version is not the entity's. The detail has "expected" and "actual"."""

    status = 22


class KeyReusedError(Error):
    """The idempotency key was used before for other content."""

    status = 23


class CorruptError(Error):
    """A stored record cannot be read. The detail names "repository" and "id"."""

    status = 24


class UniqueViolationError(Error):
    """Two entities would have one value in a unique index. The detail has "index", "id", "other", "value"."""

    status = 25


class ConflictError(Error):
    """Something that the transaction read was changed since. Means only "run again"."""

    status = 30


class BusyError(Error):
    """The queue is full, or another process holds the store."""

    status = 31


class TimeoutError(Error, builtins.TimeoutError):
    """The time allowed has passed: for a commit, which was withdrawn, so that nothing was stored; or for a
    wait, and then what was waited for goes on."""

    status = 32
    #: What `await_result` waited for and goes on: wait for it again, or cancel it.
    future: Any = None

    @property
    def identifier(self) -> Optional[str]:
        """The name that was given to what was waited for."""
        return self.detail.get("identifier")


class CancelledError(Error, concurrent.futures.CancelledError):
    """The commit was withdrawn by its owner while it was queued."""

    status = 33


class WouldDeadlockError(Error, RuntimeError):
    """Waiting here would never end."""

    status = 34


class ClosedError(Error):
    """The store is closed or closing."""

    status = 35


class ForkedError(Error):
    """The object belongs to the parent of this forked process."""

    status = 36


class CannotOpenError(Error, OSError):
    """The store's place does not exist or cannot be reached."""

    status = 40


class NotAStoreError(Error):
    """The place holds something that is not a Holdfast store."""

    status = 41


class FormatTooNewError(Error):
    """The store was written in a newer format than the library reads, or needs a newer reader of it."""

    status = 42


class ReadOnlyError(Error):
    """The store or the file system allows no writing."""

    status = 43


class FullError(Error, OSError):
    """No space is left."""

    status = 44


class IOError(Error, OSError):
    """Reading, writing or syncing failed. The commit state says what may have happened."""

    status = 45


class NoMemoryError(Error, MemoryError):
    """Memory is exhausted."""

    status = 46


class UnsafeLocationError(Error):
    """The place cannot hold a store safely: a symbolic link or a network file system."""

    status = 47


class SchemaTooNewError(Error):
    """The store's schema has a greater version than the program knows. The detail has ``version``."""

    status = 48


class CursorLostError(Error):
    """The position is not in the store's log any more, or is another store's: read what is stored anew."""

    status = 49

    @property
    def position(self) -> Optional[str]:
        """Where to go on: a transaction begun now reads everything that was committed up to there."""
        return self.detail.get("position")


class TransactionActiveError(Error):
    """The object tree is in another transaction."""

    status = 50


class TransactionNotActiveError(Error):
    """The object tree is in no transaction."""

    status = 51


class WrongDescriptorError(Error):
    """The descriptor is of another transaction than the object tree's active one."""

    status = 52


class CycleError(Error, ValueError):
    """A member of an object tree would be below itself."""

    status = 53


class ReentrantError(Error):
    """A call from inside one of the methods that the transaction is just calling. Nothing was changed."""

    status = 54


class RefusedError(Error):
    """A validator refused. What a validator of Python's raises is raised itself, instead of this."""

    status = 55


class HostError(Error):
    """A callback of the host's, or its provider, reported a failure. What a provider's method raised is the
    `__cause__`."""

    status = 60


class InternalError(Error):
    """A defect of the library. Please report it with the message."""

    status = 61


class Refusals:
    """The exceptions with which functions of the host's refused, by the code in the library's error, until
    that arrives where it is told. It may do so on another thread."""

    # So many are kept of which the library never tells; beyond that the oldest is told as a RefusedError.
    MOST = LIMITS.kept_refusals

    def __init__(self) -> None:
        self._codes = itertools.count(random.getrandbits(40) << 20)
        self._kept: collections.OrderedDict[int, BaseException] = collections.OrderedDict()

    def keep(self, error: BaseException) -> int:
        """Keeps an exception, and answers its code."""
        code = next(self._codes)
        self._kept[code] = error
        if len(self._kept) > self.MOST:
            self._kept.popitem(last=False)
        return code

    def take(self, code: Any) -> Optional[BaseException]:
        """The exception of a code, once."""
        return self._kept.pop(code, None)


refusals = Refusals()

CLASSES: dict[int, type[Error]] = {cls.status: cls for cls in Error.__subclasses__()}


def from_native(status: int, pointer: Any) -> BaseException:
    """The exception for a status and its error object, which stays the caller's; NULL is allowed. Where a
    validator of Python's refused, it is the one that this raised; where a method of a provider raised, its
    cause is that."""
    if not pointer or status not in (RefusedError.status, HostError.status, CorruptError.status):
        return _own(status, pointer)
    raised = refusals.take(json.loads(lib.hf_error_detail(pointer, None)).get("code"))
    # Ctrl-C, and what else ends programs, is not for a handler of errors.
    if raised is not None and (status == RefusedError.status or not isinstance(raised, Exception)):
        return raised
    error = _own(status, pointer)
    if raised is not None:
        error.__cause__ = raised
    return error


def _own(status: int, pointer: Any) -> Error:
    cls = CLASSES.get(status, Error)
    if not pointer:
        return cls(lib.hf_status_name(status).decode())
    error = cls(
        lib.hf_error_message(pointer).decode(),
        retryable=lib.hf_error_is_retryable(pointer),
        commit_state=CommitState(lib.hf_error_commit_state(pointer)),
        detail=json.loads(lib.hf_error_detail(pointer, None)),
        cause=_cause(pointer),
    )
    if cls is Error:
        error.status = status  # of a newer library, so it has no class here
    return error


def _cause(pointer: Any) -> Optional[Error]:
    cause = lib.hf_error_cause(pointer)
    if not cause:
        return None
    try:
        return _own(lib.hf_error_status(cause), cause)
    finally:
        lib.hf_error_free(cause)


def deliverable(error: BaseException) -> BaseException:
    """An error as a future may be given it. A StopIteration would end whoever awaits as if it had returned;
    asyncio refuses it, so it becomes a RuntimeError, as in generators."""
    if not isinstance(error, StopIteration):
        return error
    raised = RuntimeError("A function of the program's raised StopIteration.")
    raised.__cause__ = error
    return raised


@contextmanager
def secondary_to(error: BaseException) -> Iterator[None]:
    """For closing while an error is on its way: what goes wrong there must not hide that error, and is added
    to its list `secondary`."""
    try:
        yield
    except Error as closing:
        with suppress(AttributeError):
            error.secondary = [*getattr(error, "secondary", []), closing]  # type: ignore[attr-defined]


def taken(status: int, pointer: Any) -> BaseException:
    """The exception for a failed call, whose error object is freed."""
    try:
        return from_native(status, pointer)
    finally:
        lib.hf_error_free(pointer)


def fail(status: int, pointer: Any) -> NoReturn:
    """Raises the exception for a failed call and frees its error object."""
    raise taken(status, pointer)
