"""Queries: filters and options as the library takes them, and predicates that it calls back."""

import ctypes
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Callable, Literal, Optional, TypedDict, Union

from . import errors
from ._callbacks import native
from ._codec import Codec, as_dict, options_of
from ._json import dump_operands, load
from ._plain import done
from ._types import hf_predicate_fn
from .expressions import Expression

#: A dict in MongoDB's language, an expression of `F`, the same as JSON in bytes, or None for all.
Filter = Union[Mapping[str, Any], Expression, bytes, None]
_BYTES = (bytes, bytearray, memoryview)
Predicate = Callable[[Any], Any]
#: Values for the parameters of a filter, by their names.
Parameters = Optional[Mapping[str, Any]]
Fields = Union[Mapping[str, Any], Sequence[str], None]
#: What becomes of entities that are damaged where they are stored.
Damaged = Literal["refuse", "skip"]


def filter_text(filter: Filter) -> Optional[bytes]:
    """The text of a filter; None for all."""
    if isinstance(filter, _BYTES):
        return bytes(filter)
    members = plain_filter(filter)
    return None if members is None else dump_operands(members)


def filter_arguments(filter: Filter) -> tuple[Optional[bytes], int]:
    """The text of a filter and its length; NULL for all."""
    text = filter_text(filter)
    return text, len(text or b"")


def plain_filter(filter: Filter) -> Optional[dict[str, Any]]:
    """A filter as a dict; None for all."""
    if filter is None:
        return None
    if isinstance(filter, _BYTES):
        return load(bytes(filter))  # type: ignore[no-any-return]
    if isinstance(filter, Expression):
        filter = filter.to_filter()
    elif not isinstance(filter, Mapping):
        raise no_filter(filter)
    return dict(filter)


def no_filter(filter: object) -> TypeError:
    """What is raised for what is no filter."""
    return TypeError(f"A filter is a dict, an expression of F or JSON in bytes, not {type(filter).__name__}.")


class FirstOptions(TypedDict, total=False):
    """Which entity is the first: `holdfast.Repository.find` tells of each."""

    sort: Optional[Mapping[str, Any]]
    skip: int
    parameters: Parameters
    damaged: Damaged


class QueryOptions(FirstOptions, total=False):
    """Which entities are wanted, and in which order."""

    limit: Optional[int]


class FirstParts(FirstOptions):
    """What of the first entity is wanted."""

    fields: Fields


class QueryParts(QueryOptions):
    """What of each entity is wanted."""

    fields: Fields


class ExplainOptions(QueryOptions, total=False):
    """Which query is explained."""

    fields: Fields
    distinct: Optional[str]


def query_options(
    *,
    sort: Optional[Mapping[str, Any]] = None,
    skip: int = 0,
    limit: Optional[int] = None,
    fields: Fields = None,
    parameters: Parameters = None,
    damaged: Damaged = "refuse",
    **unknown: Any,
) -> Optional[bytes]:
    """The options of a query, or None where all are the defaults."""
    if unknown:
        raise _no_options(unknown)
    return options_of({**_options(sort, skip, limit, parameters, damaged), "fields": _fields(fields)})


def explain_options(
    *,
    sort: Optional[Mapping[str, int]] = None,
    skip: int = 0,
    limit: Optional[int] = None,
    fields: Fields = None,
    parameters: Parameters = None,
    damaged: Damaged = "refuse",
    distinct: Optional[str] = None,
    **unknown: Any,
) -> Optional[bytes]:
    """The options of a query that is explained, or None where all are the defaults."""
    if unknown:
        raise _no_options(unknown)
    query = _options(sort, skip, limit, parameters, damaged)
    return options_of({**query, "fields": _fields(fields), "distinct": distinct})


def _no_options(unknown: Mapping[str, Any]) -> TypeError:
    name, value = next(iter(unknown.items()))
    return TypeError(
        f"A query has no option {name!r}; conditions go into the filter: `find({{{name!r}: {value!r}}})`."
    )


def _fields(fields: Fields) -> Any:
    if isinstance(fields, str):
        raise TypeError("Fields are a list of paths or a dict, not one text.")
    return dict(fields) if isinstance(fields, Mapping) else fields and list(fields)


def _options(
    sort: Optional[Mapping[str, int]],
    skip: int,
    limit: Optional[int],
    parameters: Parameters,
    damaged: Damaged,
) -> dict[str, Any]:
    return {
        "sort": as_dict(sort, "Paths to sort by", '{"age": -1}') if sort else None,
        "skip": skip or None,
        "limit": limit,
        "parameters": as_dict(parameters, "Parameters", '{"least": 30}') if parameters else None,
        "damaged": None if damaged == "refuse" else damaged,
    }


class PredicateCall:
    """A function of the host as the library calls it. What it raises is kept: it cannot pass through C."""

    def __init__(self, predicate: Predicate, codec: Codec[Any]) -> None:
        self._predicate = predicate
        self._codec = codec
        self._error: Optional[BaseException] = None

    def is_meant(self, entity: Any) -> int:
        """What the function says of an entity; a negative number ends the query."""
        try:
            entity = self._codec.decode(ctypes.string_at(entity.data, entity.length))
            return bool(done(self._predicate(entity), "A predicate"))
        except BaseException as error:
            self._error = error
            return -1

    @contextmanager
    def calling(self) -> Iterator[int]:
        """Around the native call, with the token that it is to hand to its function. Raises what the function
        raised."""
        token = next(_tokens)
        _predicates[token] = self
        try:
            yield token
        except errors.HostError:
            if self._error is not None:
                raise self._error from None
            raise
        finally:
            del _predicates[token]


# Without a lock: each access is atomic.
_predicates: dict[int, PredicateCall] = {}
_tokens = itertools.count(1)


@native(hf_predicate_fn, -1)
def is_meant(view: Any, token: int) -> int:
    """Whether an entity is meant."""
    return _predicates[token].is_meant(view.contents)
