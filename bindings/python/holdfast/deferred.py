"""Deferred: the calls of a repository, described now and run later."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, Generic, NamedTuple, Optional, TypeVar, Union

from . import errors
from ._codec import Codec, as_dict, dump, id_of, ids_of, load, plain_id
from ._options import takes
from ._query import Damaged, Filter, FirstOptions, Parameters, QueryOptions, filter_arguments, query_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .operation import Operation

T = TypeVar("T")


class ModifyResult(NamedTuple):
    """What `modify_all` did."""

    #: How many entities match the filter.
    matched: int
    #: How many of them the update changed.
    modified: int


class Description(NamedTuple):
    """What an operation does, in the library's JSON, and how its result is read."""

    text: bytes
    #: Reads the result when it is one of a sequence's, parsed.
    read: Callable[[Any], Any]
    #: Reads the result as the library gave it, with its version, where the parsed value would not do.
    read_bytes: Optional[Callable[[bytes, int], Any]] = None
    is_step: bool = True

    def result(self, text: bytes, version: int, is_part: bool = False) -> Any:
        """The result of a run, which may be a part of a transaction."""
        try:
            return self.read(load(text)) if self.read_bytes is None else self.read_bytes(text, version)
        except errors.CorruptError as error:
            if is_part:
                # What becomes of it, the transaction's end tells.
                error.commit_state = errors.CommitState.NONE
            raise


class DeferredRepository(Generic[T]):
    """A repository whose calls do nothing yet: each answers an `Operation` that does it when it is run.

    What is given is taken as it is at this moment; of everything else, such as an id that is taken, the run
    tells. Parameters and results are those of the repository's methods of the same names.
    """

    def __init__(
        self,
        make: Callable[[Description], Any],
        name: str,
        codec: Codec[T],
        key: Optional[str] = None,
        cache: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self._make = make
        self._codec = codec
        self._repository = b',"repository":' + dump(name)
        if key is not None:
            self._repository += b',"key":' + dump(key)
        if cache is not None:
            self._repository += b',"cache":' + dump(cache)

    # --- Writing ---------------------------------------------------------------------------------

    def add(self, entity: Any) -> "Operation[T]":
        """Stores a new entity."""
        return self._write("add", entity)

    def update(self, entity: Any, expected_version: int = 0) -> "Operation[T]":
        """Replaces an existing entity."""
        return self._write("update", entity, expected_version)

    def save(self, entity: Any) -> "Operation[T]":
        """Stores an entity, new or not."""
        return self._write("save", entity)

    def patch(
        self, id: Any, changes: Union[Mapping[str, Any], bytes], expected_version: int = 0
    ) -> "Operation[T]":
        """Changes some members of an entity by a merge patch."""
        members = self._id(id) + _member("patch", payload(changes)) + _expected(expected_version)
        return self._operation("patch", members, self._codec.from_written)

    def modify(
        self,
        id: Any,
        update: Union[Mapping[str, Any], bytes],
        expected_version: int = 0,
        *,
        initial: Optional[Any] = None,
    ) -> "Operation[T]":
        """Changes an entity by an update in MongoDB's operators."""
        members = self._id(id) + _member("update", payload(update)) + _expected(expected_version)
        if initial is not None:
            begin = {self._codec.key: plain_id(id), **self._codec.members(initial)}
            members += _member("initial", dump(begin))
        return self._operation("modify", members, self._codec.from_written)

    def delete(self, id: Any, expected_version: int = 0, missing_ok: bool = False) -> "Operation[None]":
        """Deletes an entity."""
        members = self._id(id) + _expected(expected_version)
        return self._operation("delete", members + (b',"missing_ok":true' if missing_ok else b""))

    def add_many(self, entities: Iterable[Any]) -> "Operation[list[T]]":
        """Stores new entities."""
        return self._write_many("add_many", entities)

    def update_many(self, entities: Iterable[Any]) -> "Operation[list[T]]":
        """Replaces existing entities."""
        return self._write_many("update_many", entities)

    def save_many(self, entities: Iterable[Any]) -> "Operation[list[T]]":
        """Stores entities, new or not."""
        return self._write_many("save_many", entities)

    def patch_many(self, patches: Iterable[Mapping[str, Any]]) -> "Operation[list[T]]":
        """Applies merge patches, each with the id under the repository's key."""
        members = _member("patches", dump([dict(patch) for patch in patches]))
        return self._operation("patch_many", members, self._codec.list_from_written)

    def delete_many(self, ids: Iterable[Any]) -> "Operation[None]":
        """Deletes entities."""
        return self._operation("delete_many", _ids(ids))

    def modify_all(
        self, filter: Filter, update: Union[Mapping[str, Any], bytes], *, parameters: Parameters = None
    ) -> "Operation[ModifyResult]":
        """Applies an update to every entity that matches the filter."""
        members = _member("update", payload(update)) + _query(filter, parameters=parameters)
        return self._operation(
            "modify_all", members, lambda counts: ModifyResult(counts["matched"], counts["modified"])
        )

    def delete_all(self, filter: Filter = None, *, parameters: Parameters = None) -> "Operation[int]":
        """Deletes every entity that matches the filter."""
        return self._operation("delete_all", _query(filter, parameters=parameters))

    # --- Reading ---------------------------------------------------------------------------------

    def fetch(self, id: Any, default: Any = None) -> "Operation[Optional[T]]":
        """The entity of this id."""
        read = self._codec.from_members
        return self._operation(
            "fetch", self._id(id), lambda members: default if members is None else read(members)
        )

    def fetch_bytes(self, id: Any) -> "Operation[Optional[bytes]]":
        """The bytes of an entity as they were stored. Not for a sequence."""
        return self._alone("fetch", self._id(id), lambda text, _: None if text == b"null" else text)

    def fetch_versioned(self, id: Any) -> "Operation[Optional[tuple[T, int]]]":
        """An entity and its version. Not for a sequence."""
        decode = self._codec.decode
        return self._alone(
            "fetch",
            self._id(id),
            lambda text, version: None if text == b"null" else (decode(text), version),
        )

    def fetch_many(self, ids: Iterable[Any]) -> "Operation[list[T]]":
        """The entities of these ids."""
        return self._operation("fetch_many", _ids(ids), self._list)

    def fetch_all(self) -> "Operation[list[T]]":
        """Every entity."""
        return self._operation("fetch_all", b"", self._list)

    def ids(self) -> "Operation[list[str]]":
        """The ids of all entities."""
        key = self._codec.key
        members = _query(None, fields=[key])
        return self._operation("find", members, lambda found: [str(entity[key]) for entity in found])

    def contains(self, id: Any) -> "Operation[bool]":
        """Whether there is an entity of this id."""
        return self._operation("contains", self._id(id))

    @takes(query_options)
    def find(self, filter: Filter = None, **options: "Unpack[QueryOptions]") -> "Operation[list[Any]]":
        """The entities that match a filter."""
        return self._operation(
            "find", _query(filter, **options), _same if options.get("fields") else self._list
        )

    @takes(query_options, without=("limit",))
    def first(self, filter: Filter = None, **options: "Unpack[FirstOptions]") -> "Operation[Optional[Any]]":
        """The first entity that `find` would answer."""
        read = _same if options.get("fields") else self._codec.from_members
        return self._operation(
            "first",
            _query(filter, limit=None, **options),
            lambda members: None if members is None else read(members),
        )

    def count(
        self, filter: Filter = None, *, parameters: Parameters = None, damaged: Damaged = "refuse"
    ) -> "Operation[int]":
        """How many entities match the filter."""
        return self._operation("count", _query(filter, parameters=parameters, damaged=damaged))

    def exists(
        self, filter: Filter = None, *, parameters: Parameters = None, damaged: Damaged = "refuse"
    ) -> "Operation[bool]":
        """Whether any entity matches the filter."""
        return self._operation("exists", _query(filter, parameters=parameters, damaged=damaged))

    def distinct(
        self, path: str, filter: Filter = None, *, parameters: Parameters = None, damaged: Damaged = "refuse"
    ) -> "Operation[list[Any]]":
        """The distinct values that a path leads to."""
        members = _member("path", dump(path)) + _query(filter, parameters=parameters, damaged=damaged)
        return self._operation("distinct", members)

    # --- Describing ------------------------------------------------------------------------------

    def _operation(self, verb: str, members: bytes, read: Optional[Callable[[Any], Any]] = None) -> Any:
        return self._make(Description(self._text(verb, members), read or _same))

    def _alone(self, verb: str, members: bytes, read: Callable[[bytes, int], Any]) -> Any:
        return self._make(Description(self._text(verb, members), _same, read, is_step=False))

    def _text(self, verb: str, members: bytes) -> bytes:
        return b'{"operation":"' + verb.encode() + b'"' + self._repository + members + b"}"

    def _write(self, verb: str, entity: Any, expected_version: int = 0) -> Any:
        members = _member("entity", self._codec.encode(entity)) + _expected(expected_version)
        return self._operation(verb, members, self._codec.from_written)

    def _write_many(self, verb: str, entities: Iterable[Any]) -> Any:
        text, _ = self._codec.encode_many(list(entities))
        return self._operation(verb, _member("entities", text), self._codec.list_from_written)

    def _list(self, entities: Any) -> list[T]:
        return self._codec.from_list(entities)

    def _id(self, id: Any) -> bytes:
        return _member("id", dump(id_of(id).decode()))


def _same(value: Any) -> Any:
    return value


def _member(name: str, text: bytes) -> bytes:
    return b',"' + name.encode() + b'":' + text


def _expected(version: int) -> bytes:
    return _member("expected_version", b"%d" % version) if version else b""


def _ids(ids: Iterable[Any]) -> bytes:
    return _member("ids", dump(ids_of(ids)))


def _query(filter: Filter, **options: "Unpack[QueryOptions]") -> bytes:
    text, _ = filter_arguments(filter)
    given = query_options(**options)
    return (_member("filter", text) if text else b"") + (_member("options", given) if given else b"")


def payload(changes: Union[Mapping[str, Any], bytes]) -> bytes:
    """The JSON of a patch or an update, which is given as a dict or as JSON in bytes."""
    is_text = isinstance(changes, (bytes, bytearray, memoryview))
    return bytes(changes) if is_text else dump(as_dict(changes, "Changes", '{"plays": 1}'))
