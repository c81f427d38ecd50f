"""Events of a store, taken by an asyncio loop: no thread stands behind it.

The store's descriptor is a reader of the loop. Each time it is readable a few events are taken and their
futures completed, so that the loop's other work is not held up by ten thousand ends at once. Where threads or
other loops use the store, too, the store's event thread takes the events and hands the loop its own.
"""

import asyncio
import collections
import contextlib
import contextvars
import ctypes
import functools
import logging
import threading
from collections.abc import Awaitable, Coroutine
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar

from .. import errors
from .._codec import load
from .._handles import Handle, OfOneProcess, call, native_buffer, text_of, tokens
from .._interrupts import Keeping, raise_kept
from .._library import lib
from .._limits import LIMITS
from .._types import HF_OK, hf_event, hf_future
from ..events import NO_CALLBACK, NO_DESTRUCTOR, Events, Listener, submit_transaction
from ..receipt import Receipt
from ..transaction import outside_transactions

if TYPE_CHECKING:
    from ctypes import Array

    from typing_extensions import ParamSpec

    from ..store import Store

    P = ParamSpec("P")

T = TypeVar("T")

_log = logging.getLogger("holdfast")


def withdrawn(loop: asyncio.AbstractEventLoop) -> "asyncio.Future[Any]":
    """What became of a commit that was cancelled before it was stored."""
    outcome: asyncio.Future[Any] = loop.create_future()
    outcome.set_exception(errors.CancelledError("It was cancelled before it was stored."))
    outcome.exception()  # who cancelled expects it, so nobody need ask
    return outcome


class Closing:
    """What is closed at the end of its `async with` block."""

    close: Callable[[], Awaitable[None]]

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


class CommitFuture(OfOneProcess, asyncio.Future, Generic[T]):
    """The outcome of a submitted commit, or of one run of an operation. An `asyncio.Future`.

    Cancelling it, or the task that awaits it, withdraws what is still queued and lets go of what is not: see
    `outcome`.
    """

    #: Set when it was cancelled: the future of what became of the commit. It was withdrawn, and `outcome`
    #: raises `holdfast.CancelledError`; or that was too late, and `outcome` has its value or error. The
    #: `asyncio.CancelledError` that the awaiting task gets has it as `outcome` too.
    outcome: "Optional[asyncio.Future[T]]" = None

    def __init__(self, events: "LoopEvents", submission: "Submission") -> None:
        super().__init__(loop=events.loop)
        self._submission = submission
        self._receipt_text = b""

    def _title(self) -> str:
        return self._state.lower()

    @property
    def receipt(self) -> Optional[Receipt]:
        """The commit's receipt once it is stored; None before, when it failed, and for what only reads."""
        return Receipt.from_json(self._receipt_text) if self._receipt_text else None

    def cancel(self, msg: Any = None) -> bool:
        """Withdraws the commit, or lets go of it: see `outcome`. False when it has ended."""
        if self.done():
            return False
        loop = self.get_loop()
        self.outcome = withdrawn(loop) if self._is_withdrawn() else loop.create_future()
        return super().cancel(msg=msg)

    def withdraw(self) -> bool:
        """Cancels it while it is queued. False when it is too late: it goes on, as if nobody had asked."""
        return not self.done() and self._is_withdrawn() and super().cancel()

    def _is_withdrawn(self) -> bool:
        try:
            if self._submission.was_handed_over:
                self._submission.withdraw()
        except errors.Error:  # it is being stored, or has ended, or its store has
            return False
        return True

    def __await__(self) -> Any:
        try:
            return (yield from super().__await__())
        except asyncio.CancelledError as error:
            # When the task is cancelled just after this has ended, it is its own outcome.
            error.outcome = self.outcome or self  # type: ignore[attr-defined]
            raise

    __iter__ = __await__

    def _complete(self, event: hf_event) -> None:
        """Ends it with what an event tells."""
        if event.status == HF_OK:
            self._receipt_text = text_of(event.receipt)
            try:
                value = self._submission.value(event)
            except BaseException as error:  # of the class that the result was to be read as; or Ctrl-C
                self._fail(error)
                if not isinstance(error, Exception):
                    raise
                return
            target = self.outcome or self
            if not target.done():
                target.set_result(value)
        else:
            self._fail(errors.from_native(event.status, event.error))

    def _fail(self, error: BaseException) -> None:
        target = self.outcome or self
        if not target.done():
            target.set_exception(errors.deliverable(error))
            if target is self.outcome:
                target.exception()  # who cancelled need not ask


class Submission:
    """One commit under way: how it is handed over, withdrawn, and what its future's value is."""

    was_handed_over = False

    def __init__(self, transaction: Any) -> None:
        self._transaction = transaction

    def hand_over(self, token: int) -> None:
        """Submits it; its event will carry the token."""
        submit_transaction(self._transaction, token)

    def withdraw(self) -> None:
        """Cancels it, or raises when it is too late."""
        call(lib.hf_transaction_cancel, self._transaction.pointer)

    def value(self, event: hf_event) -> Any:
        """The future's value."""
        self._transaction.receipt_text = text_of(event.receipt)
        return self._transaction.receipt

    def let_go(self) -> None:
        """It has ended."""


class OperationSubmission(Submission):
    """One run of an operation."""

    def __init__(self, operation: Handle, transaction: Any, result: Callable[[bytes, int], Any]) -> None:
        super().__init__(transaction)
        self._operation = operation
        self._result = result
        self._handle: Optional[Handle] = None

    def hand_over(self, token: int) -> None:
        """Starts the run; its event will carry the token."""
        pointer = ctypes.POINTER(hf_future)()
        handle = Handle(pointer, lib.hf_future_free)
        call(
            lib.hf_operation_submit,
            self._operation.pointer,
            self._transaction and self._transaction.pointer,
            NO_CALLBACK,
            token,
            NO_DESTRUCTOR,
            ctypes.byref(pointer),
        )
        self._handle = handle

    def withdraw(self) -> None:
        """Cancels it, or raises when it is too late."""
        if self._handle is not None:
            call(lib.hf_future_cancel, self._handle.pointer)

    def value(self, event: hf_event) -> Any:
        """The operation's result."""
        return self._result(ctypes.string_at(event.value.data, event.value.length), event.value.version)

    def let_go(self) -> None:
        """Frees the native future, and what only its result needed: the loop may keep it a while."""
        del self._result
        if self._handle is not None:
            self._handle.free()


class LoopEvents:
    """Submits to one store and takes its events, on the thread of one loop.

    Holds no reference to the Store object, so that one can be collected.
    """

    def __init__(self, source: Events, pointer: Any, max_in_flight: int) -> None:
        self.loop = asyncio.get_running_loop()
        #: How many threads calls have at a time for which the library has no asynchronous form.
        self.threads = asyncio.Semaphore(LIMITS.threads)
        self._source = source
        self._pointer = pointer
        self._events = (hf_event * LIMITS.loop_batch)()
        # Handed over, by the tokens that their events carry; and those that are not yet, because the library
        # would wait for a place, on the loop's thread, or because this turn of the loop has had its share.
        self.under_way: dict[int, CommitFuture[Any]] = {}
        self._listeners: dict[int, Listener] = {}
        self._places = max_in_flight
        # At most so many of the places are taken by effects of controllers.
        self._effects = 0
        self._waiting: collections.deque[CommitFuture[Any]] = collections.deque()
        self._handed_over_now = 0
        self._idle: list[asyncio.Future[None]] = []
        self._is_listening = True
        self._descriptor: Optional[int] = None
        # What is called from there is no part of a transaction in whose block the store is opened.
        self._context = outside_transactions()
        if source.add_loop(self):
            descriptor = ctypes.c_int()
            call(lib.hf_store_event_fd, pointer, ctypes.byref(descriptor))
            self._descriptor = descriptor.value
            self._context.run(self.loop.add_reader, self._descriptor, self._take)

    def check_loop(self) -> None:
        """Raises InvalidStateError in another loop than the store's."""
        if asyncio.get_running_loop() is not self.loop:
            raise errors.InvalidStateError(
                "The store belongs to the event loop in which it was opened; take its `aio` in another loop, "
                "and its `blocking` in a thread that runs none."
            )

    def submit(self, submission: Submission) -> "CommitFuture[Any]":
        """Hands a commit over, at once or when there is a place; every failure is its future's."""
        self.check_loop()
        self._waiting.append(future := CommitFuture(self, submission))
        if len(self._waiting) == 1:
            self._hand_over()
        return future

    def register(self, listener: Listener) -> int:
        """Answers the token that the events of a stream or controller are to carry."""
        self.check_loop()
        token = next(tokens)
        self._listeners[token] = listener
        return token

    def forget(self, token: int) -> None:
        """Tells whoever has this token nothing any more."""
        self._listeners.pop(token, None)

    def expect_effect(self) -> None:
        """An action is about to be dispatched whose effect may take a place."""
        self._effects += 1

    async def all_handed_over(self) -> None:
        """Waits until nothing waits for a place."""
        while self._waiting:
            handed_over = self.loop.create_future()
            self._idle.append(handed_over)
            await handed_over

    async def all_taken(self) -> None:
        """Waits until a store that is closing has closed and its last event was taken."""
        while self._is_listening:
            ended = self.loop.create_future()
            self._idle.append(ended)
            await ended

    def stop(self) -> None:
        """Listens no more."""
        self._is_listening = False
        self._source.remove_loop(self)
        self._stop_reading()

    def is_told(self, token: int) -> bool:
        """Whether events with this token are for somebody here."""
        return token in self.under_way or token in self._listeners

    def hand_over(self, events: "Array[hf_event]") -> None:
        """Has the loop take these events. For the thread that takes them."""
        try:
            self.loop.call_soon_threadsafe(self._tell_all, events, len(events), context=self._context)
        except RuntimeError:  # the loop is closed
            self._source.remove_loop(self)
            lib.hf_events_free(events, len(events))

    def look_for_places(self) -> None:
        """Has the loop look whether what waits there for a place has one now. For any thread."""
        if self._waiting:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(self._hand_over, context=self._context)

    def is_of(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether it is this one."""
        return self.loop is loop

    def hear_end(self) -> None:
        """Has the loop know that no event comes any more. For the thread that takes them."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(self._end, context=self._context)

    def stop_taking(self) -> None:
        """Has the loop know that a thread takes the events from now on. For any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(self._stop_reading)

    def let_go(self) -> None:
        """Nobody has the store here any more: stops, unless threads have it, who may give it back."""
        if not self._source.has_thread:
            self.stop()

    def _stop_reading(self) -> None:
        if self._descriptor is not None:
            self.loop.remove_reader(self._descriptor)
            self._descriptor = None

    def _hand_over(self) -> None:
        """Hands over what there is place for, up to this turn's share."""
        while self._waiting and self._handed_over_now < LIMITS.loop_batch and self._has_place():
            if self._handed_over_now == 0:
                self.loop.call_soon(self._begin_turn)
            self._handed_over_now += 1
            future = self._waiting.popleft()
            if future.done():  # cancelled while it waited
                continue
            token = next(tokens)
            self.under_way[token] = future
            try:
                future._submission.hand_over(token)
                future._submission.was_handed_over = True
            except errors.BusyError:
                # Nobody here knows who holds the places, and when there is one.
                del self.under_way[token]
                self._waiting.appendleft(future)
                self.loop.call_later(LIMITS.place_wait / 1000, self._hand_over)
                break
            except BaseException as error:
                del self.under_way[token]
                future._fail(error)
                if not isinstance(error, Exception):  # such as Ctrl-C: the loop's affair too
                    raise
        if not self._waiting:
            self._tell_idle()

    def _has_place(self) -> bool:
        in_flight = self._source.in_flight
        if self._effects and in_flight + self._effects >= self._places:
            # Of the ends of effects nobody hears here. Where asking fails, as in a closed store, so does
            # what is handed over.
            self._effects = 0
            with contextlib.suppress(errors.Error), native_buffer() as text:
                call(lib.hf_store_describe, self._pointer, ctypes.byref(text))
                self._effects = max(0, load(text_of(text))["in_flight"] - in_flight)
        return in_flight + self._effects < self._places

    def _begin_turn(self) -> None:
        self._handed_over_now = 0
        self._hand_over()

    def _take(self) -> None:
        """Takes some events, unless a thread does that from now on."""
        count = self._source.take(self._events)
        if count is None:
            self._stop_reading()
        else:
            self._tell_all(self._events, count)

    def _tell_all(self, events: "Array[hf_event]", count: int) -> None:
        """Tells of these events and fills the places that they held."""
        untold = collections.deque(events[index] for index in range(count))
        interrupt: Optional[BaseException] = None
        while untold:
            # Whatever goes wrong with one, the others are told.
            try:
                while untold:
                    self._tell(untold.popleft())
            except Exception:
                _log.exception("an event could not be told")
            except BaseException as error:  # such as Ctrl-C: the loop's affair, once all is told
                interrupt = interrupt or error
        if count > 0:
            lib.hf_events_free(events, count)
        self._hand_over()
        if self._source.has_thread:
            self._source.look_for_places()
        if count < 0:  # closed and drained, or freed
            self._end()
        raise_kept()
        if interrupt is not None:
            raise interrupt

    def _tell(self, event: hf_event) -> None:
        token = event.user_data or 0
        future = self.under_way.pop(token, None)
        if future is not None:
            future._complete(event)
            future._submission.let_go()
        elif token in self._listeners:
            with Keeping():
                self._listeners[token].hear(event)

    def _end(self) -> None:
        self.stop()
        left = [*self.under_way.values(), *self._waiting]
        self.under_way.clear()
        self._waiting.clear()
        ended = errors.ClosedError("The store was closed before the commit ended.")
        for future in left:
            future._fail(ended)
        listeners = list(self._listeners.values())
        self._listeners.clear()
        for listener in listeners:
            listener.abandon(ended)
        self._tell_idle()

    def _tell_idle(self) -> None:
        idle, self._idle = self._idle, []
        for future in idle:
            if not future.done():
                future.set_result(None)


def events_of(store: "Store") -> LoopEvents:
    """What takes a store's events for the running loop."""
    loop = asyncio.get_running_loop()
    for events in store._events.loops():
        assert isinstance(events, LoopEvents)
        if events.loop is loop:
            return events
        if events.loop.is_closed():
            events.stop()
    return LoopEvents(store._events, store.pointer, store._max_in_flight)


def started(work: "Coroutine[Any, Any, T]") -> "asyncio.Task[T]":
    """A task whose error nobody need ask for: who waited for it may be gone."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    return task


async def in_thread(function: Callable[[], T], discard: Callable[[T], object] = lambda _: None) -> T:
    """Runs a function on a thread of its own, for what the library offers no asynchronous call for.

    A value that comes when nobody awaits it any more goes to `discard`, on that thread.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def tell(value: Any, error: Optional[BaseException]) -> None:
        if not future.done():
            future.set_result(value) if error is None else future.set_exception(errors.deliverable(error))
        elif error is None:
            threading.Thread(target=discard, args=(value,), name="holdfast-call").start()

    def run() -> None:
        value: Any = None
        error: Optional[BaseException] = None
        try:
            value = context.run(function)
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(tell, value, error)
        except RuntimeError:  # the loop is closed
            if error is None:
                discard(value)

    threading.Thread(target=run, name="holdfast-call").start()
    return await future


def threaded(function: "Callable[P, T]") -> "Callable[P, Coroutine[Any, Any, T]]":
    """A blocking function as one that is awaited, and has a thread of its own meanwhile."""

    @functools.wraps(function)
    async def called(*arguments: Any, **keywords: Any) -> T:
        return await in_thread(functools.partial(function, *arguments, **keywords))

    return called
