"""Holdfast: an embeddable transactional repository.

    with holdfast.open("music.db") as store:
        songs = store.repository("songs")
        with store.transaction():
            songs.add({"id": "s1", "plays": 1})
            songs.patch("s1", {"plays": 2})

Calls inside `store.transaction()` are stored together or not at all; any other call is a transaction of its
own. `store.transact(fn)` runs a function again when it lost a race, `store.submit(fn)` returns a future,
`songs.deferred.add(...)` an operation that is run later. `holdfast.aio` is the same for asyncio.

Ctrl-C, and whatever else the handler of a signal raises, is raised at once by the call that the main thread
is in, whether that works, waits or is calling a function of yours; handlers that raise nothing let it go on.
The exception may have an `outcome`: None where the call has stored nothing, else a future that has ended,
with what the call would have answered, or with the error that it has ended with (an import that was cut
short has stored a part). Without this attribute it tells nothing, for it came just before or behind the
library's part of the call: whether that has stored anything is to be looked up, or left to an idempotency
key.

Every failure is an `Error` whose class names the status.
"""

from . import _interpreter  # noqa: F401  first: the modules below cannot even be loaded there
from .cache import CachePolicy
from .changes import ChangeBatch, CommittedChanges, EntityChange
from .controller import Controller, reduce
from .cursor import Cursor
from .deferred import DeferredRepository, ModifyResult
from .difference import Difference, Moved, Placed, Removed, Snapshot, apply_difference
from .errors import (
    BusyError,
    CancelledError,
    CannotOpenError,
    ClosedError,
    CommitState,
    ConflictError,
    CorruptError,
    CursorLostError,
    CycleError,
    Error,
    ExistsError,
    ForkedError,
    FormatTooNewError,
    FullError,
    HostError,
    InternalError,
    InvalidArgumentError,
    InvalidEntityError,
    InvalidHandleError,
    InvalidIdError,
    InvalidJsonError,
    InvalidNameError,
    InvalidOptionError,
    InvalidQueryError,
    InvalidStateError,
    InvalidUrlError,
    IOError,
    KeyReusedError,
    NoMemoryError,
    NotAStoreError,
    NotFoundError,
    ReadOnlyError,
    ReentrantError,
    RefusedError,
    SchemaTooNewError,
    TimeoutError,
    TransactionActiveError,
    TransactionNotActiveError,
    UniqueViolationError,
    UnsafeLocationError,
    UnsupportedError,
    VersionMismatchError,
    VersionUnsupportedError,
    WouldDeadlockError,
    WrongDescriptorError,
)
from .events import CommitFuture, OperationFuture
from .expressions import Expression, F, Field
from .maintenance import Maintenance, restore
from .mapping import RepositoryMapping
from .model import Model
from .operation import Operation, Subscription, operation
from .preferences import Preference, Preferences
from .provider import ProviderWrite, StorageProvider, open_provider
from .receipt import Change, Receipt
from .redux import PersistenceMiddleware
from .repository import Repository
from .store import Store, handle_count, open
from .stream import ChangeStream, LiveQuery, Stream
from .transaction import Transaction, TransactionState
from .tree import ANY_TRANSACTION, Transactable
from .version import feature_available, version_text
from .waiting import await_result

__all__ = [
    "ANY_TRANSACTION",
    "BusyError",
    "CachePolicy",
    "CancelledError",
    "CannotOpenError",
    "Change",
    "ChangeBatch",
    "ChangeStream",
    "ClosedError",
    "CommitFuture",
    "CommitState",
    "CommittedChanges",
    "ConflictError",
    "Controller",
    "CorruptError",
    "Cursor",
    "CursorLostError",
    "CycleError",
    "DeferredRepository",
    "Difference",
    "EntityChange",
    "Error",
    "ExistsError",
    "Expression",
    "F",
    "Field",
    "ForkedError",
    "FormatTooNewError",
    "FullError",
    "HostError",
    "IOError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidEntityError",
    "InvalidHandleError",
    "InvalidIdError",
    "InvalidJsonError",
    "InvalidNameError",
    "InvalidOptionError",
    "InvalidQueryError",
    "InvalidStateError",
    "InvalidUrlError",
    "KeyReusedError",
    "LiveQuery",
    "Maintenance",
    "Model",
    "ModifyResult",
    "Moved",
    "NoMemoryError",
    "NotAStoreError",
    "NotFoundError",
    "Operation",
    "OperationFuture",
    "PersistenceMiddleware",
    "Placed",
    "Preference",
    "Preferences",
    "ProviderWrite",
    "ReadOnlyError",
    "Receipt",
    "ReentrantError",
    "RefusedError",
    "Removed",
    "Repository",
    "RepositoryMapping",
    "SchemaTooNewError",
    "Snapshot",
    "StorageProvider",
    "Store",
    "Stream",
    "Subscription",
    "TimeoutError",
    "Transactable",
    "Transaction",
    "TransactionActiveError",
    "TransactionNotActiveError",
    "TransactionState",
    "UniqueViolationError",
    "UnsafeLocationError",
    "UnsupportedError",
    "VersionMismatchError",
    "VersionUnsupportedError",
    "WouldDeadlockError",
    "WrongDescriptorError",
    "apply_difference",
    "await_result",
    "feature_available",
    "handle_count",
    "open",
    "open_provider",
    "operation",
    "reduce",
    "restore",
    "version_text",
]
