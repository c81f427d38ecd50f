"""Queries: the part of a repository that reads by a filter."""

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar, Union

from ._codec import Codec, load, native_text
from ._handles import Result, load_list, native_buffer, native_list, text_of
from ._interrupts import raise_kept
from ._library import lib
from ._options import takes
from ._query import (
    Damaged,
    ExplainOptions,
    Filter,
    FirstOptions,
    Parameters,
    Predicate,
    PredicateCall,
    QueryOptions,
    filter_arguments,
    is_meant,
    query_options,
)
from ._signatures import HF_NOT_FOUND, hf_entity_list
from .cursor import Cursor
from .transaction import current_pointer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .store import Store

T = TypeVar("T")


class Queries(Generic[T]):
    """What a `Repository` finds by a filter."""

    pointer: Any
    _codec: Codec[T]
    _store: "Store"
    _call: Callable[..., None]

    @takes(query_options)
    def find(self, filter: Union[Filter, Predicate] = None, **options: "Unpack[QueryOptions]") -> list[Any]:
        """The entities that match a filter.

        A filter is a dict of conditions that must all hold, with MongoDB's meaning and operators
        ({"country": "DE"}, {"address.city": "Kassel"}, {"deleted": None} (null or missing),
        {"age": {"$gte": 18}}); or the same as an expression (`F.age >= 18`); or a function that is
        called with each entity of the repository, and counts as a read of all of it. None matches
        everything.

        `sort` names paths, 1 ascending and -1 descending; equal entities are ordered by the bytes of their
        ids, descending where the first path is. Without it the order is that of the ids, unless an index
        serves the filter. `limit` None or 0 means no limit. With `fields`, a list of paths (or
        a dict, with 0 for those to leave out), the answers are dicts of these members and the id.
        `parameters` gives the values for each {"$param": "name"} in the filter; one that comes again with
        other values is compiled once.

        An entity that is damaged where it is stored raises CorruptError, whose detail names it; with
        `damaged="skip"` such are left out, as if they were not there. `verify` tells which they are.
        """
        with native_list() as entities:
            self._find(entities, filter, **options)
            loaded = load_list(entities)
            return loaded if options.get("fields") else self._codec.from_list(loaded)

    @takes(query_options)
    def iterate(self, filter: Filter = None, **options: "Unpack[QueryOptions]") -> Cursor[Any]:
        """What `find` would answer, read in pieces, so that a million entities take little memory."""
        return Cursor(
            None if options.get("fields") else self._codec.reader,
            self.pointer,
            current_pointer(self._store),
            *filter_arguments(filter),
            query_options(**options),
        )

    @takes(query_options, without=("limit",))
    def first(
        self, filter: Union[Filter, Predicate] = None, **options: "Unpack[FirstOptions]"
    ) -> Optional[Any]:
        """The first entity that `find` would answer, or None."""
        if callable(filter):
            found = self.find(filter, limit=1, **options)
            return found[0] if found else None
        given = query_options(limit=None, **options)
        result = Result.take()
        try:
            status = lib.hf_repository_first(
                self.pointer,
                current_pointer(self._store),
                *filter_arguments(filter),
                given,
                result.entity_reference,
                result.error_reference,
            )
            if status == HF_NOT_FOUND:
                raise_kept()
                return None
            result.check(status)
            text = result.bytes()
        finally:
            result.put_back()
        return load(text) if options.get("fields") else self._codec.decode(text)

    def count(
        self,
        filter: Union[Filter, Predicate] = None,
        *,
        parameters: Parameters = None,
        damaged: Damaged = "refuse",
    ) -> int:
        """How many entities match the filter (see `find`)."""
        if callable(filter):
            with native_list() as entities:
                self._find(entities, filter, parameters=parameters, damaged=damaged)
                return entities.count
        return self._query(lib.hf_repository_count, ctypes.c_uint64(), filter, parameters, damaged)

    def exists(
        self,
        filter: Union[Filter, Predicate] = None,
        *,
        parameters: Parameters = None,
        damaged: Damaged = "refuse",
    ) -> bool:
        """Whether any entity matches the filter (see `find`)."""
        if callable(filter):
            with native_list() as entities:
                self._find(entities, filter, limit=1, parameters=parameters, damaged=damaged)
                return entities.count > 0
        return self._query(lib.hf_repository_exists, ctypes.c_bool(), filter, parameters, damaged)

    @takes(query_options, without=("fields",))
    def explain(self, filter: Filter = None, **options: "Unpack[ExplainOptions]") -> dict[str, Any]:
        """How `find` carries the query out, found by carrying it out.

        "access" is "id", "index" or "scan"; "index" its name; "bounds" what of the filter it was asked for;
        "exact" whether that is all of it; "sort" "index", "memory" or None; "examined" how many documents
        were held against the filter; "matched" how many were found.
        """
        given = query_options(fields=None, **options)
        with native_buffer() as report:
            self._call(lib.hf_repository_explain, *filter_arguments(filter), given, ctypes.byref(report))
            return load(text_of(report))

    def distinct(
        self, path: str, filter: Filter = None, *, parameters: Parameters = None, damaged: Damaged = "refuse"
    ) -> list[Any]:
        """The distinct values that a path leads to in the entities that match, ordered as by `sort`.

        An array gives its elements.
        """
        options = query_options(parameters=parameters, damaged=damaged)
        with native_buffer() as values:
            self._call(
                lib.hf_repository_distinct,
                native_text(path),
                *filter_arguments(filter),
                options,
                ctypes.byref(values),
            )
            return load(text_of(values))

    def _query(
        self,
        function: Callable[..., int],
        answer: Any,
        filter: Filter,
        parameters: Parameters,
        damaged: Damaged = "refuse",
    ) -> Any:
        options = query_options(parameters=parameters, damaged=damaged)
        self._call(function, *filter_arguments(filter), options, ctypes.byref(answer))
        return answer.value

    def _find(
        self, entities: hf_entity_list, filter: Union[Filter, Predicate], **options: "Unpack[QueryOptions]"
    ) -> None:
        given = query_options(**options)
        if not callable(filter):
            arguments = (*filter_arguments(filter), given, ctypes.byref(entities))
            return self._call(lib.hf_repository_find, *arguments)
        with PredicateCall(filter, self._codec).calling() as token:
            self._call(lib.hf_repository_find_if, is_meant, token, given, ctypes.byref(entities))
