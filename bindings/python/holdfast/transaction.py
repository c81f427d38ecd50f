"""Transaction: one unit of work over a store. All of it is stored, or nothing.

The current transaction of a store is a context variable: calls on its repositories join it.
"""

import asyncio
import ctypes
import enum
import inspect
import sys
import threading
import types
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Optional, TypeVar

from . import errors
from ._callbacks import scopes
from ._codec import options_of
from ._handles import Handle, OfOneProcess, call, native_buffer, text_of
from ._library import lib
from ._members import Raised, call_members, enlist
from ._types import hf_transaction, hf_transaction_state
from .events import CommitFuture, Submission
from .receipt import Receipt

if TYPE_CHECKING:
    from .store import Store
    from .tree import Transactable

H = TypeVar("H", bound="TransactionHandle")


class TransactionState(enum.IntEnum):
    """Where a transaction stands."""

    OPEN = 1
    COMMITTING = 2
    COMMITTED = 3
    ROLLED_BACK = 4
    FAILED = 5


#: The number of a scope that is all of its transaction, and no part of it.
NO_SCOPE = 2**64 - 1


class _Scope:
    """One of the current transactions: there may be one for each of several stores.

    A context variable that a generator sets is its caller's too. So what was entered in a generator counts
    while that runs, and not where it waits at a `yield`. That of a function decorated with
    `contextlib.contextmanager` is no such generator: it enters for the block that it manages.
    """

    __slots__ = ("_transaction", "around", "generator", "is_over", "joiner", "number", "store", "task")

    # A context that nobody clears may keep this for ever, so it keeps little alive: of the store its token.

    def __init__(
        self, store: "Store", transaction: Any, number: int = NO_SCOPE, *, is_block: bool = True
    ) -> None:
        self.store = store._open
        #: Who has entered it where that is no block's, which ends where it has begun.
        self.joiner = None if is_block else _here()
        # Ctrl-C may arrive where a block was entered and its end is not yet sure. Then the transaction goes,
        # and this with it.
        self._transaction = weakref.ref(transaction)
        self.number = number
        self.is_over = False
        #: The frame of the generator in which it was entered, and the task where it is an asynchronous one.
        self.generator: Optional[types.FrameType] = _generator_around(sys._getframe(1))
        #: The innermost of generators that ran then, if one did.
        self.around = _running(self.store)
        self.task: Any = None
        if self.generator is not None and self.generator.f_code.co_flags & inspect.CO_ASYNC_GENERATOR:
            self.task = _current_task()

    @property
    def transaction(self) -> Any:
        """The transaction, while somebody has it."""
        return self._transaction()

    @property
    def counts(self) -> bool:
        """Whether this is to be joined here. Raises InvalidStateError in a task, or a thread, that was begun
        in the block and goes on behind it: that must not store by itself what was to be stored together."""
        generator = self.generator
        if not self.is_over:
            if self.transaction is None:
                return False
            # A generator's frame is called from somewhere exactly while it runs.
            if generator is None or generator.f_back is not None:
                return True
            return self.task is not None and _current_task() is not self.task
        if self.has_left or _is_callback_of_a_loop():
            return False
        raise errors.InvalidStateError(
            "The transaction in whose block this was begun has ended. Await what is begun there before its "
            "end, or do this in a transaction of its own."
        )

    @property
    def has_left(self) -> bool:
        """Whether it was entered here, without a block, and has ended elsewhere: it is noted here yet."""
        return self.is_over and self.joiner == _here()

    def begin(self) -> "_Scope":
        """The block is entered."""
        try:
            if self.generator is not None:
                of_generators[self.generator] = (self, *of_generators.get(self.generator, ()))
            scopes.set((self, *(it for it in scopes.get() if not it.has_left)))
        except BaseException:  # such as Ctrl-C
            self.end()
            raise
        return self

    def end(self) -> None:
        """The block is left, whichever others were entered and left since: this counts no more, also where a
        copy of its context is kept. May be called again, as it must be where Ctrl-C has kept it from that."""
        self.is_over = True
        if self.generator is not None:
            self.store = 0  # nobody's
            left = tuple(scope for scope in of_generators.get(self.generator, ()) if scope is not self)
            if left:
                of_generators[self.generator] = left
            else:
                of_generators.pop(self.generator, None)
        self.generator = self.task = self.around = None
        scopes.set(tuple(scope for scope in scopes.get() if scope is not self))


#: What was entered in generators, by their frames, the innermost first. A generator may run on in another
#: thread or task than it began in, whose context knows nothing of it. Without a lock: each access is atomic.
of_generators: dict[types.FrameType, tuple[_Scope, ...]] = {}


def _running(store: int) -> Optional[_Scope]:
    """What was entered in the innermost generator that runs here, of this store."""
    frame = sys._getframe(1) if of_generators else None
    while frame is not None:
        for scope in of_generators.get(frame, ()):
            if scope.store == store and scope.transaction is not None:
                return scope
        frame = frame.f_back
    return None


def _generator_around(frame: Optional[types.FrameType]) -> Optional[types.FrameType]:
    """The frame of the generator that the block stands in, if it stands in one."""
    while frame is not None:
        if _is_between(frame):
            frame = frame.f_back
        elif not frame.f_code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
            return None
        elif frame.f_back is not None and frame.f_back.f_globals.get("__name__") == "contextlib":
            frame = frame.f_back
        else:
            return frame
    return None


def _is_between(frame: types.FrameType) -> bool:
    """Whether a frame is this package's, or Python's own between it and the block."""
    module = frame.f_globals.get("__name__", "")
    return module == "contextlib" or module.partition(".")[0] == __package__


def _current_task() -> Any:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return None


def _here() -> tuple[int, int]:
    """Which thread, and which task, calls."""
    return threading.get_ident(), id(_current_task())


def _is_callback_of_a_loop() -> bool:
    """Whether a loop is just calling a function that is no task: it may have been handed over long ago."""
    try:
        return asyncio.current_task() is None
    except RuntimeError:
        return False


#: Nearly every call finds none, so that is asked before anything else.
current_scopes = scopes.get


def _current(store: "Store") -> Optional[_Scope]:
    running = _running(store._open)
    for scope in scopes.get():
        # What was entered while the generator that runs here did not is its caller's.
        if scope is running:
            break
        is_hidden = running is not None and scope.around is not running
        if scope.store == store._open and not is_hidden and scope.counts:
            return scope
    return running


def current_transaction(store: "Store") -> Any:
    """The transaction that calls on this store's repositories join here, or None."""
    scope = _current(store)
    return scope and scope.transaction


def open_transaction(store: "Store") -> Any:
    """As `current_transaction`, for what has a transaction of its own where that has ended."""
    try:
        return current_transaction(store)
    except errors.InvalidStateError:
        return None


def current_pointer(store: "Store") -> Any:
    """The native handle of the current transaction; None stands for a transaction of the call's own."""
    if not current_scopes() and not of_generators:
        return None
    scope = _current(store)
    if scope is None:
        return None
    scope.transaction._note_part(scope.number)
    return scope.transaction.pointer


def outside_transactions() -> Context:
    """A copy of the context in which no transaction is current."""
    context = copy_context()
    context.run(scopes.set, ())
    return context


class TransactionHandle(OfOneProcess):
    """What a transaction is, whoever waits for its commit."""

    #: Options that it is begun with, unless others are given, by their names in the library.
    _begun_with: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self,
        store: "Store",
        pointer: Any,
        *,
        owned: bool = True,
        form_of: "Optional[TransactionHandle]" = None,
    ) -> None:
        self._store = store
        # The one that is awaited, of which this is the blocking form: its block must know what became of it.
        self._form_of = form_of
        self._handle = Handle(pointer, lib.hf_transaction_free) if owned else None
        self._entered: list[_Scope] = []
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

    def _title(self) -> str:
        state = "committed" if self.receipt_text else "ended" if self._settled else "open"
        return f"{state} of {self._store._url!r}"

    @property
    def state(self) -> TransactionState:
        """Where the transaction stands."""
        state = hf_transaction_state()
        call(lib.hf_transaction_get_state, self.pointer, ctypes.byref(state))
        return TransactionState(state.value)

    def may_be_answered(self, options: Mapping[str, Any]) -> bool:
        """Whether what a block has failed with may be what the same request has stored: it has a key, and the
        program has not handed over by itself what the block wrote."""
        if "idempotency_key" not in options:
            return False
        try:
            return self.state not in (TransactionState.COMMITTING, TransactionState.COMMITTED)
        except errors.Error:  # in a forked child
            return False

    @property
    def receipt(self) -> Optional[Receipt]:
        """What the commit answered; None before, and when it failed."""
        if self._receipt is None and self.receipt_text:
            self._receipt = Receipt.from_json(self.receipt_text, self.secondary)
        return self._receipt

    def enlist(self, *trees: "Transactable") -> None:
        """Takes object trees into the transaction and begins their objects; one that is in it already stays.
        Raises TransactionActiveError when a tree is in another transaction, and what an `on_begin` raises."""
        enlist(self._form_of or self, trees)

    def validate(self) -> None:
        """Asks all objects' `on_validate_commit`, as the commit will do again. The transaction stays open."""
        call_members(lib.hf_transaction_validate, self.pointer, raised=Raised(self))

    def validating(self, pointer: Any) -> Any:
        """Makes a transaction that validators were handed the current one within the block."""
        return TransactionHandle(self._store, pointer, owned=False).joined()

    @contextmanager
    def settling(self) -> Iterator[None]:
        """For what ends the transaction; when a validator refuses, it stays open."""
        self._settle(True)
        try:
            yield
        except BaseException as error:
            with errors.secondary_to(error):
                self._settle(self.state is not TransactionState.OPEN)
            raise

    def _settle(self, is_settled: bool) -> None:
        self._settled = is_settled
        if self._form_of is not None:
            self._form_of._settled = is_settled

    @contextmanager
    def _unless_failed(self) -> Iterator[None]:
        """For rolling back: what has failed already is as it should be, and the failure is what counts."""
        try:
            yield
        except errors.InvalidStateError:
            if self.state is not TransactionState.FAILED:
                raise

    @contextmanager
    def joined(self) -> "Iterator[TransactionHandle]":
        """Makes this the current transaction within the block, and leaves it open at the end. In a generator
        it is so while that runs."""
        with self._inside(NO_SCOPE):
            yield self

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
        scope = _Scope(self._store, self, number).begin()
        try:
            yield
        finally:
            try:
                scope.end()
            except BaseException:  # such as Ctrl-C
                scope.end()
                raise

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

    def _enter(self, *, is_block: bool = True) -> None:
        self._entered.append(_Scope(self._store, self, is_block=is_block).begin())

    def _leave(self) -> None:
        scope = self._entered.pop()
        try:
            scope.end()
        except BaseException:  # such as Ctrl-C
            scope.end()
            raise


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

            def receipt() -> Receipt:
                self.receipt_text = text_of(buffer)
                self._receipt = Receipt.from_json(self.receipt_text, self.secondary)
                if self._form_of is not None:
                    self._form_of.receipt_text = self.receipt_text
                return self._receipt

            call_members(
                lib.hf_transaction_commit, self.pointer, reference, raised=Raised(self), stored=receipt
            )
            return receipt()

    def submit(self) -> "CommitFuture[Receipt]":
        """Hands the commit over and returns; the future is completed with the receipt."""
        future: CommitFuture[Receipt] = CommitFuture(self._form_of or self)
        with self.settling():
            self._store._submit(Submission(future, lambda _: future.receipt))
        return future

    def rollback(self) -> None:
        """Discards the transaction. Rolling back one that was rolled back, or whose commit has failed, does
        nothing."""
        with self.settling(), self._unless_failed():
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

    def __exit__(self, kind: Any, error: Optional[BaseException], traceback: Any) -> None:
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


def begun(kind: Callable[[Any, Any], H], store: Any, options: Mapping[str, Any]) -> H:
    """A transaction of a store, with options by their names in the library."""
    pointer = ctypes.POINTER(hf_transaction)()
    transaction = kind(store, pointer)
    given = options_of({**transaction._begun_with, **options})
    call(lib.hf_transaction_begin, store.pointer, given, ctypes.byref(pointer))
    return transaction


def savepoint_of(pointer: Any) -> int:
    """Marks a place in a transaction, and answers its number."""
    savepoint = ctypes.c_uint64()
    call_members(lib.hf_transaction_savepoint, pointer, ctypes.byref(savepoint))
    return savepoint.value
