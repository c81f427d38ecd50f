"""Zope's transactions: a store's work as a part of those of the package `transaction`, such as pyramid_tm's.

with transaction.manager:
    holdfast.zope.join(store)
    songs.add({"id": "s1"})
    mailer.send(...)  # another data manager: both or neither
"""

import logging
from typing import TYPE_CHECKING, Any, Optional

from . import errors
from .store import Store
from .transaction import Transaction

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import TransactionOptions

_log = logging.getLogger("holdfast")


def join(
    store: Store,
    manager: Any = None,
    *,
    name: Optional[str] = None,
    **options: "Unpack[TransactionOptions]",
) -> Transaction:
    """Has a store take part in the manager's current transaction, `transaction.manager`'s by default, and
    answers its own, which ends with that.

    From then on what this thread, or task, calls on the store's repositories belongs to it, until it ends.
    Joining again answers the same. Options: see `Store.begin`.

    A store commits in a single step. It does so as the last one that is asked for its vote, so that a
    conflict, and whatever else keeps it from being stored, ends the transaction for all; two stores in one
    transaction, or another data manager of that kind, are not stored both or neither. A conflict is one of
    those errors after which `manager.attempts()` and `manager.run()` try again. A savepoint that is rolled
    back takes what was written since, and never what was read.

    Raises InvalidStateError inside a transaction of the store that was not begun here, and TypeError for a
    store of `holdfast.aio`, whose `blocking` can be joined: nobody would await its commit.
    """
    if not isinstance(store, Store):
        raise TypeError(f"What joins is a holdfast.Store, as a face's `blocking` is one, not {store!r}.")
    if manager is None:
        import transaction

        manager = transaction.manager
    outer = manager.get()
    try:
        joined: DataManager = outer.data(store)
        if joined.is_open:
            return joined.transaction
    except KeyError:
        pass
    if store.current_transaction is not None:
        raise errors.InvalidStateError(
            "The store is in a transaction of its own here; join before, or behind it."
        )
    joined = DataManager(store.begin(name=name, **options), manager, f"{store!r}")
    try:
        outer.join(joined)
        outer.set_data(store, joined)
    except BaseException:
        joined.abort(outer)
        raise
    return joined.transaction


class DataManager:
    """A store's part in a transaction; what `transaction.interfaces.IDataManager` describes, with savepoints
    and `should_retry`. Made by `join`."""

    def __init__(self, transaction: Transaction, manager: Any, title: str) -> None:
        #: The manager whose transaction it has joined.
        self.transaction_manager = manager
        #: The store's own.
        self.transaction = transaction
        #: Whether it takes part: it was neither stored nor rolled back.
        self.is_open = True
        self._title = title
        transaction._enter(is_block=False)

    def abort(self, transaction: Any) -> None:
        """Forgets what was done. May be called again."""
        if self._leaves():
            self.transaction.rollback()

    def tpc_begin(self, transaction: Any) -> None:
        """Does nothing: the vote stores."""

    def commit(self, transaction: Any) -> None:
        """Asks the validators of object trees, while the others can still hear of it in time."""
        self.transaction.validate()

    def tpc_vote(self, transaction: Any) -> None:
        """Stores. Whatever keeps it from that is the vote."""
        try:
            self.transaction.commit()
        finally:
            # Also where Ctrl-C came behind that.
            if self.transaction.receipt_text:
                self._leaves()

    def tpc_finish(self, transaction: Any) -> None:
        """Does nothing: the vote has stored."""

    def tpc_abort(self, transaction: Any) -> None:
        """As `abort`. What was stored stays: somebody failed behind the last vote."""
        if self.is_open:
            self.abort(transaction)
        elif self.transaction.receipt is not None:
            _log.error("%s has stored its part of a transaction that failed later", self._title)

    def sortKey(self) -> str:
        """Behind all others, which can still be taken back when this is stored."""
        return f"~holdfast:{self._title}"

    def savepoint(self) -> "Savepoint":
        """Marks a place to which the transaction's writes can be rolled back."""
        return Savepoint(self.transaction, self.transaction.savepoint())

    def should_retry(self, error: BaseException) -> bool:
        """Whether running the same work again may succeed, as after a conflict."""
        return isinstance(error, errors.Error) and error.retryable

    def _leaves(self) -> bool:
        was_open, self.is_open = self.is_open, False
        if was_open:
            self.transaction._leave()
        return was_open


class Savepoint:
    """A place in a store's transaction: what `transaction.interfaces.IDataManagerSavepoint` describes."""

    def __init__(self, transaction: Transaction, number: int) -> None:
        self._transaction = transaction
        self._number = number

    def rollback(self) -> None:
        """Discards what was written after it."""
        self._transaction.rollback_to(self._number)
