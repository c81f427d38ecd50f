"""Running a function in a transaction, and again when it lost a race."""

import contextvars
import ctypes
import os
import time
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar

from . import _members, errors
from ._callbacks import native
from ._codec import options_of
from ._handles import Registry, Result, native_buffer, text_of
from ._interrupts import raise_kept, tell_late
from ._library import lib
from ._types import HF_CONFLICT, HF_HOST_ERROR, HF_OK, hf_transaction_fn
from .events import CommitFuture, Submission
from .transaction import Transaction, begun

if TYPE_CHECKING:
    from .store import Store
    from .tree import Transactable

T = TypeVar("T")

# The library's own default, for submitted functions, whose first run it does not count.
MAX_ATTEMPTS = 100


def run(fn: Callable[[], T]) -> T:
    """Calls the function; refuses a coroutine, which would do its work after the commit."""
    value = fn()
    if isinstance(value, types.CoroutineType):
        value.close()
        raise TypeError(
            "A transaction's function must not be a coroutine function: "
            "hand it to the same call of `store.aio`."
        )
    return value


class Body(Generic[T]):
    """A function on its way through the library's retry loop, with what it answered last."""

    def __init__(self, store: "Store", fn: Callable[[], T], trees: "Sequence[Transactable]" = ()) -> None:
        self.store = store
        self.fn = fn
        self.trees = trees
        self.raised = _members.Raised()
        #: That of the last run.
        self.transaction: Optional[Transaction] = None
        self.value: Any = None
        self.exception: Optional[BaseException] = None
        self.conflict: Optional[errors.ConflictError] = None

    def attempt(self, pointer: Any) -> int:
        """Runs the function once in this transaction and answers the library with a status."""
        self.transaction = transaction = Transaction(self.store, pointer, owned=False)
        self.raised.transaction, self.raised.refusal = transaction, None
        try:
            transaction.enlist(*self.trees)
            with transaction.joined():
                self.value = run(self.fn)
        except errors.ConflictError as error:
            self.conflict = error
            return HF_CONFLICT
        except BaseException as error:
            self.exception = error
            return HF_HOST_ERROR
        return HF_OK


_bodies: Registry[Body[Any]] = Registry()
os.register_at_fork(after_in_child=_bodies.renew)


@native(hf_transaction_fn, HF_HOST_ERROR)
def _trampoline(pointer: Any, token: int, _out_error: Any) -> int:
    return _bodies.get(token).attempt(pointer)


def transact(
    body: Body[Any], options: Mapping[str, Any], answer: Callable[[bytes], Any] = lambda receipt: receipt
) -> Any:
    """Runs the body until its transaction commits; answers what `answer` makes of the receipt's text. The
    value is in the body."""
    token = _bodies.add(body)
    result = Result.take()
    statuses: list[int] = []
    try:
        with native_buffer() as receipt:

            def stored() -> Any:
                return answer(text_of(receipt))

            try:
                arguments = (body.store.pointer, _trampoline, token, options_of(options))
                _members.ask_members(
                    statuses,
                    body.raised,
                    lib.hf_store_transact,
                    *arguments,
                    ctypes.byref(receipt),
                    result.error_reference,
                )
                status = statuses[0]
                exception = body.exception or body.raised.refusal
                if exception is not None and status not in (HF_OK, HF_CONFLICT):
                    lib.hf_error_free(result.error)
                    raise_kept()
                    raise exception
                raise_from(status, result, body.conflict, stored)
            except BaseException as error:
                tell_late(error, statuses, stored)
                raise
            return stored()
    finally:
        _bodies.remove(token)
        result.put_back()


def raise_from(
    status: int,
    result: Result,
    conflict: Optional[errors.ConflictError],
    stored: Optional[Callable[[], Any]] = None,
) -> None:
    """Raises a call's exception, if it has failed; a conflict that the function met last is its cause."""
    try:
        result.check(status, stored)
    except errors.ConflictError as error:
        raise error from conflict


class SubmittedFunction(Generic[T]):
    """A function whose commit was submitted: what it takes to run it again after a conflict."""

    def __init__(
        self,
        store: "Store",
        fn: Callable[[], T],
        options: Mapping[str, Any],
        max_attempts: Optional[int],
        trees: "Sequence[Transactable]" = (),
    ) -> None:
        self._store = store
        self._fn = fn
        self._trees = trees
        self._options = dict(options)
        self._attempts_left = (max_attempts or MAX_ATTEMPTS) - 1
        timeout = self._options.get("timeout_ms")
        self._deadline = None if timeout is None else time.monotonic() + timeout / 1000
        self._context = contextvars.copy_context()
        self._value: Any = None

    def submit(self) -> "CommitFuture[T]":
        """Runs the function here and submits its commit."""
        transaction = begun(Transaction, self._store, self._options)
        future: CommitFuture[T] = CommitFuture(transaction)
        self._future = future
        try:
            transaction.enlist(*self._trees)
            with transaction.joined():
                self._value = run(self._fn)
            self._store._submit(Submission(future, lambda _: self._value, self._retry, self._refused))
        except BaseException as error:
            self._refused(error)
            if not isinstance(error, errors.ConflictError):
                raise
        return future

    def _refused(self, error: BaseException) -> None:
        """The first run has failed, or could not be handed over."""
        # Whatever keeps it from being rolled back, such as a closed store, must not hide the error.
        with suppress(errors.Error):
            self._future._transaction.rollback()
        if isinstance(error, errors.ConflictError):
            self._retry(error)
        else:
            self._future.set_exception(error)

    def _retry(self, error: errors.Error) -> None:
        if self._attempts_left < 1:
            self._future.set_exception(error)
            return
        self._future._begin()
        try:
            self._store._run_later(self._future, lambda: self._context.run(self._run_again))
        except RuntimeError:
            # The worker takes nothing more: the interpreter is ending, or the store is closed.
            self._future.set_exception(error)

    def _run_again(self) -> None:
        options = {**self._options, "max_attempts": self._attempts_left}
        if self._deadline is not None:
            options["timeout_ms"] = max(1, int((self._deadline - time.monotonic()) * 1000))
        body = Body(self._store, self._fn, self._trees)
        body.value = self._value  # stays when the library finds that an earlier attempt was stored
        self._future._transaction.receipt_text = transact(body, options)
        if body.transaction is not None:
            self._future._transaction.secondary = body.transaction.secondary
        self._future.set_result(body.value)
