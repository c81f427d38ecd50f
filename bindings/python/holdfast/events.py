"""Events: how Python hears what became of submitted commits.

Stores are opened for queue delivery, so no foreign thread enters the interpreter, except to call the methods
of a StorageProvider. One daemon thread of Python's own per store takes the events and completes the futures.
Where event loops use the store, too, it hands each of them what is theirs; see `aio._events`.
"""

import asyncio
import concurrent.futures
import ctypes
import itertools
import logging
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, Protocol, TypeVar

from . import errors
from ._handles import FORKED, Handle, OfOneProcess, Registry, call, text_of
from ._library import lib
from ._limits import LIMITS
from ._members import Raised, call_members
from ._types import (
    EVENT_CHANGES,
    EVENT_STATE,
    HF_CANCELLED,
    HF_OK,
    destructor,
    hf_event,
    hf_event_fn,
    hf_future,
)
from .receipt import Receipt

if TYPE_CHECKING:
    from ctypes import Array

    from .transaction import Transaction

T = TypeVar("T")

NO_CALLBACK, NO_DESTRUCTOR = hf_event_fn(), destructor()


def submit_transaction(transaction: Any, token: int) -> None:
    """Hands a commit over; its event will carry the token."""
    arguments = (transaction.pointer, NO_CALLBACK, token, NO_DESTRUCTOR)
    call_members(lib.hf_transaction_submit, *arguments, raised=Raised(transaction))


_log = logging.getLogger("holdfast")


# Futures of this process's commits that are under way, and that this package will complete. Adding and
# discarding are atomic.
_unfinished: "set[CommitFuture[Any]]" = set()


class _ThreadRole(threading.local):
    is_event_thread = False


_role = _ThreadRole()


def is_event_thread() -> bool:
    """Whether this thread completes a store's futures, which therefore must not be waited for here."""
    return _role.is_event_thread


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

    def _title(self) -> str:
        return self._state.lower()

    @property
    def receipt(self) -> Optional[Receipt]:
        """The commit's receipt once it is stored; None before, and when it failed."""
        return self._transaction.receipt

    def result(self, timeout: Optional[float] = None) -> T:
        """The value; raises the commit's error, and WouldDeadlockError rather than wait on the thread that
        completes futures."""
        self._check_wait()
        return super().result(timeout)

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """The error, or None; waits as `result` does."""
        self._check_wait()
        return super().exception(timeout)

    def set_exception(self, exception: Optional[BaseException]) -> None:
        """Ends it with an error."""
        super().set_exception(exception and errors.deliverable(exception))

    def cancel(self) -> bool:
        """Withdraws the commit while it is queued. False when it is too late."""
        if not self.done():
            try:
                self._withdraw()
            except (errors.InvalidStateError, errors.InvalidHandleError):
                return False
        return super().cancel()

    def _submit(self, token: int) -> None:
        """Hands the commit over; its event will carry the token."""
        submit_transaction(self._transaction, token)

    def _withdraw(self) -> None:
        call(lib.hf_transaction_cancel, self._transaction.pointer)

    def _take_receipt(self, text: bytes) -> None:
        self._transaction.receipt_text = text

    def _check_wait(self) -> None:
        if is_event_thread() and not self.done():
            raise errors.WouldDeadlockError("This thread completes the future; wait on another one.")

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

    def _tell_withdrawn(self) -> None:
        """Tells those who wait that the commit was withdrawn. For the event thread."""
        super().cancel()
        self.set_running_or_notify_cancel()

    def _let_go(self) -> None:
        """It has ended: frees what only a pending one needs."""


class OperationFuture(CommitFuture[T]):
    """The outcome of one run of an operation, a `CommitFuture` in every respect.

    `receipt` is None for an operation that only reads.
    """

    def __init__(self, operation: Handle) -> None:
        concurrent.futures.Future.__init__(self)
        self._operation = operation
        self._handle: Optional[Handle] = None
        self._receipt_text = b""

    @property
    def receipt(self) -> Optional[Receipt]:
        """The receipt of the commit once it is stored; None before, for a read, and when it failed."""
        return Receipt.from_json(self._receipt_text) if self._receipt_text else None

    def _submit(self, token: int) -> None:
        pointer = ctypes.POINTER(hf_future)()
        handle = Handle(pointer, lib.hf_future_free)
        call(
            lib.hf_operation_submit,
            self._operation.pointer,
            None,
            NO_CALLBACK,
            token,
            NO_DESTRUCTOR,
            ctypes.byref(pointer),
        )
        self._handle = handle
        if self.done():
            self._let_go()

    def _withdraw(self) -> None:
        if self._handle is None:
            raise errors.InvalidStateError("The operation was not submitted yet.")
        call(lib.hf_future_cancel, self._handle.pointer)

    def _take_receipt(self, text: bytes) -> None:
        self._receipt_text = text

    def _let_go(self) -> None:
        if self._handle is not None:
            self._handle.free()


class Submission:
    """One commit under way: its future, the value that this gets, what its failure leads to, and what is done
    where it cannot be handed over and nobody is there any more to be told by an exception."""

    __slots__ = ("failed", "future", "refused", "value")

    def __init__(
        self,
        future: "CommitFuture[Any]",
        value: Callable[[hf_event], Any],
        failed: Optional[Callable[[BaseException], None]] = None,
        refused: Optional[Callable[[BaseException], None]] = None,
    ) -> None:
        self.future = future
        self.value = value
        self.failed = failed or future.set_exception
        self.refused = refused or future.set_exception

    def hear(self, event: hf_event) -> None:
        """Completes the future with what an event tells, or goes on to do so."""
        future = self.future
        if event.status == HF_OK:
            future._take_receipt(text_of(event.receipt))
            try:
                value = self.value(event)
            except BaseException as error:  # of the class that the result was to be read as
                future.set_exception(error)
            else:
                future.set_result(value)
        elif event.status == HF_CANCELLED:
            future._tell_withdrawn()
        else:
            self.failed(errors.from_native(event.status, event.error))
        future._let_go()

    def abandon(self, error: BaseException) -> None:
        """The store was freed before its event came."""
        self.future.set_exception(error)


class Listener(Protocol):
    """Who is told of events, on the thread that takes them."""

    def hear(self, event: hf_event) -> None:
        """Takes what an event tells."""

    def abandon(self, error: BaseException) -> None:
        """No event comes any more."""


class Loop(Protocol):
    """An event loop that uses a store."""

    def is_of(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether it is this one."""

    #: What was handed over there and whose end was not told yet, by its token, in that order.
    under_way: "dict[int, Any]"

    def is_told(self, token: int) -> bool:
        """Whether events with this token are for somebody there."""

    def hand_over(self, events: "Array[hf_event]") -> None:
        """Has the loop take these events."""

    def look_for_places(self) -> None:
        """Has the loop look whether what waits there for a place has one now."""

    def hear_end(self) -> None:
        """Has the loop know that no event comes any more."""

    def stop_taking(self) -> None:
        """Has the loop know that a thread takes the events from now on."""


class Events:
    """Takes the events of one store. Holds no reference to the Store object, so that one can be collected."""

    def __init__(self, pointer: Any) -> None:
        self._pointer = pointer
        self._submitted: Registry[Submission] = Registry()
        self._listeners: Registry[Listener] = Registry()
        # The event loops that use the store. Without a lock: each access is atomic, and the garbage collector
        # may take one out.
        self._loops: dict[Loop, None] = {}
        self._is_over = False
        # Held while the thread begins and ends, and while a loop takes events: it does so only as long as
        # there is no thread, so that whatever is taken reaches whom it is for, and in its order.
        self._lock = threading.Lock()
        self._thread: Optional[threading.Thread] = None
        self._worker: Optional[concurrent.futures.ThreadPoolExecutor] = None
        self._worker_thread: Optional[threading.Thread] = None

    @property
    def in_flight(self) -> int:
        """How many commits were handed over, by threads and loops, whose ends were not told yet."""
        return len(self._submitted) + sum(len(loop.under_way) for loop in self.loops())

    def is_anyone_told(self, token: int) -> bool:
        """Whether the end of anything is awaited yet that was handed over before this token was given."""
        for own in itertools.takewhile(token.__gt__, self._submitted.tokens()):
            submission = self._submitted.find(own)
            if submission is not None and not submission.future.done():
                return True
        for loop in self.loops():
            for own in itertools.takewhile(token.__gt__, list(loop.under_way)):
                future = loop.under_way.get(own)
                # What was cancelled too late has its end told to its outcome.
                if future is not None and not (future.done() and (future.outcome or future).done()):
                    return True
        return False

    @property
    def has_thread(self) -> bool:
        """Whether the thread takes the events, and no loop does."""
        return self._thread is not None

    def submit(self, submission: Submission) -> None:
        """Hands a transaction's commit over; its future is completed later."""
        self.start()
        submission.future._begin()
        if threading.current_thread() is self._thread:
            # The native call may wait until events were taken, which only this thread does.
            self.run_later(submission.future, lambda: self._submit_later(submission))
        else:
            self._submit(submission)

    def register(self, listener: Listener) -> int:
        """Answers the token that the events of a stream or controller are to carry."""
        self.start()
        return self._listeners.add(listener)

    def forget(self, token: int) -> None:
        """Tells whoever has this token nothing any more."""
        self._listeners.remove(token)

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

    def start(self) -> None:
        """Has the thread take the events from now on."""
        with self._lock:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._run, name="holdfast-events", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # there are too many; it is begun again for whoever asks next
                self._thread = None
                raise
        for loop in self.loops():
            loop.stop_taking()

    def add_loop(self, loop: Loop) -> bool:
        """Has a loop told of its events; answers whether it is to take them itself."""
        with self._lock:
            if self._is_over:
                raise errors.ClosedError("The store is closed.")
            self._loops[loop] = None
            return self._thread is None

    def remove_loop(self, loop: Loop) -> None:
        """Tells a loop nothing any more."""
        self._loops.pop(loop, None)

    def look_for_places(self) -> None:
        """Has the loops look whether what waits there for a place has one now."""
        for loop in self.loops():
            loop.look_for_places()

    def loops(self) -> list[Loop]:
        """The loops that are told of their events."""
        return list(self._loops)

    def take(self, events: "Array[hf_event]") -> Optional[int]:
        """Takes events that are ready, for the one loop that uses the store; None where the thread does."""
        with self._lock:
            if self._thread is not None:
                return None
            return lib.hf_store_events(self._pointer, events, len(events), 0)

    def _submit(self, submission: Submission) -> None:
        token = self._submitted.add(submission)
        try:
            submission.future._submit(token)
        except BaseException:
            self._submitted.remove(token)
            _unfinished.discard(submission.future)
            raise

    def _submit_later(self, submission: Submission) -> None:
        try:
            self._submit(submission)
        except BaseException as error:
            submission.refused(error)

    def _run(self) -> None:
        _role.is_event_thread = True
        events = (hf_event * LIMITS.event_batch)()
        while True:
            count = lib.hf_store_events(self._pointer, events, LIMITS.event_batch, LIMITS.event_wait)
            if count < 0:  # closed and drained, or freed
                break
            # First, for the functions that are told here may take their time.
            for loop in self.loops():
                _hand_over(events, count, loop)
            for index in range(count):
                self._deliver(events[index])
            lib.hf_events_free(events, count)
            self.look_for_places()
        with self._lock:
            self._is_over = True
        for loop in self.loops():
            loop.hear_end()
        for listener in (*self._submitted.remove_all(), *self._listeners.remove_all()):
            listener.abandon(errors.ClosedError("The store was freed before the commit ended."))

    def _deliver(self, event: hf_event) -> None:
        token = event.user_data or 0
        goes_on = event.kind in (EVENT_CHANGES, EVENT_STATE)
        listener: Optional[Listener] = self._submitted.remove(token)
        if listener is None:
            listener = (self._listeners.find if goes_on else self._listeners.remove)(token)
        if listener is None:
            return
        try:
            listener.hear(event)
        # Whatever a callback raises, also SystemExit, must not end the delivery of other commits.
        except BaseException:
            _log.exception("a callback of a commit's future failed")


def _hand_over(events: "Array[hf_event]", count: int, loop: Loop) -> None:
    """Hands a loop those events that are for it, and takes them out."""
    own = [index for index in range(count) if loop.is_told(events[index].user_data or 0)]
    if own:
        handed_over = (hf_event * len(own))(*(events[index] for index in own))
        for index in own:
            events[index] = hf_event()
        loop.hand_over(handed_over)


def _abandon_all() -> None:
    for future in list(_unfinished):
        future._abandon()
    _unfinished.clear()


os.register_at_fork(after_in_child=_abandon_all)
