"""Events: how Python hears what became of submitted commits.

Stores are opened for queue delivery, so no foreign thread ever enters the interpreter. One daemon thread of
Python's own per store takes the events and completes the futures.
"""

import concurrent.futures
import logging
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar

from . import errors
from ._handles import FORKED, OfOneProcess, Registry, call, text_of
from ._library import lib
from ._signatures import (
    HF_CANCELLED,
    HF_CONFLICT,
    HF_OK,
    destructor,
    hf_event,
    hf_event_fn,
)
from .receipt import Receipt

if TYPE_CHECKING:
    from .transaction import Transaction

T = TypeVar("T")

_BATCH = 256
# The thread looks up from its wait this often, so that nothing depends on a single wake-up.
_WAIT_MILLISECONDS = 500
_NO_CALLBACK, _NO_DESTRUCTOR = hf_event_fn(), destructor()
_log = logging.getLogger("holdfast")


# Futures of this process's commits that are under way, and that this package will complete. Adding and
# discarding are atomic.
_unfinished: "set[CommitFuture[Any]]" = set()


class CommitFuture(OfOneProcess, concurrent.futures.Future[T], Generic[T]):
    """The outcome of a submitted commit.

    A `concurrent.futures.Future`: `result`, `add_done_callback`, `concurrent.futures.wait` and
    `asyncio.wrap_future` work. Callbacks run on the store's event thread, in commit order, and should not
    wait there for other commits. In a forked child a future that was pending at the fork has failed with
    ForkedError; its callbacks run in the parent alone.
    """

    def __init__(self, transaction: "Transaction") -> None:
        super().__init__()
        self._transaction = transaction

    @property
    def receipt(self) -> Optional[Receipt]:
        """The commit's receipt once it is stored; None before, and when it failed."""
        return self._transaction.receipt

    def cancel(self) -> bool:
        """Withdraws the commit while it is queued. False when it is too late."""
        if not self.done():
            try:
                call(lib.hf_transaction_cancel, self._transaction.pointer)
            except (errors.InvalidStateError, errors.InvalidHandleError):
                return False
        return super().cancel()

    def _begin(self) -> None:
        """Notes that this package is going to complete it."""
        _unfinished.add(self)
        self.add_done_callback(_unfinished.discard)

    def _abandon(self) -> None:
        """In a forked child: ends it. Who waits for it, or is to be called, exists in the parent alone."""
        # Their locks may be held by threads that are not there.
        self._condition = threading.Condition()
        self._waiters: list[Any] = []
        self._done_callbacks: list[Any] = []
        if not self.done():
            self.set_exception(errors.ForkedError(FORKED))

    def _withdraw(self) -> None:
        """Tells those who wait that the commit was withdrawn. For the event thread."""
        super().cancel()
        self.set_running_or_notify_cancel()


class Submission:
    """One commit under way: its future, the value that the future gets, and what a conflict leads to."""

    __slots__ = ("future", "retry", "value")

    def __init__(
        self,
        future: "CommitFuture[Any]",
        value: Callable[[], Any],
        retry: Optional[Callable[[errors.Error], None]] = None,
    ) -> None:
        self.future = future
        self.value = value
        self.retry = retry

    def complete(self, event: hf_event) -> None:
        """Completes the future with what an event tells, or runs the transaction again."""
        if event.status == HF_OK:
            self.future._transaction.receipt_text = text_of(event.receipt)
            self.future.set_result(self.value())
        elif event.status == HF_CANCELLED:
            self.future._withdraw()
        else:
            error = errors.from_native(event.status, event.error)
            if event.status == HF_CONFLICT and self.retry is not None:
                self.retry(error)
            else:
                self.future.set_exception(error)


class Events:
    """Takes the events of one store. Holds no reference to the Store object, so that one can be collected."""

    def __init__(self, pointer: Any) -> None:
        self._pointer = pointer
        self._pending: Registry[Submission] = Registry()
        self._lock = threading.Lock()
        self._thread: Optional[threading.Thread] = None
        self._worker: Optional[concurrent.futures.ThreadPoolExecutor] = None
        self._worker_thread: Optional[threading.Thread] = None

    def submit(self, submission: Submission) -> None:
        """Hands a transaction's commit over; its future is completed later."""
        self._start()
        submission.future._begin()
        if threading.current_thread() is self._thread:
            # The native call may wait until events were taken, which only this thread does.
            self.run_later(submission.future, lambda: self._submit(submission))
        else:
            self._submit(submission)

    def run_later(self, future: "CommitFuture[Any]", work: Callable[[], None]) -> None:
        """Runs work for a future on the worker thread; what it raises goes to the future."""

        def run() -> None:
            try:
                work()
            except BaseException as error:
                future.set_exception(error)

        with self._lock:
            if self._worker is None:
                self._worker = concurrent.futures.ThreadPoolExecutor(
                    1, "holdfast-worker", initializer=self._enter_worker
                )
            self._worker.submit(run)

    def finish(self, timeout: Optional[float]) -> None:
        """Waits until all events of a closed store were delivered, unless called from a callback."""
        current = threading.current_thread()
        if current in (self._thread, self._worker_thread):
            return
        if self._thread is not None:
            self._thread.join(timeout)
        if self._worker is not None:
            self._worker.shutdown(wait=True)

    def _enter_worker(self) -> None:
        self._worker_thread = threading.current_thread()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="holdfast-events", daemon=True)
                self._thread.start()

    def _submit(self, submission: Submission) -> None:
        token = self._pending.add(submission)
        pointer = submission.future._transaction.pointer
        try:
            call(lib.hf_transaction_submit, pointer, _NO_CALLBACK, token, _NO_DESTRUCTOR)
        except BaseException:
            self._pending.remove(token)
            _unfinished.discard(submission.future)
            raise

    def _run(self) -> None:
        events = (hf_event * _BATCH)()
        while True:
            count = lib.hf_store_events(self._pointer, events, _BATCH, _WAIT_MILLISECONDS)
            if count < 0:  # closed and drained, or freed
                break
            for index in range(count):
                self._deliver(events[index])
            lib.hf_events_free(events, count)
        for submission in self._pending.remove_all():
            error = errors.ClosedError("The store was freed before the commit ended.")
            submission.future.set_exception(error)

    def _deliver(self, event: hf_event) -> None:
        submission = self._pending.remove(event.user_data or 0)
        if submission is None:
            return
        try:
            submission.complete(event)
        # Whatever a callback raises, also SystemExit, must not end the delivery of other commits.
        except BaseException:
            _log.exception("a callback of a commit's future failed")


def _abandon_all() -> None:
    for future in list(_unfinished):
        future._abandon()
    _unfinished.clear()


os.register_at_fork(after_in_child=_abandon_all)
