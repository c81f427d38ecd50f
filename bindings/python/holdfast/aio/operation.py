"""Operation: a transaction described now and awaited later, as often as wanted."""

import functools
from collections.abc import Awaitable, Generator
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar

from .. import errors
from .._calls import Description
from .._handles import Handle, OfOneProcess
from .._interrupts import OnError, OnFinished
from .._options import TransactionOptions, takes, transaction_options
from ..operation import Subscription as BlockingSubscription
from ..operation import native
from ..transaction import current_transaction, open_transaction
from ._events import CommitFuture, OperationSubmission
from .transaction import awaited

if TYPE_CHECKING:
    import asyncio

    from typing_extensions import Unpack

    from .store import Store

T = TypeVar("T")


class Subscription(BlockingSubscription):
    """One run of an operation, whose subscriber hears of its value and then of its end, or of its error."""

    def cancel(self) -> bool:
        """Prevents what has not begun to be stored: the subscriber then hears a CancelledError. False when it
        is too late: the subscriber hears what became of it. A function's task ends at its next await."""
        future = self._future
        return future.withdraw() if isinstance(future, CommitFuture) else super().cancel()


class Operation(OfOneProcess, Generic[T]):
    """A transaction that was described and touches nothing until it is run. Each run is a run of its own.

    `await` or `perform` runs it, inside a transaction as a part of that; `submit` starts it; `subscribe`
    starts it with callbacks.
    """

    # The loop waits for a place, and its thread does not.
    _members = b',"when_full":"refuse"'

    def __init__(self, store: "Store", description: Description) -> None:
        self._store = store
        self._description = description
        self._handles: list[Handle] = []

    def _title(self) -> str:
        return self._description.title

    async def perform(self) -> T:
        """Runs it and answers its result; inside a transaction, as a part of that."""
        transaction = awaited(current_transaction(self._store._blocking))
        if transaction is None:
            return await self._start()
        return await transaction._run(self._submission(transaction))

    def __await__(self) -> "Generator[Any, None, T]":
        return self.perform().__await__()

    def submit(self) -> "CommitFuture[T]":
        """Starts a run and returns; the future is completed with its result. Not inside a transaction."""
        if open_transaction(self._store._blocking) is not None:
            raise errors.InvalidStateError("Nothing is submitted inside a transaction; await it there.")
        return self._start()

    def subscribe(
        self, on_value: Callable[[T], object], on_finished: OnFinished = None, on_error: OnError = None
    ) -> Subscription:
        """Starts a run whose subscriber hears one value and then the end, or one error, from the loop. What
        `on_value` raises goes to `on_error`; without that, errors are logged."""
        subscription = Subscription(on_value, on_finished, on_error)
        subscription._future = self.submit()
        subscription._future.add_done_callback(subscription._tell)
        return subscription

    def _start(self) -> "CommitFuture[T]":
        return self._store._events.submit(self._submission(None))

    def _submission(self, transaction: Any) -> OperationSubmission:
        read = functools.partial(self._description.result, is_part=transaction is not None)
        return OperationSubmission(native(self), transaction, read)


class FunctionOperation(Operation[T]):
    """A coroutine function as an operation: each run is a transaction, run again after a conflict."""

    def __init__(self, store: "Store", fn: Callable[[], Awaitable[T]], options: dict[str, Any]) -> None:
        self._store = store
        self._fn = fn
        self._options = options

    def _title(self) -> str:
        return f"of {self._fn!r}"

    async def perform(self) -> T:
        """Runs the function as `Store.transact` does."""
        return await self._store.transact(self._fn, **self._options)

    def submit(self) -> "asyncio.Task[T]":  # type: ignore[override]
        """Runs the function as `Store.submit` does, in a task."""
        return self._store.submit(self._fn, **self._options)


@takes(transaction_options)
def operation(
    store: "Store",
    fn: Callable[[], Awaitable[T]],
    *,
    max_attempts: Optional[int] = None,
    **options: "Unpack[TransactionOptions]",
) -> Operation[T]:
    """A coroutine function as an operation: each run is a transaction of the store. Options: see
    `Store.transact`."""
    transaction_options(**options)  # refuses what is none
    return FunctionOperation(store, fn, {**options, "max_attempts": max_attempts})
