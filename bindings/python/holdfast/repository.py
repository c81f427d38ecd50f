"""Repository: a named collection of entities in a store."""

import contextlib
import ctypes
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, Union, overload

from . import errors
from ._answers import Answer
from ._calls import ask, ask_each
from ._codec import Codec, Id, id_of, native_text, options_of, plain_id
from ._doors import Blocking
from ._handles import Handle, OfOneProcess, Result, call, native_buffer, text_of
from ._interrupts import kept, raise_kept, untold
from ._library import lib, without_signature
from ._maintenance import RepositoryMaintenance
from ._options import takes
from ._query import Filter, filter_arguments, query_options
from ._types import HF_NOT_FOUND, hf_repository
from ._verbs import EntityLike, RepositoryVerbs
from .aggregation import Aggregating
from .cache import Cache, cache_options
from .cursor import Cursor
from .deferred import DeferredRepository
from .mapping import RepositoryMapping
from .operation import Operation
from .stream import RepositoryStreams
from .transaction import current_pointer, current_scopes, of_generators

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._query import QueryOptions, QueryParts
    from .store import Store

T = TypeVar("T")

_fetch = without_signature("hf_repository_fetch")
_idle_results, _LARGEST_KEPT = Result.idle, Result.LARGEST_KEPT


class Repository(
    OfOneProcess,
    Blocking,
    RepositoryVerbs[T, Union[Filter, Callable[[T], object]]],
    RepositoryMaintenance,
    RepositoryStreams[T],
    Aggregating,
):
    """A named collection of entities of one class.

    Calls join the store's current transaction; without one, each reads the newest committed state, and each
    write is a transaction of its own, stored when the call returns. `len`, `in`, `[]` go by ids; iterating
    gives the entities, ordered by the bytes of their ids. An id is text, an integer (42 and "42" name one), a
    UUID or a member of an Enum whose value is one of these.
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
        self._name = name
        self._store = store
        if key is None and self._begin_known(cls, cache):
            return
        if cls is not None:
            # A class that will not do is refused before there is a repository with another key than its.
            Codec(cls, self._stored_key() if key is None else key)
        self._begin({"key": key, "create": None if create else False, "cache": cache_options(cache)})
        store._keys[name] = self._stored_key() if key is None else key
        self._codec: Codec[T] = Codec(cls, store._keys[name], name)

    def _begin_known(self, cls: Optional[type[T]], cache: Optional[Cache]) -> bool:
        """Opens it by the key that this process knows of it, and answers whether it still is so: to look for
        the key takes all repositories' description."""
        key = self._store._keys.get(self._name)
        if key is None:
            return False
        codec: Codec[T] = Codec(cls, key, self._name)
        try:
            self._begin({"key": key, "create": False, "cache": cache_options(cache)})
        except errors.NotFoundError:
            return False
        except errors.InvalidOptionError as error:
            if error.detail.get("option") != "key":
                raise
            return False
        self._codec = codec
        return True

    @classmethod
    def _known(
        cls, store: "Store", name: str, codec: Codec[T], cache: Optional[Cache] = None
    ) -> "Repository[T]":
        """One that is there, which is hardly any work where this process knows it."""
        self = cls.__new__(cls)
        self._name, self._store, self._codec = name, store, codec
        self._begin({"key": codec.key, "create": False, "cache": cache_options(cache)})
        store._keys[name] = codec.key
        return self

    def _begin(self, options: Mapping[str, Any]) -> None:
        pointer = ctypes.POINTER(hf_repository)()
        #: The native handle.
        self.pointer = pointer
        self._handle = Handle(pointer, lib.hf_repository_free)
        arguments = (self._store.pointer, native_text(self._name), options_of(options), ctypes.byref(pointer))
        # Nobody tells whether it was there before.
        call(lib.hf_repository_open, *arguments, stored=untold)

    @property
    def name(self) -> str:
        """The repository's name: the present one, where it was renamed."""
        with contextlib.suppress(errors.Error), native_buffer() as text:
            call(lib.hf_repository_name, self.pointer, ctypes.byref(text))
            self._name = text_of(text).decode()
        return self._name

    @property
    def store(self) -> "Store":
        """The store that it belongs to."""
        return self._store

    @property
    def deferred(self) -> "DeferredRepository[T]":
        """The same calls, each as an `Operation` that does nothing until it is run."""
        return DeferredRepository(lambda it: Operation(self._store, it), self)

    # --- Reading: `fetch` and `fetch_bytes` as they are described, spelt out because nothing is hotter ------

    def fetch(self, id: Id, default: Any = None) -> Optional[T]:
        text = self.fetch_bytes(id)
        return default if text is None else self._codec.decode(text)

    def fetch_bytes(self, id: Id) -> Optional[bytes]:
        # What other methods leave to helpers is spelt out here: each call in Python takes as long as a
        # part of the work.
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

    @overload
    def iterate(self, filter: Filter = None, **options: "Unpack[QueryOptions]") -> Cursor[T]: ...

    @overload
    def iterate(self, filter: Filter = None, **options: "Unpack[QueryParts]") -> Cursor[dict[str, Any]]: ...

    @takes(query_options)
    def iterate(self, filter: Filter = None, **options: Any) -> Cursor[Any]:
        """What `find` would answer, read in pieces, so that a million entities take little memory."""
        return Cursor(
            None if options.get("fields") else self._codec,
            self.pointer,
            current_pointer(self._store),
            *filter_arguments(filter),
            query_options(**options),
        )

    # --- As a container --------------------------------------------------------------------------

    def __getitem__(self, id: Id) -> T:
        """The entity of this id. Raises NotFoundError, which is a KeyError."""
        text = self.fetch_bytes(id)
        if text is None:
            told = plain_id(id)
            raise errors.NotFoundError(
                f'There is no entity "{told}" in the repository "{self.name}".',
                detail={"repository": self.name, "id": told},
            )
        return self._codec.decode(text)

    def __setitem__(self, id: Id, entity: EntityLike) -> None:
        """Saves an entity under this id, which it may leave out but not contradict. None is no entity, and
        deletes none: raises InvalidEntityError."""
        self.save(self._under(id, entity))

    def __delitem__(self, id: Id) -> None:
        """Deletes the entity of this id. Raises NotFoundError, which is a KeyError."""
        self.delete(id)

    def __contains__(self, id: object) -> bool:
        return self.contains(id)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.count()

    def __iter__(self) -> Iterator[T]:
        return iter(self.fetch_all())

    def _under(self, id: Id, entity: EntityLike) -> dict[str, Any]:
        if entity is None:
            told = plain_id(id)
            raise errors.InvalidEntityError(
                f'None is no entity; `del songs["{told}"]` deletes the one there.'
            )
        members = self._codec.members(entity)
        own = members.get(self.key, id)
        if id_of(own) != id_of(id):
            raise errors.InvalidIdError(f'The entity has the id "{own}" and cannot be saved as "{id}".')
        return {self.key: own, **members}

    def as_mapping(self) -> "RepositoryMapping[T]":
        """The repository as a MutableMapping from ids, as text, to entities."""
        return RepositoryMapping(self)

    # --- Calling the library ---------------------------------------------------------------------

    def _ask(self, operation: str, answer: Answer[Any], given: Any = None, **arguments: Any) -> Any:
        transaction = current_pointer(self._store) if current_scopes() or of_generators else None
        return ask(self.pointer, transaction, operation, answer, given, arguments)

    def _described(self) -> "tuple[Repository[T], bytes]":
        return self, b""

    def _ask_operation(self, *arguments: Any, **members: Any) -> Any:
        return self.deferred._ask(*arguments, **members).perform()

    def _ask_each(self, predicate: Any, answer: Answer[Any], options: Optional[bytes]) -> Any:
        transaction = current_pointer(self._store)
        return ask_each(self.pointer, transaction, predicate, self._codec, answer, options)

    def _stored_key(self) -> str:
        for repository in self._store.describe()["repositories"]:
            if repository["name"] == self._name:
                return repository["key"]
        return "id"
