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
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, Optional

from ._library import lib
from ._limits import LIMITS

__all__ = [
    "BusyError",
    "CancelledError",
    "CannotOpenError",
    "ClosedError",
    "CommitState",
    "ConflictError",
    "CorruptError",
    "CursorLostError",
    "CycleError",
    "Error",
    "ExistsError",
    "ForkedError",
    "FormatTooNewError",
    "FullError",
    "HistoryLostError",
    "HostError",
    "IOError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidEntityError",
    "InvalidHandleError",
    "InvalidIdError",
    "InvalidJsonError",
    "InvalidNameError",
    "InvalidOptionError",
    "InvalidQueryError",
    "InvalidStateError",
    "InvalidUrlError",
    "KeyReusedError",
    "NoMemoryError",
    "NotAStoreError",
    "NotFoundError",
    "ReadOnlyError",
    "ReentrantError",
    "RefusedError",
    "SchemaTooNewError",
    "TimeoutError",
    "TransactionActiveError",
    "TransactionNotActiveError",
    "UniqueViolationError",
    "UnsafeLocationError",
    "UnsupportedError",
    "VersionMismatchError",
    "VersionUnsupportedError",
    "WouldDeadlockError",
    "WrongDescriptorError",
]


class CommitState(enum.IntEnum):
    """What became of a commit whose call failed."""

    #: Nothing of it was stored.
    NONE = 0
    #: It may or may not have been stored: the failure came from the commit itself.
    UNKNOWN = 1
    #: It was stored, although something afterwards failed.
    DONE = 2


class Error(Exception):
    """Something that the library refused or could not do.

    `message` is a sentence that names the thing and the cure, `status` the number of the status,
    `retryable` whether running the same work again may succeed, `commit_state` what became of the commit,
    `detail` a dict for programs, as `hf_error_detail` in holdfast/error.h tells, and `cause` the error behind
    this one, or None.
    """

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

    def __init_subclass__(cls, status: Optional[int] = None, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if status is not None:
            cls.status = status

    # Said here because KeyError would show the message in quotes.
    def __str__(self) -> str:
        return self.message


class InvalidArgumentError(Error, ValueError, status=1):
    """A parameter is missing or outside its documented range."""


class InvalidHandleError(Error, ValueError, status=2):
    """A handle that was freed, never existed, or is of another type."""


class InvalidJsonError(Error, ValueError, status=3):
    """A payload is no JSON, or JSON beyond the limits for depth and size. The detail has "position"."""


class InvalidEntityError(Error, ValueError, status=4):
    """An entity is no JSON object, or its id is missing where one is needed."""


class InvalidIdError(Error, ValueError, status=5):
    """An id is empty, too long, holds control characters, or is neither text nor a 64-bit integer."""


class InvalidNameError(Error, ValueError, status=6):
    """A repository's name does not follow the rule."""


class InvalidOptionError(Error, ValueError, status=7):
    """An option is unknown or has a wrong value. The detail has "option" and perhaps "nearest"."""


class InvalidQueryError(Error, ValueError, status=8):
    """A filter uses an unknown operator or a wrong operand."""


class InvalidUrlError(Error, ValueError, status=9):
    """The store's URL names no engine that the library has."""


class InvalidStateError(Error, status=10):
    """The call is not allowed in the object's present state, such as a write in a finished transaction."""


class UnsupportedError(Error, status=11):
    """The library or engine does not offer what was asked."""


class VersionUnsupportedError(Error, status=12):
    """The library's API version is older than the one that was selected."""


class NotFoundError(Error, KeyError, status=20):
    """There is no such entity, or no such repository."""


class ExistsError(Error, status=21):
    """An entity, or a repository, of this name is there already."""


class VersionMismatchError(Error, status=22):
    """The expected version is not the entity's. The detail has "expected" and "actual"."""


class KeyReusedError(Error, status=23):
    """The idempotency key was used before for other content."""


class CorruptError(Error, status=24):
    """A stored record cannot be read, or is no entity of its repository's class. The detail names
    "repository" and "id". A write outside a transaction that raises it for its answer has stored the entity:
    `commit_state` is DONE."""


class UniqueViolationError(Error, status=25):
    """Two entities would have one value in a unique index. The detail has "index", "id", "other", "value"."""


class ConflictError(Error, status=30):
    """Something that the transaction read was changed since. Means only "run again"."""


class BusyError(Error, status=31):
    """The queue is full, or another process holds the store."""


class TimeoutError(Error, builtins.TimeoutError, status=32):
    """The time allowed has passed: for a commit, which was withdrawn, so that nothing was stored; or for a
    wait, and then what was waited for goes on."""

    #: What `await_result` waited for and goes on: wait for it again, or cancel it.
    future: Any = None

    @property
    def identifier(self) -> Optional[str]:
        """The name that was given to what was waited for."""
        return self.detail.get("identifier")


class CancelledError(Error, concurrent.futures.CancelledError, status=33):
    """The commit was withdrawn by its owner while it was queued."""


class WouldDeadlockError(Error, RuntimeError, status=34):
    """Waiting here would never end."""


class ClosedError(Error, status=35):
    """The store is closed or closing."""


class ForkedError(Error, status=36):
    """The object belongs to the parent of this forked process."""


class HistoryLostError(Error, status=37):
    """The server has lost commits that it had acknowledged, and the transaction has read what is no more."""


class CannotOpenError(Error, OSError, status=40):
    """The store's place does not exist or cannot be reached."""


class NotAStoreError(Error, status=41):
    """The place holds something that is not a Holdfast store."""


class FormatTooNewError(Error, status=42):
    """The store was written in a newer format than the library reads, or needs a newer reader of it."""


class ReadOnlyError(Error, status=43):
    """The store or the file system allows no writing."""


class FullError(Error, OSError, status=44):
    """No space is left."""


class IOError(Error, OSError, status=45):
    """Reading, writing or syncing failed. The commit state says what may have happened."""


class NoMemoryError(Error, MemoryError, status=46):
    """Memory is exhausted."""


class UnsafeLocationError(Error, status=47):
    """The place cannot hold a store safely: a link, a file mounted by itself, or a network file system."""


class SchemaTooNewError(Error, status=48):
    """The store's schema has a greater version than the program knows. The detail has ``version``."""


class CursorLostError(Error, status=49):
    """The position is not in the store's log any more, or is another store's: read what is stored anew."""

    @property
    def position(self) -> Optional[str]:
        """Where to go on: a transaction begun now reads everything that was committed up to there."""
        return self.detail.get("position")


class TransactionActiveError(Error, status=50):
    """The object tree is in another transaction."""


class TransactionNotActiveError(Error, status=51):
    """The object tree is in no transaction."""


class WrongDescriptorError(Error, status=52):
    """The descriptor is of another transaction than the object tree's active one."""


class CycleError(Error, ValueError, status=53):
    """A member of an object tree would be below itself."""


class ReentrantError(Error, status=54):
    """A call from inside one of the methods that the transaction is just calling. Nothing was changed."""


class RefusedError(Error, status=55):
    """A validator refused. What a validator of Python's raises is raised itself, instead of this."""


class HostError(Error, status=60):
    """A callback of the host's, or its provider, reported a failure. What a provider's method raised is the
    `__cause__`."""


class InternalError(Error, status=61):
    """A defect of the library. Please report it with the message."""


class _Call(threading.local):
    #: What was kept on this thread in the call that may be answered all the same; None outside of such.
    codes: Optional[list[int]] = None


class Refusals:
    """The exceptions with which functions of the host's refused, by the code in the library's error, until
    that arrives where it is told. It may do so on another thread."""

    # So many are kept of which the library never tells; beyond that the oldest is told as a RefusedError.
    MOST = LIMITS.kept_refusals

    def __init__(self) -> None:
        self._codes = itertools.count(random.getrandbits(40) << 20)
        # Without a lock: each access is atomic. It is not gone through, for it is changed meanwhile.
        self._kept: collections.OrderedDict[int, BaseException] = collections.OrderedDict()
        self._call = _Call()

    def keep(self, error: BaseException) -> int:
        """Keeps an exception, and answers its code."""
        code = next(self._codes)
        self._kept[code] = error
        if self._call.codes is not None:
            self._call.codes.append(code)
        if len(self._kept) > self.MOST:
            self._kept.popitem(last=False)
        return code

    def take(self, code: Any) -> Optional[BaseException]:
        """The exception of a code, once."""
        return self._kept.pop(code, None)

    @contextmanager
    def of_call(self) -> Iterator[None]:
        """Around a call with an idempotency key, which may be answered as the same request was although a
        function has refused: lets go of what was kept in it on this thread, and not in calls around it."""
        outer, self._call.codes = self._call.codes, []
        try:
            yield
        finally:
            codes, self._call.codes = self._call.codes or (), outer
            for code in codes:
                self._kept.pop(code, None)


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
