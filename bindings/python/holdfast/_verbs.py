"""Verbs: the calls of a repository, each written once for all doors: see `_doors`."""

import ctypes
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Callable, Generic, NamedTuple, Optional, TypeVar, Union

from ._answers import Answer, Counts, Entities, Entity, EntityText, Json, Number, Views
from ._codec import Codec, Id, as_dict, as_list, dump, id_of, ids_of, native_text, plain_id
from ._doors import selecting, verb
from ._json import dump_update
from ._options import takes
from ._query import Damaged, Filter, Parameters, filter_text, no_filter, query_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._query import FirstOptions, FirstParts, QueryOptions, QueryParts

T = TypeVar("T")
#: What a filter may be.
W = TypeVar("W")

#: What is taken for an entity: one of the repository's class, a dict, or JSON in bytes.
EntityLike = Any
#: A dict of MongoDB's update operators, or JSON in bytes: see `Repository.modify`.
Update = Union[Mapping[str, Any], bytes]


class ModifyResult(NamedTuple):
    """What `modify_all` did."""

    #: How many entities match the filter.
    matched: int
    #: How many of them the update changed.
    modified: int


class RepositoryVerbs(Generic[T, W]):
    """What is read and written by a repository's calls, whoever waits for them."""

    _codec: Codec[T]
    _store: Any

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...

    def _title(self) -> str:
        return f"{self.name!r} of {self._store!r}"

    @property
    def key(self) -> str:
        """The member that holds an entity's id."""
        return self._codec.key

    # --- Writing one -----------------------------------------------------------------------------

    @verb
    def add(self, entity: EntityLike) -> T:
        """Stores a new entity and answers it; without an id, a copy with the id that it was given (UUIDv7).

        Raises ExistsError when the id is taken.
        """
        return self._write("add", entity)

    @verb
    def update(self, entity: EntityLike, expected_version: int = 0) -> T:
        """Replaces an existing entity and answers it. `expected_version` 0 means any.

        Raises NotFoundError, or VersionMismatchError with "expected" and "actual" in its detail.
        """
        return self._write("update", entity, expected_version=expected_version)

    @verb
    def save(self, entity: EntityLike) -> T:
        """Stores an entity, new or not, and answers it; without an id, a copy with the id that it was given.

        Reads nothing, so a transaction that only saves never conflicts.
        """
        return self._write("save", entity)

    @verb
    def patch(self, id: Id, changes: Union[Mapping[str, Any], bytes], expected_version: int = 0) -> T:
        """Changes some members of an entity by a JSON merge patch (RFC 7396) and answers the whole.

        Members of `changes` replace, None removes, nested dicts merge. Raises NotFoundError,
        VersionMismatchError.
        """
        arguments = {"id": id_of(id), "patch": _text_by(dump, changes), "expected_version": expected_version}
        return self._ask("patch", self._written, **arguments)

    @verb
    def modify(
        self, id: Id, update: Update, expected_version: int = 0, *, initial: Optional[EntityLike] = None
    ) -> T:
        """Changes an entity by an update in MongoDB's operators and answers the whole.

        For example `songs.modify("s1", {"$inc": {"plays": 1}, "$push": {"album.tracks": "Gloria"}})`. The
        operators are $set, $unset, $inc, $mul, $min, $max, $push (with $each, $position, $slice), $pull (with
        a value or a filter), $addToSet (with $each) and $rename, each with a dict from dotted paths to
        operands. What no path names stays as it is. Outside a transaction an update is worked out on the
        newest state, so that many may count in one entity: none is lost, none conflicts. In a transaction
        the entity counts as read; and with a validator (`set_validator`) it is in one, which is run again
        after a conflict as by `transact`, and in the end raises ConflictError.

        Where there is no such entity it begins with `initial`, if that is given, which needs no id; with an
        `expected_version` other than 0 it does not. Raises NotFoundError, VersionMismatchError,
        InvalidQueryError for an update that fits no entity, and InvalidEntityError for one that does not fit
        this one, both with "path" and "operator" in their detail.
        """
        begin = None
        if initial is not None:
            begin = dump({self.key: plain_id(id), **self._codec.members(initial)})
        arguments = {"id": id_of(id), "update": _text_by(dump_update, update), "initial": begin}
        return self._ask(
            "modify",
            self._written,
            **arguments,
            expected_version=expected_version,
        )

    @verb
    def delete(self, id: Id, expected_version: int = 0, missing_ok: bool = False) -> None:
        """Deletes an entity. Raises NotFoundError unless `missing_ok`, VersionMismatchError."""
        arguments = {"id": id_of(id), "expected_version": expected_version}
        if missing_ok:
            return self._ask_operation("delete", _DELETED, **arguments, missing_ok=b"true")
        return self._ask("delete", _DELETED, **arguments)

    # --- Writing many: each call is atomic, and its errors say at which index --------------------

    @verb
    def add_many(self, entities: Iterable[EntityLike]) -> list[T]:
        """Stores new entities and answers them, in the order given. Raises ExistsError."""
        return self._write_many("add_many", entities)

    @verb
    def update_many(self, entities: Iterable[EntityLike]) -> list[T]:
        """Replaces existing entities, of any version, and answers them. Raises NotFoundError."""
        return self._write_many("update_many", entities)

    @verb
    def save_many(self, entities: Iterable[EntityLike]) -> list[T]:
        """Stores entities, new or not, and answers them; of an id given twice the last stays."""
        return self._write_many("save_many", entities)

    @verb
    def patch_many(self, patches: Iterable[Mapping[str, Any]]) -> list[T]:
        """Applies merge patches, each with the id under the repository's key; answers the whole entities."""
        return self._ask("patch_many", self._written_list, patches=dump([dict(patch) for patch in patches]))

    @verb
    def delete_many(self, ids: Iterable[Id]) -> None:
        """Deletes entities of any version. Raises NotFoundError, and deletes none, when one is missing."""
        return self._ask("delete_many", _DELETED, ids=dump(ids_of(ids)))

    @verb
    def modify_all(self, filter: Filter, update: Update, *, parameters: Parameters = None) -> ModifyResult:
        """Applies an update (see `modify`) to every entity that matches the filter (see `find`), or to none.

        Answers how many matched, and how many of them it changed; the others are not written.
        """
        arguments = {"filter": filter_text(filter), "update": _text_by(dump_update, update)}
        answer = _COUNTS
        return self._ask("modify_all", answer, **arguments, options=query_options(parameters=parameters))

    @verb
    def delete_all(self, filter: Filter = None, *, parameters: Parameters = None) -> int:
        """Deletes every entity that matches the filter (see `find`) and answers how many."""
        options = query_options(parameters=parameters)
        return self._ask("delete_all", _DELETED_COUNT, filter=filter_text(filter), options=options)

    # --- Reading by ids --------------------------------------------------------------------------

    @verb
    def fetch(self, id: Id, default: Any = None) -> Optional[T]:
        """The entity of this id, or `default` where there is none."""
        return self._fetch(id, default)

    def _get_or(self, id: Id, default: T) -> T:
        raise NotImplementedError

    @selecting(_get_or)
    def get(self, id: Id, default: None = None) -> Optional[T]:
        """The entity of this id, or `default` where there is none; as `fetch`, in the words of a mapping."""
        return self._fetch(id, default)

    @verb
    def fetch_bytes(self, id: Id) -> Optional[bytes]:
        """The bytes of an entity as they were stored, or None where there is none."""
        return self._ask("fetch", _BYTES, id=id_of(id))

    @verb
    def fetch_versioned(self, id: Id) -> Optional[tuple[T, int]]:
        """An entity and its version, to be given as `expected_version`; None where there is none.

        The version is 0 for what the current transaction itself wrote.
        """
        decode = self._codec.decode
        return self._ask("fetch", EntityText(lambda text, version: (decode(text), version)), id=id_of(id))

    @verb
    def fetch_many(self, ids: Iterable[Id]) -> list[T]:
        """The entities of these ids, in the order given; ids without an entity are left out."""
        return self._ask("fetch_many", self._listed, ids=dump(ids_of(ids)))

    @verb
    def fetch_all(self) -> list[T]:
        """Every entity, ordered by the bytes of the ids."""
        return self._ask("fetch_all", self._listed)

    @verb
    def contains(self, id: Id) -> bool:
        """Whether there is an entity of this id."""
        return self._ask("contains", _TRUTH, id=id_of(id))

    @verb
    def ids(self) -> list[str]:
        """The ids of all entities, ordered by their bytes."""
        return self._ids()

    # --- Reading by filters ----------------------------------------------------------------------

    def _find_parts(
        self, filter: Optional[W] = None, **options: "Unpack[QueryParts]"
    ) -> list[dict[str, Any]]:
        raise NotImplementedError

    @selecting(_find_parts)
    @takes(query_options)
    def find(self, filter: Optional[W] = None, **options: "Unpack[QueryOptions]") -> list[T]:
        """The entities that match a filter.

        A filter is a dict of conditions that must all hold, with MongoDB's meaning and operators
        ({"country": "DE"}, {"address.city": "Kassel"}, {"deleted": None} (null or missing),
        {"age": {"$gte": 18}}); or the same as an expression (`F.age >= 18`), or as JSON in bytes; or, but
        for calls that are awaited or deferred, a function that is called with each entity of the repository,
        and counts as a read of all of it. None matches everything.

        `sort` names paths, 1 ascending and -1 descending; equal entities are ordered by the bytes of their
        ids, descending where the first path is. Without it the order is that of the ids, unless an index
        serves the filter. `limit` None or 0 means no limit. With `fields`, a list of paths (or
        a dict, with 0 for those to leave out), the answers are dicts of these members and the id.
        `parameters` gives the values for each {"$param": "name"} in the filter; one that comes again with
        other values is compiled once.

        An entity that is damaged where it is stored raises CorruptError, whose detail names it; with
        `damaged="skip"` such are left out, as if they were not there. `verify` tells which they are.
        """
        answer = Entities[Any]() if options.get("fields") else self._listed
        return self._query("find", answer, filter, **options)

    def _first_parts(
        self, filter: Optional[W] = None, **options: "Unpack[FirstParts]"
    ) -> Optional[dict[str, Any]]:
        raise NotImplementedError

    @selecting(_first_parts)
    @takes(query_options, without=("limit",))
    def first(self, filter: Optional[W] = None, **options: "Unpack[FirstOptions]") -> Optional[T]:
        """The first entity that `find` would answer, or None."""
        answer = Entity[Any]() if options.get("fields") else self._found(None)
        return self._query("first", answer, filter, limit=_one(filter), **options)

    @verb
    def count(
        self, filter: Optional[W] = None, *, parameters: Parameters = None, damaged: Damaged = "refuse"
    ) -> int:
        """How many entities match the filter (see `find`)."""
        return self._query("count", _COUNT, filter, parameters=parameters, damaged=damaged)

    @verb
    def exists(
        self, filter: Optional[W] = None, *, parameters: Parameters = None, damaged: Damaged = "refuse"
    ) -> bool:
        """Whether any entity matches the filter (see `find`)."""
        options = {"parameters": parameters, "damaged": damaged}
        return self._query("exists", _TRUTH, filter, limit=_one(filter), **options)

    @verb
    def distinct(
        self, path: str, filter: Filter = None, *, parameters: Parameters = None, damaged: Damaged = "refuse"
    ) -> list[Any]:
        """The distinct values that a path leads to in the entities that match, ordered as by `sort`.

        An array gives its elements.
        """
        options = query_options(parameters=parameters, damaged=damaged)
        arguments = {"path": _path_text(path), "filter": filter_text(filter)}
        return self._ask("distinct", _JSON, **arguments, options=options)

    # --- Asking ----------------------------------------------------------------------------------

    #: Asks for what an operation of these arguments does, in the way of the class. What is given as the third
    #: is the answer, where that is known, of a call that returns when it is done.
    _ask: Callable[..., Any]

    def _ask_operation(self, *arguments: Any, **members: Any) -> Any:
        """As `_ask`, of what the library has no function for."""
        return self._ask(*arguments, **members)

    def _ask_each(self, predicate: Any, answer: Answer[Any], options: Optional[bytes]) -> Any:
        """Asks for what a function of the program's means."""
        raise no_filter(predicate)

    _written = cached_property(lambda self: Entity(self._codec.from_written, self._codec.loader, writes=True))
    _written_list = cached_property(
        lambda self: Entities(self._codec.list_from_written, self._codec.loader, writes=True)
    )
    _listed = cached_property(lambda self: Entities(self._codec.from_list, self._codec.loader))

    def _write(self, operation: str, entity: EntityLike, **arguments: Any) -> Any:
        codec = self._codec
        text = codec.encode(entity)
        given = entity if codec.is_complete(entity) else codec.fitting(text)
        return self._ask(operation, self._written, given, entity=text, **arguments)

    def _write_many(self, operation: str, entities: Iterable[EntityLike]) -> Any:
        if isinstance(entities, Mapping):
            raise TypeError("Entities are a list, not one dict: write [entity], or give the dict's values().")
        given = as_list(entities, "Entities")
        text, complete = self._codec.encode_many(given)
        if not complete and self._codec.reader is not None:
            for entity in given:
                if not self._codec.is_complete(entity):
                    self._codec.fitting(self._codec.encode(entity))
        return self._ask(operation, self._written_list, given if complete else None, entities=text)

    def _fetch(self, id: Id, default: Any) -> Any:
        return self._ask("fetch", self._found(default), id=id_of(id))

    def _found(self, default: Any) -> Entity[Any]:
        read = self._codec.from_members
        return Entity(lambda value: default if value is None else read(value), self._codec.loader)

    def _ids(self, limit: Optional[int] = None) -> Any:
        key = self.key
        answer = Views(
            lambda view: ctypes.string_at(view.id, view.id_length).decode(),
            lambda found: [str(entity[key]) for entity in found],
        )
        return self._query("find", answer, None, limit=limit, fields=[key])

    def _query(self, operation: str, answer: Answer[Any], filter: Any, **options: Any) -> Any:
        given = query_options(**options)
        if callable(filter):
            return self._ask_each(filter, answer, given)
        return self._ask(operation, answer, filter=filter_text(filter), options=given)


_DELETED = Answer[None](writes=True)
_COUNT, _DELETED_COUNT = Number(ctypes.c_uint64), Number(ctypes.c_uint64, writes=True)
_TRUTH, _COUNTS, _JSON = Number(ctypes.c_bool), Counts(ModifyResult, writes=True), Json()
_BYTES = EntityText(lambda text, _: text)


def _one(filter: Any) -> Optional[int]:
    """What limits the entities that a function of the program's is asked about."""
    return 1 if callable(filter) else None


def _text_by(dump: Callable[[Any], bytes], changes: Union[Mapping[str, Any], bytes]) -> bytes:
    """The JSON of a patch or an update, which is given as a dict or as JSON in bytes."""
    is_text = isinstance(changes, (bytes, bytearray, memoryview))
    return bytes(changes) if is_text else dump(as_dict(changes, "Changes", '{"plays": 1}'))


def _path_text(path: Any) -> bytes:
    if not isinstance(path, str):
        raise TypeError(f'A path is a text such as "album.year", not {type(path).__name__}.')
    return native_text(path)
