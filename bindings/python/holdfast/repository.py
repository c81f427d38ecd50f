"""Repository: a named collection of entities in a store."""

import ctypes
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, Union

from . import errors
from ._callbacks import Callbacks, index_progress
from ._codec import Codec, dump, id_of, ids_of, load, native_text, options_of, plain_id
from ._handles import Handle, OfOneProcess, Result, call, load_list, native_buffer, native_list, text_of
from ._interrupts import kept, raise_kept, untold
from ._library import lib, without_signature
from ._queries import Queries
from ._query import Filter, Parameters, filter_arguments, query_options
from ._signatures import HF_NOT_FOUND, HF_OK, hf_index_progress, hf_repository
from ._validators import set_validator
from .cache import Cache, cache_options, trim_level
from .deferred import DeferredRepository, ModifyResult, payload
from .mapping import RepositoryMapping
from .operation import Operation
from .stream import RepositoryStreams
from .transaction import current_pointer, current_scopes, current_transaction, of_generators

if TYPE_CHECKING:
    from .store import Store

T = TypeVar("T")

Id = Union[str, int]
#: What is taken for an entity: one of the repository's class, a dict, or JSON in bytes.
EntityLike = Any
#: A dict of MongoDB's update operators, or JSON in bytes: see `Repository.modify`.
Update = Union[Mapping[str, Any], bytes]

_fetch = without_signature("hf_repository_fetch")
_idle_results, _LARGEST_KEPT = Result.idle, Result.LARGEST_KEPT


class Repository(OfOneProcess, Queries[T], RepositoryStreams[T]):
    """A named collection of entities of one class.

    Calls join the store's current transaction; without one, each reads the newest committed state, and each
    write is a transaction of its own, stored when the call returns. `len`, `in`, `[]` go by ids; iterating
    gives the entities, ordered by the bytes of their ids. An id is text or an integer; 42 and "42" name one.
    """

    def __init__(
        self,
        store: "Store",
        name: str,
        *,
        cls: Optional[type[T]] = None,
        key: Optional[str] = None,
        create: bool = True,
        cache: Optional[Cache] = None,
    ) -> None:
        pointer = ctypes.POINTER(hf_repository)()
        options = options_of({"key": key, "create": None if create else False, "cache": cache_options(cache)})
        #: The repository's name.
        self.name = name
        self._store = store
        if cls is not None:
            # A class that will not do is refused before there is a repository with another key than its.
            Codec(cls, self._stored_key() if key is None else key)
        #: The native handle.
        self.pointer = pointer
        self._handle = Handle(pointer, lib.hf_repository_free)
        arguments = (store.pointer, native_text(name), options, ctypes.byref(pointer))
        # Nobody tells whether it was there before.
        call(lib.hf_repository_open, *arguments, stored=untold)
        self._codec: Codec[T] = Codec(cls, self._stored_key() if key is None else key, name)

    def __repr__(self) -> str:
        return f"<holdfast.Repository {self.name!r} of {self._store!r}>"

    @property
    def store(self) -> "Store":
        """The store that it belongs to."""
        return self._store

    @property
    def key(self) -> str:
        """The member that holds an entity's id."""
        return self._codec.key

    @property
    def deferred(self) -> "DeferredRepository[T]":
        """The same calls, each as an `Operation` that does nothing until it is run."""
        return DeferredRepository(lambda it: Operation(self._store, it), self.name, self._codec)

    # --- Writing one -----------------------------------------------------------------------------

    def add(self, entity: EntityLike) -> T:
        """Stores a new entity and answers it; without an id, a copy with the id that it was given (UUIDv7).

        Raises ExistsError when the id is taken.
        """
        return self._write(lib.hf_repository_add, entity)

    def update(self, entity: EntityLike, expected_version: int = 0) -> T:
        """Replaces an existing entity and answers it. `expected_version` 0 means any.

        Raises NotFoundError, or VersionMismatchError with "expected" and "actual" in its detail.
        """
        return self._write(lib.hf_repository_update, entity, expected_version)

    def save(self, entity: EntityLike) -> T:
        """Stores an entity, new or not, and answers it; without an id, a copy with the id that it was given.

        Reads nothing, so a transaction that only saves never conflicts.
        """
        return self._write(lib.hf_repository_save, entity)

    def patch(self, id: Id, changes: Union[Mapping[str, Any], bytes], expected_version: int = 0) -> T:
        """Changes some members of an entity by a JSON merge patch (RFC 7396) and answers the whole.

        Members of `changes` replace, None removes, nested dicts merge. Raises NotFoundError,
        VersionMismatchError.
        """
        return self._write_one(lib.hf_repository_patch, id, *_payload(changes), expected_version)

    def modify(
        self, id: Id, update: Update, expected_version: int = 0, *, initial: Optional[EntityLike] = None
    ) -> T:
        """Changes an entity by an update in MongoDB's operators and answers the whole.

        For example `songs.modify("s1", {"$inc": {"plays": 1}, "$push": {"album.tracks": "Gloria"}})`. The
        operators are $set, $unset, $inc, $mul, $min, $max, $push (with $each, $position, $slice), $pull (with
        a value or a filter), $addToSet (with $each) and $rename, each with a dict from dotted paths to
        operands. What no path names stays as it is. Outside a transaction an update is worked out on the
        newest state, so that many may count in one entity: none is lost, none conflicts.

        Where there is no such entity it begins with `initial`, if that is given, which needs no id; with an
        `expected_version` other than 0 it does not. Raises NotFoundError, VersionMismatchError,
        InvalidQueryError for an update that fits no entity, and InvalidEntityError for one that does not fit
        this one, both with "path" and "operator" in their detail.
        """
        begin: tuple[Optional[bytes], int] = (None, 0)
        if initial is not None:
            begin = _counted(dump({self.key: plain_id(id), **self._codec.members(initial)}))
        return self._write_one(lib.hf_repository_modify, id, *_payload(update), *begin, expected_version)

    def delete(self, id: Id, expected_version: int = 0, missing_ok: bool = False) -> None:
        """Deletes an entity. Raises NotFoundError unless `missing_ok`, VersionMismatchError."""
        if missing_ok and current_transaction(self._store) is not None:
            # In a single call, so that a transaction that aborts on errors meets none.
            self.deferred.delete(id, expected_version, missing_ok).perform()
            return
        text = id_of(id)
        accepted = HF_NOT_FOUND if missing_ok else HF_OK
        arguments = (text, len(text), expected_version)
        self._call(lib.hf_repository_delete, *arguments, stored=nothing, accepted=accepted)

    # --- Writing many: each call is atomic, and its errors say at which index --------------------

    def add_many(self, entities: Iterable[EntityLike]) -> list[T]:
        """Stores new entities and answers them, in the order given. Raises ExistsError."""
        return self._write_many(lib.hf_repository_add_many, entities)

    def update_many(self, entities: Iterable[EntityLike]) -> list[T]:
        """Replaces existing entities, of any version, and answers them. Raises NotFoundError."""
        return self._write_many(lib.hf_repository_update_many, entities)

    def save_many(self, entities: Iterable[EntityLike]) -> list[T]:
        """Stores entities, new or not, and answers them; of an id given twice the last stays."""
        return self._write_many(lib.hf_repository_save_many, entities)

    def patch_many(self, patches: Iterable[Mapping[str, Any]]) -> list[T]:
        """Applies merge patches, each with the id under the repository's key; answers the whole entities."""
        text = dump([dict(patch) for patch in patches])
        return self._read_many(lib.hf_repository_patch_many, text, len(text), is_written=True)

    def delete_many(self, ids: Iterable[Id]) -> None:
        """Deletes entities of any version. Raises NotFoundError, and deletes none, when one is missing."""
        text, length = _counted(dump(ids_of(ids)))
        self._call(lib.hf_repository_delete_many, text, length, stored=nothing)

    def modify_all(self, filter: Filter, update: Update, *, parameters: Parameters = None) -> ModifyResult:
        """Applies an update (see `modify`) to every entity that matches the filter (see `find`), or to none.

        Answers how many matched, and how many of them it changed; the others are not written.
        """
        matched, modified = ctypes.c_uint64(), ctypes.c_uint64()
        self._call(
            lib.hf_repository_modify_all,
            *filter_arguments(filter),
            *_payload(update),
            query_options(parameters=parameters),
            ctypes.byref(matched),
            ctypes.byref(modified),
            stored=lambda: ModifyResult(matched.value, modified.value),
        )
        return ModifyResult(matched.value, modified.value)

    def delete_all(self, filter: Filter = None, *, parameters: Parameters = None) -> int:
        """Deletes every entity that matches the filter (see `find`) and answers how many."""
        deleted = ctypes.c_uint64()
        arguments = (*filter_arguments(filter), query_options(parameters=parameters), ctypes.byref(deleted))
        self._call(lib.hf_repository_delete_all, *arguments, stored=lambda: deleted.value)
        return deleted.value

    # --- Reading ---------------------------------------------------------------------------------

    def fetch(self, id: Id, default: Any = None) -> Optional[T]:
        """The entity of this id, or `default` where there is none."""
        text = self.fetch_bytes(id)
        return default if text is None else self._codec.decode(text)

    def fetch_bytes(self, id: Id) -> Optional[bytes]:
        """The bytes of an entity as they were stored, or None where there is none."""
        # The hottest path of the package. What other methods leave to helpers is spelt out here, because each
        # call in Python takes as long as a part of the work.
        text = id.encode() if type(id) is str else id_of(id)
        length = len(text)
        fetch = _fetch if length < 1 << 31 else lib.hf_repository_fetch
        try:
            result = _idle_results.pop()
        except IndexError:
            result = Result()
        status = fetch(
            self.pointer,
            current_pointer(self._store) if current_scopes() or of_generators else None,
            text,
            length,
            result.entity_reference,
            result.error_reference,
        )
        if status:
            if status != HF_NOT_FOUND:
                result.check(status)
            _idle_results.append(result)
            if kept:
                raise_kept()
            return None
        if kept:
            raise_kept()
        length = result.entity.length
        fetched = result.text[:length]
        if length <= _LARGEST_KEPT:
            _idle_results.append(result)
        return fetched

    def fetch_versioned(self, id: Id) -> Optional[tuple[T, int]]:
        """An entity and its version, to be given as `expected_version`; None where there is none.

        The version is 0 for what the current transaction itself wrote.
        """
        text = id_of(id)
        result = Result.take()
        try:
            arguments = (text, len(text), result.entity_reference)
            if not self._call(lib.hf_repository_fetch, *arguments, accepted=HF_NOT_FOUND):
                return None
            return self._codec.decode(result.bytes()), result.entity.version
        finally:
            result.put_back()

    def fetch_many(self, ids: Iterable[Id]) -> list[T]:
        """The entities of these ids, in the order given; ids without an entity are left out."""
        return self._read_many(lib.hf_repository_fetch_many, *_counted(dump(ids_of(ids))))

    def fetch_all(self) -> list[T]:
        """Every entity, ordered by the bytes of the ids."""
        return self._read_many(lib.hf_repository_fetch_all)

    def contains(self, id: Id) -> bool:
        """Whether there is an entity of this id."""
        text = id_of(id)
        contains = ctypes.c_bool()
        self._call(lib.hf_repository_contains, text, len(text), ctypes.byref(contains))
        return contains.value

    # --- Checking --------------------------------------------------------------------------------

    def set_validator(self, validator: Any) -> None:
        """Has what is about to be stored here checked: `songs.set_validator(Song)`.

        A pydantic model, or another class with `model_validate`; an object with `validate`, such as
        `jsonschema.Draft202012Validator(schema)`; or a function that is called with the id and the entity as
        a dict, or None where it is to be deleted. What it raises refuses the commit, and is raised by that.
        None takes the validator away.

        It sees each entity that a transaction has written as it is in the end, on the thread that commits
        (for an operation in the background, on the library's), and only what is written through this store.
        Calls on repositories within are a part of the transaction. What is stored already is not checked.
        """
        set_validator(self._store, self.pointer, validator)

    # --- Indexes ---------------------------------------------------------------------------------

    def create_index(
        self,
        fields: Union[str, Mapping[str, int], Iterable[str]],
        *,
        unique: bool = False,
        expire_after: Optional[float] = None,
        name: Optional[str] = None,
        progress: Optional[Callable[[int], object]] = None,
    ) -> None:
        """Creates an index, and returns when queries use it; reading and writing go on meanwhile.

        `fields` is a path, several, or a mapping of paths to 1 (ascending) or -1 (descending). The name is by
        default the paths, descending ones with a hyphen before them, joined by underscores. An equal index of
        this name is left as it is. `progress` is called on this thread with the number of entities looked at
        so far; an exception of its ends the call, and the index is not created.

        With `expire_after`, in seconds, entities are deleted so long after the time that stands under the one
        path, in milliseconds since 1970. Those without a number there stay.

        Raises UniqueViolationError when two entities have the same values in a `unique` one, ExistsError when
        there is an index of this name over something else.
        """
        if isinstance(fields, str):
            fields = {fields: 1}
        elif not isinstance(fields, Mapping):
            fields = dict.fromkeys(fields, 1)
        options = options_of(
            {
                "fields": dict(fields),
                "unique": unique or None,
                "expire_after_ms": None if expire_after is None else math.ceil(expire_after * 1000),
                "name": name,
            }
        )

        with Callbacks(progress).calling() as token:
            function = hf_index_progress() if progress is None else index_progress
            call(lib.hf_repository_create_index, self.pointer, options, function, token, stored=nothing)

    def drop_index(self, name: str) -> None:
        """Takes an index away. Raises NotFoundError."""
        call(lib.hf_repository_drop_index, self.pointer, native_text(name), stored=nothing)

    def indexes(self) -> list[dict[str, Any]]:
        """The indexes, ordered by name: "name", "fields", "unique", "state", "arrays"; and "outdated" where
        one was created by an older version: drop it and create it again."""
        return self._report(lib.hf_repository_indexes)

    def verify(self) -> dict[str, Any]:
        """Looks at every entity, and holds the indexes against them: "ok" (nothing is wrong), "name",
        "entities" (how many there are), "damaged" (how many of them no read hands out) and "damaged_ids" (at
        most a hundred of those), "failure" (why not all could be looked at, where that is so), and for each
        of "indexes" its "name", "entries", "wrong" and "missing" ones. What is damaged can be saved anew or
        deleted; dropping an index and creating it again mends that."""
        return self._report(lib.hf_repository_verify)

    def _report(self, function: Callable[..., int]) -> Any:
        with native_buffer() as buffer:
            call(function, self.pointer, ctypes.byref(buffer))
            return load(text_of(buffer))

    # --- The cache -------------------------------------------------------------------------------

    def invalidate_cache(self, id: Optional[Id] = None) -> None:
        """Drops what is cached of one entity, or of all, never what is stored: the next read asks the
        storage."""
        text = None if id is None else id_of(id)
        call(lib.hf_repository_invalidate_cache, self.pointer, text, 0 if text is None else len(text))

    def trim_cache(self, level: str) -> None:
        """Drops half of what is cached of the repository, at least one entity, at "warning", and all at
        "critical"."""
        call(lib.hf_repository_trim_cache, self.pointer, trim_level(level))

    def cache_statistics(self) -> dict[str, Any]:
        """What the cache has done for the repository since the store was opened: "hits", "misses", "fills",
        "evictions", "expirations", "invalidations", "entries", "bytes", "policy". See holdfast/cache.h."""
        return self._report(lib.hf_repository_cache_statistics)

    # --- As a container --------------------------------------------------------------------------

    def __getitem__(self, id: Id) -> T:
        """The entity of this id. Raises NotFoundError, which is a KeyError."""
        text = self.fetch_bytes(id)
        if text is None:
            raise errors.NotFoundError(f'There is no entity "{id}" in the repository "{self.name}".')
        return self._codec.decode(text)

    def __setitem__(self, id: Id, entity: EntityLike) -> None:
        """Saves an entity under this id, which it may leave out but not contradict."""
        members = self._codec.members(entity)
        own = members.get(self.key, id)
        if id_of(own) != id_of(id):
            raise errors.InvalidIdError(f'The entity has the id "{own}" and cannot be saved as "{id}".')
        self.save({self.key: own, **members})

    def __delitem__(self, id: Id) -> None:
        """Deletes the entity of this id. Raises NotFoundError, which is a KeyError."""
        self.delete(id)

    def __contains__(self, id: object) -> bool:
        return self.contains(id)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.count()

    def __iter__(self) -> Iterator[T]:
        return iter(self.fetch_all())

    def as_mapping(self) -> "RepositoryMapping[T]":
        """The repository as a MutableMapping from ids, as text, to entities."""
        return RepositoryMapping(self)

    def ids(self) -> list[str]:
        """The ids of all entities, ordered by their bytes."""
        return self._ids()

    def _ids(self, limit: Optional[int] = None) -> list[str]:
        with native_list() as entities:
            self._find(entities, None, limit=limit, fields=[self.key])
            return [
                ctypes.string_at(view.id, view.id_length).decode()
                for view in (entities.items[index] for index in range(entities.count))
            ]

    # --- Calling the library ---------------------------------------------------------------------

    def _call(
        self,
        function: Callable[..., int],
        *arguments: Any,
        stored: Optional[Callable[[], Any]] = None,
        accepted: int = HF_OK,
    ) -> bool:
        transaction = current_pointer(self._store)
        stored = None if transaction else stored
        return call(function, self.pointer, transaction, *arguments, stored=stored, accepted=accepted)

    def _write(self, function: Callable[..., int], entity: EntityLike, *expected_version: int) -> T:
        text = self._codec.encode(entity)
        given = entity if self._codec.is_complete(entity) else None
        return self._write_text(function, text, *expected_version, given=given)

    def _write_one(self, function: Callable[..., int], id: Id, *arguments: Any) -> T:
        return self._write_text(function, id_of(id), *arguments)

    def _write_text(
        self, function: Callable[..., int], text: bytes, *arguments: Any, given: Optional[T] = None
    ) -> T:
        """Answers the entity that is stored, which may be the one that was given."""
        result = Result.take()
        transaction = current_pointer(self._store)
        entity = result.entity_reference if given is None else None

        def written() -> T:
            return self._written(result.bytes()) if given is None else given

        try:
            status = function(
                self.pointer, transaction, text, len(text), *arguments, entity, result.error_reference
            )
            result.check(status, None if transaction else written)
            return written()
        finally:
            result.put_back()

    def _written(self, text: bytes) -> T:
        read = self._codec.from_members if current_pointer(self._store) else self._codec.from_written
        return read(load(text))

    def _write_many(self, function: Callable[..., int], entities: Iterable[EntityLike]) -> list[T]:
        given = list(entities)
        text, complete = self._codec.encode_many(given)
        if complete:
            self._call(function, text, len(text), None, stored=lambda: given)
            return given
        return self._read_many(function, text, len(text), is_written=True)

    def _read_many(self, function: Callable[..., int], *arguments: Any, is_written: bool = False) -> list[T]:
        with native_list() as entities:
            if not is_written or current_pointer(self._store):
                self._call(function, *arguments, ctypes.byref(entities))
                return self._codec.from_list(load_list(entities))

            def written() -> list[T]:
                return self._codec.list_from_written(load_list(entities))

            self._call(function, *arguments, ctypes.byref(entities), stored=written)
            return written()

    def _stored_key(self) -> str:
        for repository in self._store.describe()["repositories"]:
            if repository["name"] == self.name:
                return repository["key"]
        return "id"


def nothing() -> None:
    """What a deletion answers."""


def _counted(text: bytes) -> tuple[bytes, int]:
    return text, len(text)


def _payload(changes: Union[Mapping[str, Any], bytes]) -> tuple[bytes, int]:
    return _counted(payload(changes))
