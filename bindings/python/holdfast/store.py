"""Store: one database, opened by URL. The unit of commit order."""

import asyncio
import atexit
import ctypes
import functools
import math
import os
import re
import sys
import time
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Callable, Literal, Optional, TypeVar, Union, overload

from . import _transact, errors
from ._codec import dump, native_text
from ._handles import Handle, OfOneProcess, Registry, call
from ._interrupts import untold
from ._library import lib
from ._limits import LIMITS
from ._options import (
    CommitOptions,
    StoreOptions,
    TransactionOptions,
    TransactOptions,
    takes,
    transaction_options,
)
from ._types import HF_TIMEOUT, hf_store
from .cache import Cache, Clock, set_clock
from .events import CommitFuture, Events, Submission
from .maintenance import Maintenance
from .operation import Operation, operation, sequence_of
from .preferences import Preferences
from .receipt import Receipt
from .repository import Repository
from .stream import StoreStreams
from .transaction import Transaction, begun, open_transaction

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .aio.store import Store as AwaitedStore
    from .tree import Transactable

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

_open_stores: "Registry[weakref.ref[Store]]" = Registry()


def open(url: Union[str, "os.PathLike[str]"], **options: "Unpack[StoreOptions]") -> "Store":
    """Opens a store, creating it where there is none.

    `url` is the path of an SQLite file ("music.db", "sqlite:music.db"), "memory:", or that of a PostgreSQL
    database ("postgresql://user@host/database"). The options are those of
    `hf_store_open` in holdfast/store.h, by the same names: create, read_only, durability, max_in_flight,
    max_entity_bytes, max_depth, cache_bytes, max_snapshots, snapshot_max_age_ms, wal_limit_bytes,
    lock_timeout_ms, idempotency_max_age_ms, idempotency_max_count, log_retention, log_max_age_ms,
    log_max_bytes, slow_commit_ms, allow_unsafe_location, mode, store, max_connections,
    max_staleness_ms.
    """
    return Store(url, **options)


def _without_password(url: Any) -> Any:
    """What may be shown of a URL."""
    if not isinstance(url, str):
        return url
    shown = re.sub(r"^(postgres(?:ql)?://[^:/?@]*):[^/?]*@", r"\1@", url, flags=re.IGNORECASE)
    return re.sub(r"(?<=[?&])(ssl)?password=[^&]*&?", "", shown, flags=re.IGNORECASE)


def handle_count(kind: Optional[str] = None) -> int:
    """How many native handles live in this process: "store", "repository", "transaction", "error",
    "cursor", "operation", "future", "participant", "stream", "controller"; or of all kinds. For tests that
    nothing leaks. An unknown kind has none."""
    return lib.hf_handle_count(None if kind is None else kind.encode())


class Store(OfOneProcess, Maintenance, StoreStreams):
    """One database. A context manager that closes it at the end of the block.

    All times are in seconds. Methods may be called from any thread. In a forked child they raise ForkedError,
    and the end of the block does nothing: the store is the parent's.
    """

    # Until it is open there is nothing to close.
    _closed = True

    _max_in_flight: int

    def __init__(self, url: Union[str, "os.PathLike[str]"], **options: "Unpack[StoreOptions]") -> None:
        self._start(os.fspath(url), functools.partial(lib.hf_store_open, native_text(url)), options)

    @classmethod
    def _over(cls, url: str, open_native: Callable[..., int], options: Mapping[str, Any]) -> "Store":
        """A store that `open_native` opens, which takes what hf_store_open does but the URL."""
        store = cls.__new__(cls)
        store._start(url, open_native, options)
        return store

    def _start(self, url: Any, open_native: Callable[..., int], options: Mapping[str, Any]) -> None:
        if "delivery" in options:
            raise errors.InvalidOptionError('Python always uses queue delivery; leave out "delivery".')
        #: The native handle.
        self.pointer = store = ctypes.POINTER(hf_store)()
        self._handle = Handle(store, lib.hf_store_free)
        self._events = Events(store)
        self._url = _without_password(url)
        self._file = os.path.abspath(os.fsdecode(url).removeprefix("sqlite:"))
        self._keys = {}
        try:
            # Nobody tells whether it was there before.
            call(open_native, dump({**options, "delivery": "queue"}), ctypes.byref(store), stored=untold)
            # The library's own default.
            self._max_in_flight = options.get("max_in_flight", 10_000)
            self._open = _open_stores.add(weakref.ref(self))
            self._closed = False
        except BaseException:  # such as Ctrl-C: not open as long as somebody has that
            self._handle.let_go()
            raise

    def _title(self) -> str:
        return f"{self._url!r}, closed" if self._closed else repr(self._url)

    # --- Life ------------------------------------------------------------------------------------

    def close(self, timeout: Optional[float] = None) -> None:
        """Refuses new work, rolls back open transactions, finishes what was submitted, completes its futures.

        Raises TimeoutError when the time has passed; the store is still closing then, and can be closed
        again. Closing a closed store does nothing.
        """
        self._handle.check_process()
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            wait = math.ceil(min(LIMITS.native_wait, max(0.0, deadline - time.monotonic()) * 1000))
            if call(lib.hf_store_close, self.pointer, wait, accepted=HF_TIMEOUT):
                break
            if time.monotonic() >= deadline:
                raise errors.TimeoutError("The store is still closing; close it again to wait on.")
        self._closed = True
        _open_stores.remove(self._open)
        self._events.finish(None if timeout is None else max(0.0, deadline - time.monotonic()))

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], traceback: Any) -> None:
        if self._handle.is_foreign:
            return
        if error is None:
            self.close()
        else:
            with errors.secondary_to(error):
                self.close()

    def __del__(self) -> None:
        if sys.is_finalizing() or self._closed:
            return
        _open_stores.remove(self._open)
        if not self._handle.is_foreign:
            warnings.warn(f"unclosed store {self!r}", ResourceWarning, source=self, stacklevel=2)

    # --- The other faces -------------------------------------------------------------------------

    @property
    def aio(self) -> "AwaitedStore":
        """This store for the running event loop, its calls awaited: a `holdfast.aio.Store`.

        For programs with threads and with event loops, such as a web application whose endpoints are of both
        kinds: a process opens a file once, and both use that, with one cache, in one order of commits. Each
        loop has a face of its own, and a face has its `blocking` and `aio`, too. They are one store: it is
        closed by whichever of them is closed first, and closing another does nothing. Whatever is current as
        a transaction is so for both; but what is awaited joins only a transaction that is awaited.
        """
        from .aio.store import Store as AwaitedStore  # which is made of this one

        self._handle.check_process()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise errors.InvalidStateError(
                "`aio` is the store for the event loop that is running; ask for it in a coroutine."
            ) from None
        self._events.start()
        if not any(events.is_of(loop) for events in self._events.loops()):
            self._read_keys()
        return AwaitedStore(self)

    @property
    def blocking(self) -> "Store":
        """This store: see `aio`."""
        return self

    # --- Repositories ----------------------------------------------------------------------------

    @overload
    def repository(
        self, name: str, *, key: Optional[str] = None, create: bool = True, cache: Optional[Cache] = None
    ) -> "Repository[dict[str, Any]]": ...

    @overload
    def repository(
        self,
        name: str,
        *,
        cls: type[T],
        key: Optional[str] = None,
        create: bool = True,
        cache: Optional[Cache] = None,
    ) -> "Repository[T]": ...

    def repository(
        self,
        name: str,
        *,
        cls: Any = None,
        key: Optional[str] = None,
        create: bool = True,
        cache: Optional[Cache] = None,
    ) -> "Repository[Any]":
        """Opens a repository, creating it where the store has none of that name.

        `cls` is the class of its entities: a dataclass, a class of attrs or msgspec, a TypedDict, or a class
        with from_dict and to_dict or with model_validate and model_dump; without it they are dicts.
        (docs/python-types.md tells what becomes of datetimes and all else that JSON does not have.) `key` is
        the member that holds the id: "id" for a new repository, else what it was created with. `cache` is a
        `CachePolicy`, or a dict of its options: how the entities are cached in this process, apart from those
        of other repositories.
        """
        return Repository(self, name, cls=cls, key=key, create=create, cache=cache)

    def preferences(self, name: str = "preferences") -> Preferences:
        """Named values with defaults, in the repository of this name: see `Preferences`."""
        return Preferences(self, name)

    # --- Transactions ----------------------------------------------------------------------------

    @takes(transaction_options)
    def begin(self, *, name: Optional[str] = None, **options: "Unpack[TransactionOptions]") -> Transaction:
        """Begins a transaction that the caller commits, submits or rolls back.

        `timeout` is how long its commit may wait (30 seconds). `isolation` is "serializable" or "snapshot",
        `durability` "full" or "relaxed". A second commit with the same `idempotency_key` and the same writes
        changes nothing and gets the first receipt. `on_error` is what a write that fails leaves behind:
        "continue" (the default) the transaction as it was, and "abort" one that stores nothing any more:
        every later call and the commit raise that failure, until it is rolled back, or to a savepoint.
        `describe` tells the `name` while it holds a snapshot.
        """
        return begun(Transaction, self, {**transaction_options(**options), "name": name})

    @property
    def current_transaction(self) -> Optional[Transaction]:
        """The transaction that calls on this store's repositories join here; None when each is its own."""
        return self._blocking_of(open_transaction(self))

    @contextmanager
    @takes(transaction_options)
    def transaction(
        self, *trees: "Transactable", name: Optional[str] = None, **options: "Unpack[TransactionOptions]"
    ) -> Iterator[Transaction]:
        """A transaction for the block: commits at its end, rolls back on an exception. Options: see `begin`.

        Object trees that are given change with what is stored, or not at all: see `Transactable`. An
        exception of an `on_validate_commit` rolls all back and is raised.

        Inside another transaction of the store the block joins that one, whose options hold, as a part that
        goes back by itself: when the block raises, what it wrote is discarded, and the transaction around it
        goes on without it, if the exception is caught there. What it read stays read. Where it cannot go back
        alone, the transaction around it can only roll back, and its commit says so: UnsupportedError when an
        object of its trees has no `on_savepoint`, InvalidStateError when others wrote in it at the same time.
        An idempotency key cannot join and is refused there.

        A block with an idempotency key that was used runs, and stores nothing again. Where it, or its commit,
        has failed, whatever by, and the key is known, that is not raised: `receipt` of the transaction is the
        first one, with `replayed`.

        In a generator it is the current one while that runs, in any thread, not for whoever iterates, unless
        `contextlib.contextmanager` makes the generator a block. Tasks and threads that the block began and
        that outlive it get InvalidStateError from single calls; they may begin a transaction of their own.
        """
        given = {**transaction_options(**options), "name": name}
        outer = self._outer(given)
        if outer is not None:
            with outer._part():
                outer.enlist(*trees)
                yield self._blocking_of(outer)
            return
        transaction = begun(Transaction, self, given)
        try:
            with transaction:
                transaction.enlist(*trees)
                yield transaction
        except Exception as error:
            if not transaction.may_be_answered(given):
                raise
            transaction.receipt_text = _transact.of_the_faster(self, given, error)
            if not transaction.receipt_text:
                raise

    @contextmanager
    def savepoint(self) -> Iterator[int]:
        """Inside a transaction: rolls back what the block wrote on an exception, which goes on its way."""
        transaction = self.current_transaction
        if transaction is None:
            raise errors.InvalidStateError("A savepoint needs a transaction; open one around it.")
        savepoint = transaction.savepoint()
        try:
            yield savepoint
            # It is gone where the block has ended the transaction, or rolled it back beyond.
            with suppress(errors.InvalidArgumentError, errors.InvalidStateError, errors.ClosedError):
                transaction.release(savepoint)
        except BaseException as error:
            with errors.secondary_to(error):
                transaction.rollback_to(savepoint)
            raise

    @overload
    def transact(
        self, fn: Callable[[], T], *, receipt: Literal[False] = False, **options: "Unpack[TransactOptions]"
    ) -> T: ...

    @overload
    def transact(
        self, fn: Callable[[], T], *, receipt: Literal[True], **options: "Unpack[TransactOptions]"
    ) -> tuple[T, Receipt]: ...

    @takes(transaction_options)
    def transact(
        self,
        fn: Callable[[], Any],
        *,
        max_attempts: Optional[int] = None,
        trees: "Sequence[Transactable]" = (),
        receipt: bool = False,
        **options: "Unpack[TransactionOptions]",
    ) -> Any:
        """Runs the function in a transaction and commits it; on a conflict runs it again on the newest state.

        Answers the function's value, or with `receipt=True` the pair of value and receipt. Tries at most
        `max_attempts` times (100) within `timeout`. An exception of the function rolls back and travels out
        unchanged, except ConflictError, which leads to another attempt. With an idempotency key that was
        used before, the function does not run: its value is None, and the receipt the first one. So it is,
        too, where the key is known after a failure, whatever that was: the same request came at the same
        time and was faster. A function that writes nothing uses no key. Inside another transaction of the
        store it joins that one, as `transaction` does, and runs once; there is no receipt then. The object
        trees `trees` take part in each run: a conflict rolls them back before the next. Other options: see
        `begin`.
        """
        given = transaction_options(**options)
        outer = self._outer(given)
        if outer is not None:
            if receipt:
                raise errors.InvalidStateError("What joins a transaction has no receipt of its own.")
            with outer._part():
                outer.enlist(*trees)
                return _transact.run(fn)
        body = _transact.Body(self, fn, trees)

        def answer(text: bytes) -> Any:
            if not receipt and "idempotency_key" not in given:
                return body.value
            secondary = body.transaction.secondary if body.transaction is not None else ()
            answered = Receipt.from_json(text, secondary)
            value = None if answered.replayed else body.value
            return (value, answered) if receipt else value

        return _transact.transact(body, {**given, "max_attempts": max_attempts}, answer)

    @overload
    def transactional(self, function: F) -> F: ...

    @overload
    def transactional(
        self, *, max_attempts: Optional[int] = None, **options: "Unpack[CommitOptions]"
    ) -> Callable[[F], F]: ...

    def transactional(self, function: Optional[Callable[..., Any]] = None, **options: Any) -> Any:
        """Decorates a function so that each call of it runs as `transact` does."""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def transactional(*arguments: Any, **keywords: Any) -> Any:
                return self.transact(functools.partial(function, *arguments, **keywords), **options)

            return transactional

        return decorate if function is None else decorate(function)

    @takes(transaction_options)
    def submit(
        self,
        fn: Callable[[], T],
        *,
        max_attempts: Optional[int] = None,
        trees: "Sequence[Transactable]" = (),
        **options: "Unpack[TransactionOptions]",
    ) -> "CommitFuture[T]":
        """Runs the function now, on this thread, submits its commit, and returns without waiting for it.

        The future is completed with the function's value once the commit is stored; `future.receipt` is the
        receipt. After a conflict the function runs again on the store's worker thread, at most `max_attempts`
        times (100) in all. An exception of its first run is raised here, that of a later one by the future.
        With an idempotency key that was used, the future is completed with None: see `transact`.
        The objects of `trees` are told of the commit on the store's event thread, just before the future is
        completed; until then BusyError tells who would change the trees.
        Not allowed inside a transaction of the store. Other options: see `begin`.
        """
        self._handle.check_process()
        if open_transaction(self) is not None:
            raise errors.InvalidStateError("Nothing is submitted inside a transaction; use transact there.")
        given = transaction_options(**options)
        return _transact.SubmittedFunction(self, fn, given, max_attempts, trees).submit()

    # --- Operations ------------------------------------------------------------------------------

    @takes(transaction_options)
    def sequence(
        self,
        *operations: "Operation[Any]",
        max_attempts: Optional[int] = None,
        **options: "Unpack[TransactionOptions]",
    ) -> "Operation[Any]":
        """Several operations of this store's repositories as one: a transaction in a single call, all of it
        or nothing, run again after a conflict. Its result is the list of theirs; None when the idempotency
        key was used before. Options: see `transact`."""
        given = {**transaction_options(**options), "max_attempts": max_attempts}
        return Operation(self, sequence_of(self, operations, given))

    @takes(transaction_options)
    def operation(
        self,
        fn: Callable[[], T],
        *,
        max_attempts: Optional[int] = None,
        **options: "Unpack[TransactionOptions]",
    ) -> "Operation[T]":
        """A function as an operation that runs it in a transaction each time. Options: see `transact`."""
        return operation(self, fn, max_attempts=max_attempts, **options)

    # --- State -----------------------------------------------------------------------------------

    def set_clock(self, clock: Optional[Clock]) -> None:
        """Replaces the clock by which cached entities expire, for tests; None for the system's.

        It answers seconds that never go back, as `time.monotonic` does. It is called on any thread, also
        while something is stored, and must not call the store. What it raises is logged, and lets nothing
        expire. Empties the cache.
        """
        set_clock(self, clock)

    # --- For the package -------------------------------------------------------------------------

    def _read_keys(self) -> None:
        self._keys.update((it["name"], it["key"]) for it in self.describe()["repositories"])

    def _outer(self, options: Mapping[str, Any]) -> Optional[Transaction]:
        outer = open_transaction(self)
        if outer is not None and "idempotency_key" in options:
            raise errors.InvalidStateError("An idempotency key belongs to the outermost transaction.")
        return outer

    def _blocking_of(self, transaction: Any) -> Any:
        """A current transaction, in the form that is not awaited."""
        if transaction is None or isinstance(transaction, Transaction):
            return transaction
        return Transaction(self, transaction.pointer, owned=False, form_of=transaction)

    def _submit(self, submission: Submission) -> None:
        self._handle.check_process()
        self._events.submit(submission)

    def _run_later(self, future: "CommitFuture[Any]", work: Callable[[], None]) -> None:
        self._events.run_later(future, work)


def _close_all() -> None:
    for reference in _open_stores.remove_all():
        store = reference()
        if store is not None:
            with suppress(errors.Error):
                store.close(LIMITS.exit_wait / 1000)


def _forget_all() -> None:
    _open_stores.renew()
    _open_stores.remove_all()


# Before the interpreter ends: the event threads must have left Python by then. A forked child closes nothing.
atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)
