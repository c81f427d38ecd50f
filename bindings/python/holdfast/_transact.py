"""Running a function in a transaction, and again when it lost a race."""

import contextvars
import ctypes
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar

from . import _members, _plain, errors
from ._callbacks import native
from ._codec import options_of
from ._handles import Registry, Result, native_buffer, text_of
from ._interrupts import raise_kept, tell_late
from ._library import lib
from ._types import HF_CONFLICT, HF_HOST_ERROR, HF_OK, hf_transaction_fn
from .events import CommitFuture, Submission
from .receipt import Receipt
from .transaction import Transaction, begun

if TYPE_CHECKING:
    from .store import Store
    from .tree import Transactable

T = TypeVar("T")

# The library's own defaults, for functions of which it does not make all the runs; the time in seconds.
MAX_ATTEMPTS = 100
TIMEOUT = 30.0


def run(fn: Callable[[], T]) -> T:
    """Calls the function."""
    return _plain.run(fn, "A transaction's function", "hand it to the same call of `store.aio`.")


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
                with errors.refusals.of_call() if "idempotency_key" in options else nullcontext():
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
                    # What the same request has stored answers a function that failed, and no Ctrl-C.
                    is_answered = status == HF_OK and isinstance(exception, Exception)
                    if exception is not None and not is_answered and status != HF_CONFLICT:
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


def used(store: "Store", options: Mapping[str, Any]) -> bytes:
    """The text of the first receipt of the idempotency key among these options; empty if it was not used, or
    there is none."""
    if "idempotency_key" not in options:
        return b""
    # What writes nothing uses no key, and is answered by what has used it.
    text = transact(Body(store, lambda: None), {"idempotency_key": options["idempotency_key"]})
    return text if Receipt.from_json(text).replayed else b""


def of_the_faster(store: "Store", options: Mapping[str, Any], error: BaseException) -> bytes:
    """The same after a failure: what stood in the way may be what the same request has stored, which came
    at the same time and was faster. What cannot be read now does not hide the failure."""
    if isinstance(error, Exception):
        with suppress(errors.Error):
            return used(store, options)
    return b""


def gave_up(conflict: errors.ConflictError, attempts: int) -> errors.ConflictError:
    """What the library tells, too, when attempts or time are used up."""
    return errors.ConflictError(
        f"the transaction met a conflict in each of {attempts} attempts: raise max_attempts or timeout, or "
        "let it read less",
        retryable=True,
        detail={**conflict.detail, "attempts": attempts},
        cause=conflict,
    )


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
        self._deadline = time.monotonic() + self._options.get("timeout_ms", TIMEOUT * 1000) / 1000
        self._context = contextvars.copy_context()
        self._value: Any = None
        self._future: CommitFuture[T] = CommitFuture(begun(Transaction, store, self._options))

    def submit(self) -> "CommitFuture[T]":
        """Runs the function here and submits its commit."""
        future, transaction = self._future, self._future._transaction
        if self._is_answered_by(used(self._store, self._options)):
            transaction.rollback()
            return future
        try:
            transaction.enlist(*self._trees)
            with transaction.joined():
                self._value = run(self._fn)
            self._store._submit(Submission(future, lambda _: self._answer(), self._failed, self._refused))
        except BaseException as error:
            self._refused(error)
            if not isinstance(error, errors.ConflictError) and future.exception() is not None:
                raise
        return future

    def _answer(self) -> Any:
        """What the stored commit's future is completed with."""
        receipt = self._future.receipt if "idempotency_key" in self._options else None
        return None if receipt is not None and receipt.replayed else self._value

    def _is_answered_by(self, receipt: bytes) -> bool:
        """Completes the future as what the same request has stored."""
        if receipt:
            self._future._transaction.receipt_text = receipt
            self._future.set_result(self._answer())
        return bool(receipt)

    def _end(self, error: BaseException) -> None:
        """It does not run again."""
        if not self._is_answered_by(of_the_faster(self._store, self._options, error)):
            self._future.set_exception(error)

    def _failed(self, error: BaseException) -> None:
        """The commit of the first run has failed. On the thread that is told of it, which must not wait."""
        if isinstance(error, errors.ConflictError):
            self._retry(error)
        elif "idempotency_key" in self._options:
            self._go_on(lambda: self._end(error), error)
        else:
            self._future.set_exception(error)

    def _refused(self, error: BaseException) -> None:
        """The first run has failed, or could not be handed over."""
        # Whatever keeps it from being rolled back, such as a closed store, must not hide the error.
        with suppress(errors.Error):
            self._future._transaction.rollback()
        if isinstance(error, errors.ConflictError):
            self._retry(error)
        else:
            self._end(error)

    def _retry(self, error: errors.ConflictError) -> None:
        if self._attempts_left < 1:
            self._go_on(lambda: self._end(gave_up(error, 1)), error)
        else:
            self._go_on(lambda: self._context.run(self._run_again), error)

    def _go_on(self, work: Callable[[], None], error: BaseException) -> None:
        self._future._begin()
        try:
            self._store._run_later(self._future, work)
        except RuntimeError:
            # The worker takes nothing more: the interpreter is ending, or the store is closed.
            self._future.set_exception(error)

    def _run_again(self) -> None:
        remaining = max(1, int((self._deadline - time.monotonic()) * 1000))
        options = {**self._options, "max_attempts": self._attempts_left, "timeout_ms": remaining}
        body = Body(self._store, self._fn, self._trees)
        self._future._transaction.receipt_text = transact(body, options)
        if body.transaction is not None:
            self._future._transaction.secondary = body.transaction.secondary
        self._value = body.value
        self._future.set_result(self._answer())
