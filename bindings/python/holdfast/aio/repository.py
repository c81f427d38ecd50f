"""Repository: a named collection of entities in a store, awaited."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar, Union

from .. import repository as blocking
from .._codec import Codec
from .._handles import OfOneProcess
from .._options import takes
from .._query import Damaged, ExplainOptions, Filter, FirstOptions, Parameters, QueryOptions, query_options
from ..cache import Cache, cache_options
from ..deferred import DeferredRepository, ModifyResult
from ._events import Closing, started
from .operation import Operation
from .stream import RepositoryStreams

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .. import cursor
    from .store import Store

T = TypeVar("T")

Id = Union[str, int]
EntityLike = Any
Update = Union[Mapping[str, Any], bytes]


class Repository(OfOneProcess, RepositoryStreams[T]):
    """A named collection of entities of one class: a `holdfast.Repository` whose calls are awaited.

    Parameters, results and errors are those of the methods of the same names there. Calls join the store's
    current transaction.
    """

    def __init__(
        self,
        store: "Store",
        name: str,
        cls: Optional[type[T]],
        key: Optional[str],
        cache: Optional[Cache] = None,
    ) -> None:
        #: The repository's name.
        self.name = name
        self._store = store
        self._key = key
        self._cache = cache
        self._codec: Codec[T] = Codec(cls, key or store._keys.get(name, "id"), name)
        #: The same calls, each as an `Operation` that does nothing until it is run.
        self.deferred: DeferredRepository[T] = DeferredRepository(
            lambda description: Operation(store, description), name, self._codec, key, cache_options(cache)
        )

    def __repr__(self) -> str:
        return f"<holdfast.aio.Repository {self.name!r} of {self._store!r}>"

    @property
    def store(self) -> "Store":
        """The store that it belongs to."""
        return self._store

    @property
    def key(self) -> str:
        """The member that holds an entity's id."""
        return self._codec.key

    # --- Writing ---------------------------------------------------------------------------------

    async def add(self, entity: EntityLike) -> T:
        """Stores a new entity and answers it, with the id that it was given if it had none."""
        return await self.deferred.add(entity)

    async def update(self, entity: EntityLike, expected_version: int = 0) -> T:
        """Replaces an existing entity and answers it."""
        return await self.deferred.update(entity, expected_version)

    async def save(self, entity: EntityLike) -> T:
        """Stores an entity, new or not, and answers it."""
        return await self.deferred.save(entity)

    async def patch(self, id: Id, changes: Update, expected_version: int = 0) -> T:
        """Changes some members of an entity by a merge patch and answers the whole."""
        return await self.deferred.patch(id, changes, expected_version)

    async def modify(
        self, id: Id, update: Update, expected_version: int = 0, *, initial: Optional[EntityLike] = None
    ) -> T:
        """Changes an entity by an update in MongoDB's operators and answers the whole."""
        return await self.deferred.modify(id, update, expected_version, initial=initial)

    async def delete(self, id: Id, expected_version: int = 0, missing_ok: bool = False) -> None:
        """Deletes an entity."""
        await self.deferred.delete(id, expected_version, missing_ok)

    async def add_many(self, entities: Iterable[EntityLike]) -> list[T]:
        """Stores new entities, all or none, and answers them."""
        return await self.deferred.add_many(entities)

    async def update_many(self, entities: Iterable[EntityLike]) -> list[T]:
        """Replaces existing entities, all or none, and answers them."""
        return await self.deferred.update_many(entities)

    async def save_many(self, entities: Iterable[EntityLike]) -> list[T]:
        """Stores entities, new or not, all or none, and answers them."""
        return await self.deferred.save_many(entities)

    async def patch_many(self, patches: Iterable[Mapping[str, Any]]) -> list[T]:
        """Applies merge patches, each with the id under the repository's key; answers the whole entities."""
        return await self.deferred.patch_many(patches)

    async def delete_many(self, ids: Iterable[Id]) -> None:
        """Deletes entities, all or none."""
        await self.deferred.delete_many(ids)

    async def modify_all(
        self, filter: Filter, update: Update, *, parameters: Parameters = None
    ) -> ModifyResult:
        """Applies an update to every entity that matches the filter, or to none."""
        return await self.deferred.modify_all(filter, update, parameters=parameters)

    async def delete_all(self, filter: Filter = None, *, parameters: Parameters = None) -> int:
        """Deletes every entity that matches the filter and answers how many."""
        return await self.deferred.delete_all(filter, parameters=parameters)

    # --- Reading ---------------------------------------------------------------------------------

    async def fetch(self, id: Id, default: Any = None) -> Optional[T]:
        """The entity of this id, or `default` where there is none."""
        return await self.deferred.fetch(id, default)

    async def fetch_bytes(self, id: Id) -> Optional[bytes]:
        """The bytes of an entity as they were stored, or None where there is none."""
        return await self.deferred.fetch_bytes(id)

    async def fetch_versioned(self, id: Id) -> Optional[tuple[T, int]]:
        """An entity and its version, to be given as `expected_version`; None where there is none."""
        return await self.deferred.fetch_versioned(id)

    async def fetch_many(self, ids: Iterable[Id]) -> list[T]:
        """The entities of these ids, in the order given; ids without an entity are left out."""
        return await self.deferred.fetch_many(ids)

    async def fetch_all(self) -> list[T]:
        """Every entity, ordered by the bytes of the ids."""
        return await self.deferred.fetch_all()

    async def ids(self) -> list[str]:
        """The ids of all entities, ordered by their bytes."""
        return await self.deferred.ids()

    async def contains(self, id: Id) -> bool:
        """Whether there is an entity of this id."""
        return await self.deferred.contains(id)

    @takes(query_options)
    async def find(self, filter: Filter = None, **options: "Unpack[QueryOptions]") -> list[Any]:
        """The entities that match a filter: a dict or an expression of `F`."""
        return await self.deferred.find(filter, **options)

    @takes(query_options, without=("limit",))
    async def first(self, filter: Filter = None, **options: "Unpack[FirstOptions]") -> Optional[Any]:
        """The first entity that `find` would answer, or None."""
        return await self.deferred.first(filter, **options)

    async def count(
        self, filter: Filter = None, *, parameters: Parameters = None, damaged: Damaged = "refuse"
    ) -> int:
        """How many entities match the filter."""
        return await self.deferred.count(filter, parameters=parameters, damaged=damaged)

    async def exists(
        self, filter: Filter = None, *, parameters: Parameters = None, damaged: Damaged = "refuse"
    ) -> bool:
        """Whether any entity matches the filter."""
        return await self.deferred.exists(filter, parameters=parameters, damaged=damaged)

    async def distinct(
        self, path: str, filter: Filter = None, *, parameters: Parameters = None, damaged: Damaged = "refuse"
    ) -> list[Any]:
        """The distinct values that a path leads to in the entities that match."""
        return await self.deferred.distinct(path, filter, parameters=parameters, damaged=damaged)

    @takes(query_options)
    def iterate(self, filter: Filter = None, **options: "Unpack[QueryOptions]") -> "Cursor[Any]":
        """What `find` would answer, read in pieces: `async for song in songs.iterate(...)`."""
        return Cursor(lambda: self._in_thread(lambda songs: songs.iterate(filter, **options)), self._store)

    def __aiter__(self) -> AsyncIterator[T]:
        return self.iterate()

    async def set_validator(self, validator: Any) -> None:
        """Has what is about to be stored here checked: see `holdfast.Repository.set_validator`. It is called
        on the library's thread for operations, and of a transaction on the loop's."""
        await self._in_thread(lambda songs: songs.set_validator(validator))

    # --- Indexes: each of these calls has a thread while it lasts ---------------------------------

    async def create_index(
        self,
        fields: Union[str, Mapping[str, int], Iterable[str]],
        *,
        unique: bool = False,
        expire_after: Optional[float] = None,
        name: Optional[str] = None,
    ) -> None:
        """Creates an index, and returns when queries use it; reading and writing go on meanwhile."""
        await self._in_thread(
            lambda songs: songs.create_index(fields, unique=unique, expire_after=expire_after, name=name)
        )

    async def drop_index(self, name: str) -> None:
        """Takes an index away."""
        await self._in_thread(lambda songs: songs.drop_index(name))

    async def indexes(self) -> list[dict[str, Any]]:
        """The indexes, ordered by name."""
        return await self._in_thread(lambda songs: songs.indexes())

    async def verify(self) -> dict[str, Any]:
        """Holds the indexes against the entities."""
        return await self._in_thread(lambda songs: songs.verify())

    @takes(query_options, without=("fields",))
    async def explain(self, filter: Filter = None, **options: "Unpack[ExplainOptions]") -> dict[str, Any]:
        """How `find` carries the query out."""
        return await self._in_thread(lambda songs: songs.explain(filter, **options))

    # --- The cache -------------------------------------------------------------------------------

    async def invalidate_cache(self, id: Optional[Id] = None) -> None:
        """Drops what is cached of one entity, or of all."""
        await self._in_thread(lambda songs: songs.invalidate_cache(id))

    async def trim_cache(self, level: str) -> None:
        """Drops half of what is cached at "warning", and all at "critical"."""
        await self._in_thread(lambda songs: songs.trim_cache(level))

    async def cache_statistics(self) -> dict[str, Any]:
        """What the cache has done for the repository."""
        return await self._in_thread(lambda songs: songs.cache_statistics())

    async def _in_thread(self, function: Callable[["blocking.Repository[T]"], Any]) -> Any:
        return await self._store._in_thread(lambda: function(self._open()))

    def _open(self) -> "blocking.Repository[T]":
        """The repository for calls on threads of their own."""
        store, cls = self._store._blocking, self._codec.cls
        return blocking.Repository(store, self.name, cls=cls, key=self._key, cache=self._cache)


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
            return await self._store._in_thread(self._cursor._rest)
        except Exception as error:
            return [], error
