"""Tree: the host's own objects, which change together or not at all, alone or with what a store stores."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

from . import errors
from ._callbacks import answer
from ._handles import call
from ._library import lib
from ._members import DESCRIPTOR_BYTES, Raised, call_members, descriptor_of, member_of, receivers
from ._plain import done

#: The descriptor that stands for whichever transaction is active.
ANY_TRANSACTION = bytes(DESCRIPTOR_BYTES)


class Transactable:
    """An object that takes part in transactions. Subclass it, and override what it is to be called for.

        with chart.transaction():            # of the objects alone
        with store.transaction(chart):       # together with what is stored

    Objects form trees: `attach` makes one the last child of another; whichever of them is named, a
    transaction concerns the whole tree. `on_begin` and `on_validate_commit` are called for parents before
    their children, `on_commit` and `on_rollback` for children first, siblings in the order in which they were
    attached. The tree does not keep its objects alive: one that is garbage is not called any more.
    """

    __slots__ = ()

    # --- To be overridden ------------------------------------------------------------------------

    def on_begin(self, transaction: bytes) -> None:
        """A transaction begins, whose descriptor is given. What is raised here ends it."""

    def on_validate_commit(self) -> None:
        """May refuse the commit, by raising: whoever commits gets that very exception. Calls on repositories
        are a part of the store's transaction."""

    def on_commit(self, transaction: bytes) -> None:
        """The transaction is committed. What is raised here cannot undo that: it goes to
        `sys.unraisablehook` and, of a store's commit, into the receipt's `secondary`."""

    def on_rollback(self, transaction: bytes) -> None:
        """The transaction is rolled back. What is raised here goes to `sys.unraisablehook`."""

    # A class that has `on_savepoint(number)` and `on_rollback_to(number)` is called for those too. Where one
    # in a tree has them not, a savepoint of its transaction raises UnsupportedError.

    # --- Trees -----------------------------------------------------------------------------------

    def attach(self, parent: "Transactable") -> None:
        """Makes this, with its sub-nodes, the last child of a parent, wherever it was before; it joins the
        transaction that the parent is in. Raises CycleError, TransactionActiveError, BusyError."""
        raised = Raised()
        try:
            call_members(
                lib.hf_participant_attach, member_of(self).pointer, member_of(parent).pointer, raised=raised
            )
        except KeyboardInterrupt as interrupt:
            raised.begin = interrupt
        if raised.begin is not None:
            self.detach()
            raise raised.begin

    def detach(self) -> None:
        """Makes this, with its sub-nodes, a tree of its own. They leave the transaction they are in."""
        call(lib.hf_participant_detach, member_of(self).pointer)

    # --- Transactions of the tree alone ----------------------------------------------------------

    @property
    def active_transaction(self) -> Optional[bytes]:
        """The descriptor of the transaction that this is in, its tree's or a store's; None without one."""
        descriptor = descriptor_of(member_of(self))
        return None if descriptor == ANY_TRANSACTION else descriptor

    @property
    def transaction_is_active(self) -> bool:
        """Whether this is in a transaction."""
        return self.active_transaction is not None

    def begin_transaction(self) -> bytes:
        """Begins a transaction of the tree and answers its descriptor. Raises TransactionActiveError."""
        descriptor = (ctypes.c_uint8 * DESCRIPTOR_BYTES)()
        raised = Raised()
        try:
            call_members(lib.hf_participant_begin, member_of(self).pointer, descriptor, raised=raised)
            begun = bytes(descriptor)
        except KeyboardInterrupt as interrupt:
            raised.begin = interrupt
        if raised.begin is not None:
            with errors.secondary_to(raised.begin):
                self.rollback_transaction(bytes(descriptor))
            raise raised.begin
        return begun

    def commit_transaction(self, transaction: bytes = ANY_TRANSACTION) -> None:
        """Validates and commits the tree's transaction. When a validator refuses, its exception is raised,
        and the transaction stays open, to be repaired and committed again. Raises WrongDescriptorError,
        TransactionNotActiveError."""
        call_members(lib.hf_participant_commit, member_of(self).pointer, _native(transaction))

    def rollback_transaction(self, transaction: bytes = ANY_TRANSACTION) -> None:
        """Rolls the tree's transaction back."""
        call_members(lib.hf_participant_rollback, member_of(self).pointer, _native(transaction))

    @contextmanager
    def transaction(self) -> Iterator[bytes]:
        """A transaction of the tree for the block: commits at its end; when the block or a validator raises,
        it rolls back and the exception goes on its way.

        Where the tree is in a transaction already, a store's too, the block joins that, as a part that goes
        back by itself: nobody is begun, validated, committed or rolled back; when it raises, objects with
        savepoints go back to how they were before it, and so does what it wrote in the store. Where an object
        has none, the transaction around can only roll back then, and its commit raises UnsupportedError."""
        outer = self.active_transaction
        if outer is not None:
            with self._part(outer):
                yield outer
            return
        descriptor = self.begin_transaction()
        try:
            yield descriptor
            # The block may have ended it itself.
            if self.active_transaction == descriptor:
                self.commit_transaction(descriptor)
        except BaseException as error:
            if self.active_transaction == descriptor:
                with errors.secondary_to(error):
                    self.rollback_transaction(descriptor)
            raise

    @contextmanager
    def _part(self, descriptor: bytes) -> Iterator[None]:
        store = receivers.get(descriptor)
        if store is not None:
            with store._part():
                yield
            return
        pointer = member_of(self).pointer
        number = ctypes.c_uint64()
        call_members(lib.hf_participant_begin_scope, pointer, ctypes.byref(number))
        try:
            yield
        except BaseException as error:
            with errors.secondary_to(error):
                call_members(lib.hf_participant_end_scope, pointer, number, False)
            raise
        call_members(lib.hf_participant_end_scope, pointer, number, True)

    @contextmanager
    def savepoint(self) -> Iterator[int]:
        """Inside the tree's transaction: what the block changed is taken back when it raises. Raises
        UnsupportedError where a member cannot do that."""
        savepoint = ctypes.c_uint64()
        pointer = member_of(self).pointer
        call_members(lib.hf_participant_savepoint, pointer, None, ctypes.byref(savepoint))
        try:
            yield savepoint.value
        except BaseException as error:
            with errors.secondary_to(error):
                call_members(lib.hf_participant_rollback_to, pointer, None, savepoint.value)
            raise

    # --- Called by the library -------------------------------------------------------------------

    # What may be done twice stands before `answer`: see `_callbacks.native`.

    def _transaction_began(self, transaction: bytes) -> None:
        answer(0)
        done(self.on_begin(transaction), "on_begin")

    def _transaction_validates(self) -> None:
        done(self.on_validate_commit(), "on_validate_commit")

    def _transaction_committed(self, transaction: bytes) -> None:
        answer(0)
        done(self.on_commit(transaction), "on_commit")

    def _transaction_rolled_back(self, transaction: bytes) -> None:
        answer(0)
        done(self.on_rollback(transaction), "on_rollback")

    def _savepoint_made(self, savepoint: int) -> None:
        answer(0)
        done(self.on_savepoint(savepoint), "on_savepoint")  # type: ignore[attr-defined]

    def _rolled_back_to(self, savepoint: int) -> None:
        answer(0)
        done(self.on_rollback_to(savepoint), "on_rollback_to")  # type: ignore[attr-defined]


def _native(descriptor: bytes) -> "ctypes.Array[ctypes.c_uint8]":
    if len(descriptor) != DESCRIPTOR_BYTES:
        raise errors.InvalidArgumentError(
            f"A descriptor has {DESCRIPTOR_BYTES} bytes, not {len(descriptor)}."
        )
    return (ctypes.c_uint8 * DESCRIPTOR_BYTES).from_buffer_copy(descriptor)
