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

A program that has threads, too, opens its store once: `store.blocking` is for them what this package opens,
and `store.aio` for the running loop what `holdfast.open` does.

What differs from the package: transactions, savepoints and cursors are entered with `async with`; functions
handed to `transact`, `submit` and `operation` are coroutine functions; `submit` answers a task; `position`
and `schema_version` are methods; streams and controllers are opened when they are entered or first awaited,
and call functions from the loop; a filter is no function; preferences are no attributes; and a repository
has no `create`, `as_mapping`, `len`, `in` or `[]`.
"""

from .. import _public
from .._common import *  # noqa: F403
from ._events import CommitFuture as CommitFuture
from .controller import Controller as Controller
from .maintenance import Maintenance as Maintenance
from .maintenance import restore as restore
from .operation import Operation as Operation
from .operation import Subscription as Subscription
from .operation import operation as operation
from .preferences import Preferences as Preferences
from .redux import PersistenceMiddleware as PersistenceMiddleware
from .repository import Cursor as Cursor
from .repository import DeferredRepository as DeferredRepository
from .repository import Repository as Repository
from .store import Opening as Opening
from .store import Store as Store
from .store import open as open
from .store import open_provider as open_provider
from .stream import ChangeStream as ChangeStream
from .stream import LiveAggregation as LiveAggregation
from .stream import LiveQuery as LiveQuery
from .stream import Stream as Stream
from .transaction import Transaction as Transaction
from .waiting import await_result as await_result

# One class serves both here.
OperationFuture = CommitFuture

# No assignment: checkers of types would take that for all that is public, and cannot read it.
vars()["__all__"] = _public.names_of(vars())
