"""Repository: a named collection of entities in a store, awaited."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar, overload

from .. import errors
from .. import repository as blocking
from .._calls import member
from .._codec import Codec, dump
from .._doors import Awaited, AwaitedLater
from .._handles import OfOneProcess
from .._maintenance import RepositoryMaintenance
from .._options import takes
from .._query import Filter, query_options
from .._verbs import RepositoryVerbs
from ..aggregation import AggregateOptions, Explaining, Pipeline, aggregate_options
from ..cache import Cache, cache_options
from ..deferred import Describing
from ._events import Closing, started
from .operation import Operation
from .stream import RepositoryStreams

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .. import cursor
    from .._query import QueryOptions, QueryParts
    from .store import Store

T = TypeVar("T")
D = TypeVar("D")


class DeferredRepository(Describing, AwaitedLater, RepositoryVerbs[T, Filter]):
    """A repository whose calls do nothing yet: see `holdfast.DeferredRepository`."""


class Repository(
    OfOneProcess, Awaited, RepositoryVerbs[T, Filter], RepositoryMaintenance, RepositoryStreams[T], Explaining
):
    """A named collection of entities of one class: a `holdfast.Repository` whose calls are awaited.

    Parameters, results and errors are those of the methods of the same names there. Calls join the store's
    current transaction. About the validator, indexes and the cache each has a thread while it lasts.

    Where this process knows of no repository of the name yet, it is opened by the first call. From then on it
    is that one, whatever it is called.
    """

    def __init__(
        self,
        store: "Store",
        name: str,
        cls: Optional[type[T]],
        key: Optional[str],
        cache: Optional[Cache] = None,
    ) -> None:
        self._name = name
        self._store = store
        self._key = key
        self._cache = cache
        known = store._blocking._keys.get(name)
        self._codec: Codec[T] = Codec(cls, key or known or "id", name)
        # For calls on threads of their own, and known by to those that are none: whatever it is called.
        self._opened: Optional[blocking.Repository[T]] = None
        if known is not None:
            self._note()

    @property
    def name(self) -> str:
        """The repository's name: the present one, where it was renamed."""
        return self._name if self._opened is None else self._opened.name

    @property
    def deferred(self) -> "DeferredRepository[T]":
        """The same calls, each as an `Operation` that does nothing until it is run."""
        return DeferredRepository(lambda it: Operation(self._store, it), self)

    @property
    def store(self) -> "Store":
        """The store that it belongs to."""
        return self._store

    @overload
    def iterate(self, filter: Filter = None, **options: "Unpack[QueryOptions]") -> "Cursor[T]": ...

    @overload
    def iterate(self, filter: Filter = None, **options: "Unpack[QueryParts]") -> "Cursor[dict[str, Any]]": ...

    @takes(query_options)
    def iterate(self, filter: Filter = None, **options: Any) -> "Cursor[Any]":
        """What `find` would answer, read in pieces: `async for song in songs.iterate(...)`."""
        return Cursor(lambda: self._in_thread(lambda songs: songs.iterate(filter, **options)), self._store)

    @overload
    async def aggregate(
        self, pipeline: Pipeline, **options: "Unpack[AggregateOptions]"
    ) -> list[dict[str, Any]]: ...

    @overload
    async def aggregate(
        self, pipeline: Pipeline, *, cls: type[D], **options: "Unpack[AggregateOptions]"
    ) -> list[D]: ...

    @takes(aggregate_options)
    async def aggregate(self, pipeline: Pipeline, *, cls: Optional[type] = None, **options: Any) -> list[Any]:
        """What a pipeline makes of the entities: see `holdfast.Repository.aggregate`. A thread carries it
        out."""
        found: list[Any] = await self._in_thread(lambda it: it.aggregate(pipeline, cls=cls, **options))
        return found

    def __aiter__(self) -> AsyncIterator[T]:
        return self.iterate()

    def _ask(self, *arguments: Any, **members: Any) -> Any:
        return self.deferred._ask(*arguments, **members)

    async def _in_thread(self, function: Callable[["blocking.Repository[T]"], Any]) -> Any:
        return await self._store._in_thread(lambda _: function(self._open()))

    def _open(self) -> "blocking.Repository[T]":
        """The repository for calls on threads of their own."""
        if self._opened is None:
            store, cls = self._store._blocking, self._codec.cls
            self._opened = blocking.Repository(store, self._name, cls=cls, key=self._key, cache=self._cache)
        return self._opened

    def _described(self) -> "tuple[Optional[blocking.Repository[T]], bytes]":
        if self._opened is not None:
            return self._opened, b""
        given = {"key": self._key, "cache": cache_options(self._cache)}
        return None, dump(self._name) + b"".join(map(member, given.items()))

    def _note(self) -> None:
        """Takes hold of the repository, which this process knows by now."""
        if self._opened is None:
            with contextlib.suppress(errors.Error):  # what is wrong, calls tell
                store, codec = self._store._blocking, self._codec
                self._opened = blocking.Repository._known(store, self._name, codec, self._cache)


class Cursor(OfOneProcess, Closing, Generic[T]):
    """Iterates over what a query finds, on one snapshot, in pieces that a thread each fetches.

    Closing it, leaving its `async with` block, or coming to its end gives the snapshot back. What is raised
    ends only the wait in which it is, as `holdfast.Cursor` says.
    """

    def __init__(self, open: Callable[[], Any], store: "Store") -> None:
        self._open = open
        self._store = store
        self._cursor: Optional[cursor.Cursor[T]] = None
        # With what is raised behind it, and who has fetched it. All change at once, whatever is raised when.
        self._piece: tuple[Iterator[T], Optional[Exception], Optional[asyncio.Task[Any]]] = (
            iter(()),
            None,
            None,
        )
        # Goes on when who waits for it is cancelled, for whoever asks next.
        self._fetching: Optional[asyncio.Task[Any]] = None
        self._is_at_end = False

    def _title(self) -> str:
        return "at its end" if self._is_at_end else "open"

    async def __aenter__(self) -> "Cursor[T]":
        return self

    def __aiter__(self) -> "Cursor[T]":
        return self

    async def __anext__(self) -> T:
        while True:
            piece, error, source = self._piece
            for entity in piece:
                return entity
            if error is not None:
                self._piece = (piece, None, source)
                raise error
            if self._is_at_end:
                raise StopAsyncIteration
            if self._fetching is source:
                self._fetching = started(self._next_piece())
            fetching = self._fetching
            assert fetching is not None
            await asyncio.wait([fetching])
            # Of several that wait the first one takes it; where the cursor was closed meanwhile, nobody does.
            if self._piece[2] is not fetching and not self._is_at_end:
                entities, error = fetching.result()
                self._piece = (iter(entities), error, fetching)
                if not entities and error is None:
                    await self.close()

    async def close(self) -> None:
        """Ends the iteration and gives the snapshot back. May be called again."""
        self._is_at_end = True
        self._piece = (iter(()), None, self._piece[2])
        if self._cursor is not None:
            self._cursor.close()

    async def _next_piece(self) -> tuple[list[T], Optional[Exception]]:
        try:
            if self._cursor is None:
                cursor = await self._open()
                if self._is_at_end:
                    cursor.close()
                    return [], None
                self._cursor = cursor
            return await self._store._in_thread(lambda _, rest=self._cursor._rest: rest())
        except Exception as error:
            return [], error
