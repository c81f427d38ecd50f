"""Transaction: one unit of work, awaited."""

import asyncio
import contextlib
import ctypes
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Optional

from .. import errors
from .._codec import options_of
from .._handles import call
from .._library import lib
from .._members import call_members
from .._types import HF_OK, hf_event, hf_future, hf_transaction
from ..events import NO_CALLBACK, NO_DESTRUCTOR
from ..receipt import Receipt
from ..transaction import TransactionHandle, savepoint_of
from ._events import CommitFuture, Submission, in_thread, started, withdrawn

if TYPE_CHECKING:
    from .store import Store


class Transaction(TransactionHandle):
    """One unit of work, begun with `store.begin()` or `store.transaction()`.

    As an asynchronous context manager it is the current transaction of the block, and of tasks that are
    created in it, commits at the end, and rolls back on an exception; once it was committed, submitted or
    rolled back inside the block, the end adds nothing. Calls of several tasks take turns.
    """

    # The loop waits for a place, and its thread does not.
    _begun_with: ClassVar[Mapping[str, Any]] = {"when_full": "refuse"}

    def __init__(self, store: "Store", pointer: Any) -> None:
        super().__init__(store._blocking, pointer)
        self._events = store._events
        self._turn = asyncio.Lock()

    async def commit(self) -> Receipt:
        """Commits and waits for the outcome. Raises ConflictError when something read was changed since."""
        with self.settling():
            return await self.submit()

    def submit(self) -> "CommitFuture[Receipt]":
        """Hands the commit over and returns; the future is completed with the receipt. When a validator
        refuses, it fails with that exception, and the transaction stays open."""
        self._settled = True
        return self._events.submit(Submission(self))

    async def rollback(self) -> None:
        """Discards the transaction. Rolling back one that was rolled back, or whose commit has failed, does
        nothing."""
        with self.settling(), self._unless_failed():
            async with self._surely_its_turn():
                call_members(lib.hf_transaction_rollback, self.pointer)

    async def savepoint(self) -> int:
        """Marks a place to which the transaction's writes can be rolled back, and answers its number."""
        async with self._turn:
            return savepoint_of(self.pointer)

    async def rollback_to(self, savepoint: int) -> None:
        """Discards what was written after the savepoint; what was read stays read."""
        async with self._surely_its_turn():
            call_members(lib.hf_transaction_rollback_to, self.pointer, savepoint)

    async def release(self, savepoint: int) -> None:
        """Forgets the savepoint and those after it; what was written stays."""
        async with self._turn:
            call_members(lib.hf_transaction_release, self.pointer, savepoint)

    @contextlib.asynccontextmanager
    async def _awaited_part(self) -> AsyncIterator[None]:
        """A transaction inside this one: what the block did goes back when it raises."""
        async with self._turn:
            number = self._begin_part()
        try:
            with self._inside(number):
                yield
            await self._turn.acquire()
        except BaseException as error:  # also who is cancelled in its wait
            self._note_withdrawn(error)
            with errors.secondary_to(error):
                async with self._surely_its_turn():
                    self._end_part(number, False)
            raise
        try:
            self._end_part(number, True)
        finally:
            self._turn.release()

    @contextlib.asynccontextmanager
    async def _surely_its_turn(self) -> AsyncIterator[None]:
        """For what goes back: it does also when who waits for its turn is cancelled meanwhile: nobody else
        would see to it. The cancellation is raised behind that."""
        cancelled: Optional[asyncio.CancelledError] = None
        while True:
            try:
                await self._turn.acquire()
                break
            except asyncio.CancelledError as error:
                cancelled = error
        try:
            yield
        finally:
            self._turn.release()
        if cancelled is not None:
            raise cancelled

    async def __aenter__(self) -> "Transaction":
        self._enter()
        return self

    async def __aexit__(self, kind: Any, error: Optional[BaseException], traceback: Any) -> None:
        self._leave()
        self._note_withdrawn(error)
        try:
            if error is None and not self._settled:
                await self.commit()
        except BaseException as raised:
            error = raised
            raise
        finally:
            if error is not None and not self._settled:
                with errors.secondary_to(error):
                    await self.rollback()

    def _note_withdrawn(self, error: Optional[BaseException]) -> None:
        """Before what was done goes back."""
        if not self._settled:
            note_withdrawn(error)

    def let_go(self) -> None:
        """Frees it: it is not going to be used any more."""
        assert self._handle is not None
        self._handle.free()

    async def _run(self, submission: Submission) -> Any:
        """Runs an operation as a part of this. A cancelled one is waited for, because the next call, such as
        the rollback, would otherwise wait for it on the loop's thread."""
        async with self._turn:
            self._note_part(self._number())
            future = self._events.submit(submission)
            try:
                return await future
            except asyncio.CancelledError:
                await asyncio.wait([future.outcome] if future.outcome else [future])
                # One that is cancelled while it runs has its outcome at once, and the transaction until it is
                # through. Who asks for the state waits for that.
                await asyncio.wait([started(in_thread(lambda: self.state))])
                raise


def awaited(transaction: Any) -> Optional[Transaction]:
    """The current transaction, which what is awaited is to join. Raises InvalidStateError where its calls are
    not awaited: those that are would have the loop wait for each other."""
    if transaction is None or isinstance(transaction, Transaction):
        return transaction
    raise errors.InvalidStateError(
        "The current transaction was begun by the store's blocking face; what is awaited cannot join it. "
        "Begin it with the `transaction` of `store.aio`."
    )


def note_withdrawn(error: Optional[BaseException]) -> None:
    """Who was cancelled before anything was to be stored is told so, and not what became of the call that it
    waited for, which goes back with the rest."""
    if isinstance(error, asyncio.CancelledError):
        error.outcome = withdrawn(asyncio.get_running_loop())  # type: ignore[attr-defined]


class _Turn:
    """Hears that it is a transaction's turn to run again."""

    def __init__(self) -> None:
        self.has_come: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def hear(self, event: hf_event) -> None:
        """It has come, or never will."""
        if event.status != HF_OK:
            self.abandon(errors.from_native(event.status, event.error))
        elif not self.has_come.done():
            self.has_come.set_result(None)

    def abandon(self, error: BaseException) -> None:
        """It never will."""
        if not self.has_come.done():
            self.has_come.set_exception(error)


async def again(store: "Store", lost: Transaction, options: Mapping[str, Any]) -> Transaction:
    """The next attempt of a transaction that met a conflict, once none is running that collided at the same
    place before."""
    pointer, turn = ctypes.POINTER(hf_transaction)(), ctypes.POINTER(hf_future)()
    call(
        lib.hf_transaction_retry,
        lost.pointer,
        options_of(options),
        ctypes.byref(pointer),
        ctypes.byref(turn),
    )
    transaction, listener = Transaction(store, pointer), _Turn()
    token = store._events.register(listener)
    try:
        call(lib.hf_future_observe, turn, NO_CALLBACK, token, NO_DESTRUCTOR)
        await listener.has_come
    except BaseException:
        transaction.let_go()
        raise
    finally:
        store._events.forget(token)
        lib.hf_future_free(turn)
    return transaction


@contextlib.asynccontextmanager
async def savepoint(transaction: Optional[Transaction]) -> AsyncIterator[int]:
    """A savepoint for the block, rolled back to on an exception."""
    if transaction is None:
        raise errors.InvalidStateError("A savepoint needs a transaction; open one around it.")
    number = await transaction.savepoint()
    try:
        yield number
        # It is gone where the block has ended the transaction, or rolled it back beyond.
        with contextlib.suppress(errors.InvalidArgumentError, errors.InvalidStateError, errors.ClosedError):
            await transaction.release(number)
    except BaseException as error:
        transaction._note_withdrawn(error)
        with errors.secondary_to(error):
            await transaction.rollback_to(number)
        raise
