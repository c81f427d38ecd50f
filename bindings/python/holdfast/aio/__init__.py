"""Holdfast for asyncio: the package under the same names, its calls awaited.

    async with holdfast.aio.open("music.db") as store:
        songs = store.repository("songs")
        async with store.transaction():
            await songs.add({"id": "s1", "plays": 1})
            await songs.patch("s1", {"plays": 2})

Commits and reads come back through the running loop's `add_reader`; however many are awaited, no thread is
added. A cancelled commit is withdrawn while it is queued. Whether it was, or what became of it, is told by
the `outcome` of the `asyncio.CancelledError`, which is a future; behind `asyncio.timeout` that error is the
TimeoutError's cause.

What differs from the package: transactions, savepoints and cursors are entered with `async with`; functions
handed to `transact`, `submit` and `operation` are coroutine functions; `submit` answers a task; `position`
and `schema_version` are methods; streams and controllers are opened when they are entered or first awaited,
and call functions from the loop; a filter is no function; preferences are no attributes; and a repository
has no `create`, `as_mapping`, `len`, `in` or `[]`.
"""

import holdfast
from holdfast import *  # noqa: F403

from ._events import CommitFuture
from .controller import Controller
from .maintenance import Maintenance, restore
from .operation import Operation, Subscription, operation
from .preferences import Preferences
from .redux import PersistenceMiddleware
from .repository import Cursor, Repository
from .store import Opening, Store, open, open_provider
from .stream import ChangeStream, LiveQuery, Stream
from .transaction import Transaction
from .waiting import await_result

# One class serves both here.
OperationFuture = CommitFuture

__all__ = [
    "ChangeStream",
    "CommitFuture",
    "Controller",
    "Cursor",
    "LiveQuery",
    "Maintenance",
    "Opening",
    "Operation",
    "OperationFuture",
    "PersistenceMiddleware",
    "Preferences",
    "Repository",
    "Store",
    "Stream",
    "Subscription",
    "Transaction",
    "await_result",
    "open",
    "open_provider",
    "operation",
    "restore",
]
__all__ += [name for name in holdfast.__all__ if name not in __all__ and name != "RepositoryMapping"]
