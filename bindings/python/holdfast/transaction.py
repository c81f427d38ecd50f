"""Transaction: one unit of work over a store. All of it is stored, or nothing.

The current transaction of a store is a context variable: calls on its repositories join it.
"""

import ctypes
import enum
import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from . import errors
from ._handles import Handle, OfOneProcess, call, native_buffer, text_of
from ._library import lib
from ._members import Raised, call_members, enlist
from ._signatures import hf_transaction_state
from .events import CommitFuture, Submission
from .receipt import Receipt

if TYPE_CHECKING:
    from .store import Store
    from .tree import Transactable


class TransactionState(enum.IntEnum):
    """Where a transaction stands."""

    OPEN = 1
    COMMITTING = 2
    COMMITTED = 3
    ROLLED_BACK = 4
    FAILED = 5


#: The number of a scope that is all of its transaction, and no part of it.
NO_SCOPE = 2**64 - 1


class _Scope(NamedTuple):
    """One entry of the current transactions: there may be one for each of several stores."""

    store: "Store"
    transaction: Any
    outer: Optional["_Scope"]
    number: int = NO_SCOPE


_scope: ContextVar[Optional[_Scope]] = ContextVar("holdfast_transaction", default=None)
#: Answers the innermost scope. Nearly every call finds none, so that is asked before anything else.
current_scope = _scope.get


def _current(store: "Store") -> Optional[_Scope]:
    scope = _scope.get()
    while scope is not None and scope.store is not store:
        scope = scope.outer
    return scope


def current_transaction(store: "Store") -> Any:
    """The transaction that calls on this store's repositories join here, or None."""
    scope = _current(store)
    return scope and scope.transaction


def current_pointer(store: "Store") -> Any:
    """The native handle of the current transaction; None stands for a transaction of the call's own."""
    if current_scope() is None:
        return None
    scope = _current(store)
    if scope is None:
        return None
    scope.transaction._note_part(scope.number)
    return scope.transaction.pointer


class TransactionHandle(OfOneProcess):
    """What a transaction is, whoever waits for its commit."""

    def __init__(self, store: "Store", pointer: Any, *, owned: bool = True) -> None:
        self._store = store
        self._handle = Handle(pointer, lib.hf_transaction_free) if owned else None
        self._entered: list[Token[Optional[_Scope]]] = []
        self._receipt: Optional[Receipt] = None
        self._settled = False
        # The parts of it that are under way.
        self._parts: list[int] = []
        #: What members of object trees raised where that could stop nothing, for the receipt.
        self.secondary: list[BaseException] = []
        #: The native handle.
        self.pointer = pointer
        #: The receipt as the library gave it, read when it is asked for.
        self.receipt_text = b""

    @property
    def state(self) -> TransactionState:
        """Where the transaction stands."""
        state = hf_transaction_state()
        call(lib.hf_transaction_get_state, self.pointer, ctypes.byref(state))
        return TransactionState(state.value)

    @property
    def receipt(self) -> Optional[Receipt]:
        """What the commit answered; None before, and when it failed."""
        if self._receipt is None and self.receipt_text:
            self._receipt = Receipt.from_json(self.receipt_text, self.secondary)
        return self._receipt

    def enlist(self, *trees: "Transactable") -> None:
        """Takes object trees into the transaction and begins their objects; one that is in it already stays.
        Raises TransactionActiveError when a tree is in another transaction, and what an `on_begin` raises."""
        enlist(self, trees)

    def validate(self) -> None:
        """Asks all objects' `on_validate_commit`, as the commit will do again. The transaction stays open."""
        call_members(lib.hf_transaction_validate, self.pointer, raised=Raised(self))

    def validating(self, pointer: Any) -> Any:
        """Makes a transaction that validators were handed the current one within the block."""
        return TransactionHandle(self._store, pointer, owned=False).joined()

    @contextmanager
    def settling(self) -> Iterator[None]:
        """For what ends the transaction; when a validator refuses, it stays open."""
        self._settled = True
        try:
            yield
        except BaseException as error:
            with errors.secondary_to(error):
                self._settled = self.state is not TransactionState.OPEN
            raise

    @contextmanager
    def joined(self) -> "Iterator[TransactionHandle]":
        """Makes this the current transaction within the block, and leaves it open at the end."""
        self._enter()
        try:
            yield self
        finally:
            self._leave()

    @contextmanager
    def _part(self) -> Iterator[None]:
        """A transaction inside this one: what the block did goes back when it raises."""
        number = self._begin_part()
        try:
            with self._inside(number):
                yield
        except BaseException as error:
            with errors.secondary_to(error):
                self._end_part(number, False)
            raise
        self._end_part(number, True)

    @contextmanager
    def _inside(self, number: int) -> Iterator[None]:
        token = _scope.set(_Scope(self._store, self, _scope.get(), number))
        try:
            yield
        finally:
            _scope.reset(token)

    def _begin_part(self) -> int:
        number = ctypes.c_uint64()
        call_members(lib.hf_transaction_begin_scope, self.pointer, self._number(), ctypes.byref(number))
        self._parts.append(number.value)
        return number.value

    def _end_part(self, number: int, succeeded: bool) -> None:
        if number in self._parts:
            self._parts.remove(number)
        call_members(lib.hf_transaction_end_scope, self.pointer, number, succeeded)

    def _number(self) -> int:
        """Which part of it the caller is in."""
        scope = _current(self._store)
        return scope.number if scope is not None and scope.transaction is self else NO_SCOPE

    def _note_part(self, number: int) -> None:
        """Before a call in this part: where another one is under way that does not lie around it, that one
        cannot go back alone."""
        if self._parts and self._parts[-1] != number:
            part = ctypes.c_uint64()
            call_members(lib.hf_transaction_begin_scope, self.pointer, number, ctypes.byref(part))
            call_members(lib.hf_transaction_end_scope, self.pointer, part.value, True)

    def _enter(self) -> None:
        self._entered.append(_scope.set(_Scope(self._store, self, _scope.get())))

    def _leave(self) -> None:
        _scope.reset(self._entered.pop())


class Transaction(TransactionHandle):
    """One unit of work, begun with `store.begin()` or `store.transaction()`.

    As a context manager it is the current transaction of the block, commits at the end, and rolls back on an
    exception; once it was committed, submitted or rolled back inside the block, the end adds nothing. It is
    bound to no thread.
    """

    def commit(self) -> Receipt:
        """Commits and waits for the outcome. Raises ConflictError when something read was changed since."""
        with native_buffer() as buffer, self.settling():
            reference = ctypes.byref(buffer)
            call_members(lib.hf_transaction_commit, self.pointer, reference, raised=Raised(self))
            self.receipt_text = text_of(buffer)
        self._receipt = Receipt.from_json(self.receipt_text, self.secondary)
        return self._receipt

    def submit(self) -> "CommitFuture[Receipt]":
        """Hands the commit over and returns; the future is completed with the receipt."""
        future: CommitFuture[Receipt] = CommitFuture(self)
        with self.settling():
            self._store._submit(Submission(future, lambda _: self.receipt))
        return future

    def rollback(self) -> None:
        """Discards the transaction. Rolling back one that was rolled back does nothing."""
        with self.settling():
            call_members(lib.hf_transaction_rollback, self.pointer)

    def savepoint(self) -> int:
        """Marks a place to which the transaction's writes can be rolled back, and answers its number."""
        return savepoint_of(self.pointer)

    def rollback_to(self, savepoint: int) -> None:
        """Discards what was written after the savepoint; what was read stays read."""
        call_members(lib.hf_transaction_rollback_to, self.pointer, savepoint)

    def release(self, savepoint: int) -> None:
        """Forgets the savepoint and those after it; what was written stays."""
        call_members(lib.hf_transaction_release, self.pointer, savepoint)

    def __enter__(self) -> "Transaction":
        self._enter()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._leave()
        try:
            if error is None and not self._settled:
                self.commit()
        except BaseException as raised:
            error = raised
            raise
        finally:
            if error is not None and not self._settled:
                with errors.secondary_to(error):
                    self.rollback()


def savepoint_of(pointer: Any) -> int:
    """Marks a place in a transaction, and answers its number."""
    savepoint = ctypes.c_uint64()
    call_members(lib.hf_transaction_savepoint, pointer, ctypes.byref(savepoint))
    return savepoint.value


def transaction_options(
    timeout: Optional[float],
    idempotency_key: Optional[str],
    isolation: Optional[str],
    durability: Optional[str],
    on_error: Optional[str],
    name: Optional[str] = None,
) -> dict[str, Any]:
    """A transaction's options by their names in the library, without those that are None."""
    options = {
        "timeout_ms": None if timeout is None else math.ceil(timeout * 1000),
        "idempotency_key": idempotency_key,
        "isolation": isolation,
        "durability": durability,
        "on_error": on_error,
        "name": name,
    }
    return {name: value for name, value in options.items() if value is not None}
