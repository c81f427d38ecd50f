"""Operation: a transaction described now and run later, as often as wanted."""

import asyncio
import ctypes
from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar

from . import errors
from ._answers import Answer
from ._calls import Description
from ._codec import dump
from ._handles import Handle, OfOneProcess, Result, call, native_buffer
from ._interrupts import OnError, OnFinished, tell, tell_error
from ._json import Load, load, load_digits
from ._library import lib
from ._options import TransactionOptions, takes, transaction_options
from ._plain import done
from ._types import hf_operation, hf_repository
from .events import CommitFuture, OperationFuture, Submission
from .transaction import current_pointer, open_transaction

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .store import Store

T = TypeVar("T")


class Subscription(OfOneProcess):
    """One run of an operation, whose subscriber hears of its value and then of its end, or of its error."""

    def __init__(self, on_value: Callable[[Any], object], on_finished: OnFinished, on_error: OnError) -> None:
        self._on_value = on_value
        self._on_finished = on_finished
        self._on_error = on_error
        self._future: Optional[Any] = None

    def _title(self) -> str:
        return f"of {self._future!r}"

    def cancel(self) -> bool:
        """Prevents what has not begun to be stored: the subscriber then hears a CancelledError. False when it
        is too late: the subscriber hears what became of it."""
        return self._future is not None and self._future.cancel()

    def _tell(self, future: Any) -> None:
        """Hears that the run has ended."""
        error: Optional[BaseException]
        if future.cancelled():
            error = errors.CancelledError("The operation was cancelled before it was stored.")
        else:
            error = future.exception()
        if error is None:
            try:
                done(self._on_value(future.result()), "A subscribed function")
            except BaseException as raised:
                error = raised
        self._end(error)

    def _end(self, error: Optional[BaseException]) -> None:
        if error is None:
            tell(self._on_finished)
        else:
            tell_error(self._on_error, error)


class Operation(OfOneProcess, Generic[T]):
    """A transaction that was described and touches nothing until it is run. Each run is a run of its own.

    `perform` runs it on this thread, `submit` in the background with a future, `await` within asyncio,
    `subscribe` with callbacks. It may be run by several threads at once.
    """

    #: What the description has besides.
    _members = b""

    def __init__(self, store: "Store", description: Description) -> None:
        self._store = store
        self._description = description
        self._handles: list[Handle] = []

    def _title(self) -> str:
        return self._description.title

    def perform(self) -> T:
        """Runs it on this thread and answers its result; inside a transaction, as a part of that."""
        result = Result.take()
        transaction = current_pointer(self._store)
        is_part = transaction is not None

        def answer() -> T:
            return self._description.result(result.bytes(), result.entity.version, is_part)

        try:
            with native_buffer() as receipt:
                arguments = native(self).pointer, transaction, result.entity_reference, ctypes.byref(receipt)
                call(lib.hf_operation_perform, *arguments, stored=None if is_part else answer)
            return answer()
        finally:
            result.put_back()

    def submit(self) -> "OperationFuture[T]":
        """Starts a run and returns; the future is completed with its result. Not inside a transaction."""
        return self._start(None)

    def subscribe(
        self, on_value: Callable[[T], object], on_finished: OnFinished = None, on_error: OnError = None
    ) -> Subscription:
        """Starts a run whose subscriber hears one value and then the end, or one error, on the store's event
        thread. What `on_value` raises goes to `on_error`; without that, errors are logged."""
        subscription = Subscription(on_value, on_finished, on_error)
        subscription._future = self._start(subscription._tell)
        return subscription

    def __await__(self) -> "Generator[Any, None, T]":
        """Starts a run when it is awaited. The loop waits here when too many commits are in flight;
        operations of `holdfast.aio` do not let it."""
        return asyncio.wrap_future(self.submit()).__await__()

    def _start(self, on_done: Optional[Callable[[Any], None]]) -> "OperationFuture[T]":
        if open_transaction(self._store) is not None:
            raise errors.InvalidStateError("Nothing is submitted inside a transaction; use perform there.")
        future: OperationFuture[T] = OperationFuture(native(self))
        if on_done is not None:
            future.add_done_callback(on_done)
        description = self._description

        def value(event: Any) -> T:
            return description.result(
                ctypes.string_at(event.value.data, event.value.length), event.value.version
            )

        self._store._submit(Submission(future, value))
        return future


class FunctionOperation(Operation[T]):
    """A function of the host's as an operation: each run is a transaction, run again after a conflict."""

    def __init__(self, store: "Store", fn: Callable[[], T], options: dict[str, Any]) -> None:
        self._store = store
        self._fn = fn
        self._options = options

    def _title(self) -> str:
        return f"of {self._fn!r}"

    def perform(self) -> T:
        """Runs the function as `Store.transact` does."""
        return self._store.transact(self._fn, **self._options)

    def submit(self) -> "CommitFuture[T]":  # type: ignore[override]
        """Runs the function as `Store.submit` does: now, on this thread."""
        return self._store.submit(self._fn, **self._options)

    def subscribe(
        self, on_value: Callable[[T], object], on_finished: OnFinished = None, on_error: OnError = None
    ) -> Subscription:
        """Runs the function now, on this thread; its exceptions too go to the subscriber."""
        subscription = Subscription(on_value, on_finished, on_error)
        try:
            subscription._future = self.submit()
        except Exception as error:
            subscription._end(error)
        else:
            subscription._future.add_done_callback(subscription._tell)
        return subscription


@takes(transaction_options)
def operation(
    store: "Store",
    fn: Callable[[], T],
    *,
    max_attempts: Optional[int] = None,
    **options: "Unpack[TransactionOptions]",
) -> Operation[T]:
    """A function as an operation: each run is a transaction of the store. Options: see `Store.transact`."""
    transaction_options(**options)  # refuses what is none
    return FunctionOperation(store, fn, {**options, "max_attempts": max_attempts})


def sequence_of(store: Any, operations: Iterable[Any], options: Mapping[str, Any]) -> Description:
    """Several operations of a store described as one; options by their names in the library."""
    steps = []
    for step in operations:
        if step._store is not store:
            raise errors.InvalidArgumentError("An operation of another store cannot be a step here.")
        description = getattr(step, "_description", None)
        if description is None or not description.answer.is_step:
            raise TypeError(f"{step!r} cannot be a step of a sequence.")
        steps.append(description)
    members = b"".join(
        b"," + dump(name) + b":" + dump(value) for name, value in options.items() if value is not None
    )
    pieces = [b'{"steps":[']
    for index, step in enumerate(steps):
        first, *others = step.pieces
        pieces[-1] += b"," * (index > 0) + first
        pieces += others
    pieces[-1] += b"]" + members + b"}"
    return Description(
        tuple(pieces),
        tuple(repository for step in steps for repository in step.repositories),
        _Results([step.answer for step in steps]),
        lambda: [step.note() for step in steps],
    )


class _Results(Answer[Optional[list[Any]]]):
    """The answers of several calls; None where their idempotency key was used before."""

    is_step = False

    def __init__(self, answers: list[Answer[Any]]) -> None:
        super().__init__(self._results, self._loader)
        self._answers = answers

    def _results(self, value: Any) -> Optional[list[Any]]:
        return value and [answer.read(it) for answer, it in zip(self._answers, value)]

    def _loader(self) -> Load:
        return load_digits if any(answer.loader() is load_digits for answer in self._answers) else load


def native(operation: Any) -> Handle:
    """The operation's native handle, made when it is first needed."""
    handles = operation._handles
    if not handles:
        store = operation._store
        pointer = ctypes.POINTER(hf_operation)()
        text, repositories = operation._description.text, operation._description.repositories
        text = text[:-1] + operation._members + b"}"
        opened = (ctypes.POINTER(hf_repository) * len(repositories))(*(it.pointer for it in repositories))
        handle = Handle(pointer, lib.hf_operation_free)
        arguments = store.pointer, text, len(text), opened, len(opened), ctypes.byref(pointer)
        call(lib.hf_operation_create_on, *arguments)
        # Of threads that come at once each makes one, all use the first, and none is freed under its user.
        handles.append(handle)
    return handles[0]
