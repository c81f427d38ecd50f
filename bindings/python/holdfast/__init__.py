"""Holdfast: an embeddable transactional repository.

    with holdfast.open("music.db") as store:
        songs = store.repository("songs")
        with store.transaction():
            songs.add({"id": "s1", "plays": 1})
            songs.patch("s1", {"plays": 2})

Calls inside `store.transaction()` are stored together or not at all; any other call is a transaction of its
own. `store.transact(fn)` runs a function again when it lost a race, `store.submit(fn)` returns a future,
`songs.deferred.add(...)` an operation that is run later. `holdfast.aio` is the same for asyncio.

This page has everything, and is long: ask for one thing, as `help(holdfast.open)`, for the options of a
store; `help(holdfast.Store.transact)`; `help(holdfast.Repository.find)`; `help(holdfast.ConflictError)`.

Ctrl-C, and whatever else the handler of a signal raises, is raised at once by the call that the main thread
is in, whether that works, waits or is calling a function of yours; handlers that raise nothing let it go on.
The exception may have an `outcome`: None where the call has stored nothing, else a future that has ended,
with what the call would have answered, or with the error that it has ended with (an import that was cut
short has stored a part). Without this attribute it tells nothing, for it came just before or behind the
library's part of the call: whether that has stored anything is to be looked up, or left to an idempotency
key.

Every failure is an `Error` whose class names the status. The logger "holdfast" hears of exceptions that no
caller gets, and, as "holdfast.library", what the library has to say, such as slow commits and recoveries; the
attribute `holdfast` of such a record is what it speaks of, as holdfast/log.h says. A program that had loaded
the library before, as one in C that runs Python, keeps that log for its own callback.
"""

from . import _interpreter  # noqa: F401  first: the modules below cannot even be loaded there

# isort: split
from . import _log as _log
from . import _public
from ._common import *  # noqa: F403
from .controller import Controller as Controller
from .cursor import Cursor as Cursor
from .deferred import DeferredRepository as DeferredRepository
from .events import CommitFuture as CommitFuture
from .events import OperationFuture as OperationFuture
from .maintenance import Maintenance as Maintenance
from .maintenance import restore as restore
from .mapping import RepositoryMapping as RepositoryMapping
from .operation import Operation as Operation
from .operation import Subscription as Subscription
from .operation import operation as operation
from .preferences import Preferences as Preferences
from .provider import open_provider as open_provider
from .redux import PersistenceMiddleware as PersistenceMiddleware
from .repository import Repository as Repository
from .store import Store as Store
from .store import open as open
from .stream import ChangeStream as ChangeStream
from .stream import LiveAggregation as LiveAggregation
from .stream import LiveQuery as LiveQuery
from .stream import Stream as Stream
from .transaction import Transaction as Transaction
from .version import __version__ as __version__
from .waiting import await_result as await_result

# No assignment: checkers of types would take that for all that is public, and cannot read it.
vars()["__all__"] = _public.names_of(vars())
