"""Store: one database, whose calls are awaited."""

import asyncio
import contextlib
import dataclasses
import functools
import inspect
import itertools
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Literal, Optional, TypeVar, Union, overload

from .. import errors
from .._handles import OfOneProcess, call
from .._library import lib
from .._options import CommitOptions, TransactionOptions, TransactOptions, takes, transaction_options
from .._transact import MAX_ATTEMPTS, TIMEOUT, gave_up
from ..cache import Cache, Clock
from ..operation import sequence_of
from ..provider import StorageProvider
from ..provider import open_provider as blocking_open_provider
from ..receipt import Receipt
from ..store import Store as BlockingStore
from ..store import open as blocking_open
from ..transaction import begun, open_transaction
from . import transaction as transactions
from ._events import events_of, in_thread
from .maintenance import Maintenance
from .operation import Operation, operation
from .preferences import Preferences
from .repository import Repository
from .stream import StoreStreams
from .transaction import Transaction

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import ProviderOptions, StoreOptions
    from ..tree import Transactable

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def _run(fn: Callable[[], Awaitable[T]]) -> Awaitable[T]:
    """What is to be awaited of a transaction's function; refuses one that has done its work without."""
    work = fn()
    if not inspect.isawaitable(work):
        raise TypeError(
            "A transaction's function must be a coroutine function here: write `async def`, or hand it to "
            "the same call of `store.blocking`."
        )
    return work


def open(url: Union[str, "os.PathLike[str]"], **options: "Unpack[StoreOptions]") -> "Opening":
    """Opens a store for the running loop: `async with holdfast.aio.open(...) as store`, or with `await`, and
    `await store.close()` at the end. Parameters as of `holdfast.open`."""
    return Opening(functools.partial(blocking_open, url, **options))


def open_provider(provider: StorageProvider, **options: "Unpack[ProviderOptions]") -> "Opening":
    """As `open`, for a store whose entities live with a provider. Parameters as of `holdfast.open_provider`.
    The provider's methods are called on threads of the library's."""
    return Opening(functools.partial(blocking_open_provider, provider, **options))


class Opening(OfOneProcess):
    """A store that is opened when this is awaited or entered."""

    def __init__(self, open: Callable[[], BlockingStore]) -> None:
        self._open_blocking = open
        self._store: Optional[Store] = None

    def _title(self) -> str:
        return "of a store" if self._store is None else f"of {self._store!r}"

    def __await__(self) -> "Generator[Any, None, Store]":
        return self._open().__await__()

    async def __aenter__(self) -> "Store":
        self._store = await self._open()
        return self._store

    async def __aexit__(self, kind: Any, error: Optional[BaseException], traceback: Any) -> None:
        assert self._store is not None
        await self._store.__aexit__(kind, error, traceback)

    async def _open(self) -> "Store":
        def open() -> BlockingStore:
            store = self._open_blocking()
            with _closed_on_failure(store):
                store._read_keys()
            return store

        opened = await in_thread(open, discard=lambda opened: opened.close())
        with _closed_on_failure(opened):
            return Store(opened)


@contextlib.contextmanager
def _closed_on_failure(store: BlockingStore) -> Iterator[None]:
    """For what opening takes behind the library's part: a store that nobody gets holds its file no longer."""
    try:
        yield
    except BaseException as error:
        with errors.secondary_to(error):
            store.close()
        raise


class Store(OfOneProcess, Maintenance, StoreStreams):
    """One database, for the event loop in which it was opened. A context manager that closes it.
    `blocking` is the same for threads, and `aio` for another loop.

    The calls of repositories and transactions run on the library's threads and come back through the loop:
    no thread of Python's stands behind them, unless `blocking` or another loop uses it, too. Only opening,
    `sync`, `describe`, cursors and the calls about indexes, for which the library has no asynchronous form,
    have a thread each while they last, four at a time.
    """

    def __init__(self, store: BlockingStore) -> None:
        #: The native handle.
        self.pointer = store.pointer
        self._blocking = store
        self._events = events_of(store)

    def _title(self) -> str:
        return self._blocking._title()

    # --- Life ------------------------------------------------------------------------------------

    async def close(self, timeout: Optional[float] = None) -> None:
        """Refuses new work, rolls back open transactions, finishes what was submitted, completes its futures.

        Raises TimeoutError when the time has passed; the store is still closing then, and can be closed
        again. Closing a closed store does nothing.
        """
        self._blocking._handle.check_process()
        closing = asyncio.ensure_future(self._close())
        await asyncio.wait([closing], timeout=timeout)
        if not closing.done():
            closing.cancel()
            raise errors.TimeoutError("The store is still closing; close it again to wait on.")
        await closing

    async def _close(self) -> None:
        await self._events.all_handed_over()
        with contextlib.suppress(errors.TimeoutError):
            call(lib.hf_store_close, self.pointer, 0)
        await self._events.all_taken()
        # It tells what went wrong at the end.
        if self._blocking._events.has_thread:
            # Which may be calling functions of the program's yet.
            await in_thread(self._blocking.close)
        else:
            self._blocking.close()

    async def __aenter__(self) -> "Store":
        return self

    async def __aexit__(self, kind: Any, error: Optional[BaseException], traceback: Any) -> None:
        if self._blocking._handle.is_foreign:
            return
        if error is None:
            await self.close()
        else:
            with errors.secondary_to(error):
                await self.close()

    def __del__(self) -> None:
        if not sys.is_finalizing() and hasattr(self, "_events"):
            self._events.let_go()

    # --- The other faces -------------------------------------------------------------------------

    @property
    def aio(self) -> "Store":
        """This store for the running event loop: see `holdfast.Store.aio`."""
        return self._blocking.aio

    @property
    def blocking(self) -> BlockingStore:
        """This store for threads, its calls not awaited: see `holdfast.Store.aio`."""
        self._blocking._events.start()
        return self._blocking

    # --- Repositories ----------------------------------------------------------------------------

    @overload
    def repository(
        self, name: str, *, key: Optional[str] = None, cache: Optional[Cache] = None
    ) -> Repository[dict[str, Any]]: ...

    @overload
    def repository(
        self, name: str, *, cls: type[T], key: Optional[str] = None, cache: Optional[Cache] = None
    ) -> Repository[T]: ...

    def repository(
        self,
        name: str,
        *,
        cls: Any = None,
        key: Optional[str] = None,
        cache: Optional[Cache] = None,
    ) -> Repository[Any]:
        """A repository, which the first call on it creates where the store has none of that name.

        `cls` is the class of its entities, as of `holdfast.Store.repository`. `key` is the member that holds
        the id: "id" for a new repository, else what the repository had when the store was opened. `cache` is
        its policy, as of `holdfast.Store.repository`; each of its calls sees to it that this is the one.
        """
        return Repository(self, name, cls, key, cache)

    def preferences(self, name: str = "preferences") -> Preferences:
        """Named values with defaults, in the repository of this name: see `Preferences`."""
        return Preferences(self, name)

    # --- Transactions ----------------------------------------------------------------------------

    @takes(transaction_options)
    def begin(self, *, name: Optional[str] = None, **options: "Unpack[TransactionOptions]") -> Transaction:
        """Begins a transaction that the caller commits, submits or rolls back. Options: see
        `holdfast.Store.begin`."""
        return begun(Transaction, self, {**transaction_options(**options), "name": name})

    @property
    def current_transaction(self) -> Optional[Transaction]:
        """The transaction that calls on this store's repositories join here; None when each is its own."""
        return open_transaction(self._blocking)

    @contextlib.asynccontextmanager
    @takes(transaction_options)
    async def transaction(
        self, *trees: "Transactable", name: Optional[str] = None, **options: "Unpack[TransactionOptions]"
    ) -> AsyncIterator[Transaction]:
        """A transaction for the block: commits at its end, rolls back on an exception. Object trees and
        options: see `holdfast.Store.transaction`.

        Inside another transaction of the store the block joins that one, whose options hold, as a part that
        goes back by itself when it raises: see `holdfast.Store.transaction`. An idempotency key cannot join
        and is refused there.

        In an asynchronous generator it is the current one while that runs, and for tasks that it begins. A
        task that whoever iterates begins while the generator stands at a `yield` in the block cannot be told
        from those, and joins it, too: begin it with a context in which no transaction is current, as
        `asyncio.create_task(work(), context=contextvars.Context())`, or before.
        """
        given = {**transaction_options(**options), "name": name}
        outer = transactions.awaited(self._blocking._outer(given))
        if outer is not None:
            async with outer._awaited_part():
                outer.enlist(*trees)
                yield outer
            return
        transaction = begun(Transaction, self, given)
        try:
            async with transaction:
                transaction.enlist(*trees)
                yield transaction
        except Exception:
            if not transaction.may_be_answered(given):
                raise
            transaction.receipt_text = await self._of_the_faster(given)
            if not transaction.receipt_text:
                raise

    def savepoint(self) -> "contextlib.AbstractAsyncContextManager[int]":
        """Inside a transaction: rolls back what the block wrote on an exception, which goes on its way."""
        return transactions.savepoint(transactions.awaited(self.current_transaction))

    @overload
    async def transact(
        self,
        fn: Callable[[], Awaitable[T]],
        *,
        receipt: Literal[False] = False,
        **options: "Unpack[TransactOptions]",
    ) -> T: ...

    @overload
    async def transact(
        self, fn: Callable[[], Awaitable[T]], *, receipt: Literal[True], **options: "Unpack[TransactOptions]"
    ) -> tuple[T, Receipt]: ...

    @takes(transaction_options)
    async def transact(
        self,
        fn: Callable[[], Awaitable[Any]],
        *,
        max_attempts: Optional[int] = None,
        trees: "Sequence[Transactable]" = (),
        receipt: bool = False,
        **options: "Unpack[TransactionOptions]",
    ) -> Any:
        """Runs the coroutine function in a transaction and commits it; on a conflict runs it again on the
        newest state. Options, result and errors: see `holdfast.Store.transact`."""
        given = transaction_options(**options)
        outer = transactions.awaited(self._blocking._outer(given))
        if outer is not None:
            if receipt:
                raise errors.InvalidStateError("What joins a transaction has no receipt of its own.")
            async with outer._awaited_part():
                outer.enlist(*trees)
                return await _run(fn)

        def replay(text: bytes) -> Any:
            return (None, Receipt.from_json(text)) if receipt else None

        used = await self._used(given)
        if used:
            return replay(used)
        timeout = options.get("timeout")
        deadline = time.monotonic() + (TIMEOUT if timeout is None else timeout)
        transaction = begun(Transaction, self, given)
        for attempt in itertools.count(1):
            try:
                async with transaction:
                    transaction.enlist(*trees)
                    value = await _run(fn)
            except Exception as error:
                lost = transaction
                try:
                    used = await self._of_the_faster(given)
                    if used:
                        return replay(used)
                    if not isinstance(error, errors.ConflictError):
                        raise
                    if attempt >= (max_attempts or MAX_ATTEMPTS):
                        raise gave_up(error, attempt) from error
                    remaining = max(0.0, deadline - time.monotonic())
                    given["timeout_ms"] = max(1, int(remaining * 1000))
                    try:
                        transaction = await asyncio.wait_for(transactions.again(self, lost, given), remaining)
                    except asyncio.TimeoutError:
                        # In so long a wait the same request may have been stored.
                        used = await self._of_the_faster(given)
                        if used:
                            return replay(used)
                        raise gave_up(error, attempt) from error
                except asyncio.CancelledError as cancelled:
                    transactions.note_withdrawn(cancelled)
                    raise
                finally:
                    # Its place in the line goes with it.
                    lost.let_go()
            else:
                own = transaction.receipt
                if own is not None and own.replayed:
                    return (None, own) if receipt else None
                return (value, own and dataclasses.replace(own, attempts=attempt)) if receipt else value

    async def _used(self, given: Mapping[str, Any]) -> bytes:
        """The text of the first receipt of the idempotency key among these options; empty if it was not used,
        or there is none."""
        if "idempotency_key" not in given:
            return b""
        lookup: Operation[Any] = Operation(
            self, sequence_of(self, (), {"idempotency_key": given["idempotency_key"]})
        )
        future = lookup.submit()
        try:
            # A sequence of nothing answers a list of nothing, and None where it is told as done before.
            return future._receipt_text if await future is None else b""
        except asyncio.CancelledError as error:
            # It stores nothing, whatever becomes of it.
            transactions.note_withdrawn(error)
            raise

    async def _of_the_faster(self, given: Mapping[str, Any]) -> bytes:
        """The same after a failure: what stood in the way may be what the same request has stored, which came
        at the same time and was faster. What cannot be read now does not hide the failure."""
        with contextlib.suppress(errors.Error):
            return await self._used(given)
        return b""

    @overload
    def transactional(self, function: F) -> F: ...

    @overload
    def transactional(
        self, *, max_attempts: Optional[int] = None, **options: "Unpack[CommitOptions]"
    ) -> Callable[[F], F]: ...

    def transactional(self, function: Optional[Callable[..., Any]] = None, **options: Any) -> Any:
        """Decorates a coroutine function so that each call of it runs as `transact` does."""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            async def transactional(*arguments: Any, **keywords: Any) -> Any:
                return await self.transact(functools.partial(function, *arguments, **keywords), **options)

            return transactional

        return decorate if function is None else decorate(function)

    def submit(
        self, fn: Callable[[], Awaitable[T]], **options: "Unpack[TransactOptions]"
    ) -> "asyncio.Task[T]":
        """A task that runs the coroutine function as `transact` does. Not inside a transaction."""
        if self.current_transaction is not None:
            raise errors.InvalidStateError("Nothing is submitted inside a transaction; use transact there.")
        return asyncio.ensure_future(self.transact(fn, **options))

    # --- Operations ------------------------------------------------------------------------------

    @takes(transaction_options)
    def sequence(
        self,
        *operations: "Operation[Any]",
        max_attempts: Optional[int] = None,
        **options: "Unpack[TransactionOptions]",
    ) -> "Operation[Any]":
        """Several operations of this store's repositories as one: a transaction in a single call. See
        `holdfast.Store.sequence`."""
        given = {**transaction_options(**options), "max_attempts": max_attempts}
        return Operation(self, sequence_of(self, operations, given))

    @takes(transaction_options)
    def operation(
        self,
        fn: Callable[[], Awaitable[T]],
        *,
        max_attempts: Optional[int] = None,
        **options: "Unpack[TransactionOptions]",
    ) -> "Operation[T]":
        """A coroutine function as an operation that runs it in a transaction each time. Options: see
        `transact`."""
        return operation(self, fn, max_attempts=max_attempts, **options)

    # --- State -----------------------------------------------------------------------------------

    def set_clock(self, clock: Optional[Clock]) -> None:
        """Replaces the clock by which cached entities expire, for tests: see `holdfast.Store.set_clock`."""
        self._blocking.set_clock(clock)

    async def _in_thread(self, function: Callable[[BlockingStore], Any]) -> Any:
        async with self._events.threads:
            return await in_thread(functools.partial(function, self._blocking))
