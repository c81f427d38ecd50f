"""Queries: filters and options as the library takes them, and predicates that it calls back."""

import ctypes
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Callable, Literal, Optional, TypedDict, Union

from . import errors
from ._callbacks import native
from ._codec import Codec, as_dict, dump, options_of
from ._signatures import hf_predicate_fn
from .expressions import Expression

#: A dict in MongoDB's language, an expression of `F`, or None for all.
Filter = Union[Mapping[str, Any], Expression, None]
Predicate = Callable[[Any], Any]
#: Values for the parameters of a filter, by their names.
Parameters = Optional[Mapping[str, Any]]
Fields = Union[Mapping[str, Any], Sequence[str], None]
#: What becomes of entities that are damaged where they are stored.
Damaged = Literal["refuse", "skip"]


def filter_arguments(filter: Filter) -> tuple[Optional[bytes], int]:
    """The text of a filter and its length; NULL for all."""
    members = plain_filter(filter)
    if members is None:
        return None, 0
    text = dump(members)
    return text, len(text)


def plain_filter(filter: Filter) -> Optional[dict[str, Any]]:
    """A filter as a dict; None for all."""
    if filter is None:
        return None
    if isinstance(filter, Expression):
        filter = filter.to_filter()
    elif not isinstance(filter, Mapping):
        raise TypeError(f"A filter is a dict or an expression of F, not {type(filter).__name__}.")
    return dict(filter)


class _Options(TypedDict, total=False):
    sort: Optional[Mapping[str, int]]
    skip: int
    parameters: Parameters
    damaged: Damaged


class FirstOptions(_Options, total=False):
    """Which entity is the first, and what of it is wanted: `holdfast.Repository.find` tells of each."""

    fields: Fields


class ExplainOptions(_Options, total=False):
    """Which entities are looked for."""

    limit: Optional[int]


class QueryOptions(FirstOptions, ExplainOptions, total=False):
    """Which entities are wanted, in which order, and what of them."""


def query_options(
    *,
    sort: Optional[Mapping[str, int]] = None,
    skip: int = 0,
    limit: Optional[int] = None,
    fields: Fields = None,
    parameters: Parameters = None,
    damaged: Damaged = "refuse",
) -> Optional[bytes]:
    """The options of a query, or None where all are the defaults."""
    if isinstance(fields, str):
        raise TypeError("Fields are a list of paths or a dict, not one text.")
    return options_of(
        {
            "sort": as_dict(sort, "Paths to sort by", '{"age": -1}') if sort else None,
            "skip": skip or None,
            "limit": limit,
            "fields": dict(fields) if isinstance(fields, Mapping) else fields and list(fields),
            "parameters": as_dict(parameters, "Parameters", '{"least": 30}') if parameters else None,
            "damaged": None if damaged == "refuse" else damaged,
        }
    )


class PredicateCall:
    """A function of the host as the library calls it. What it raises is kept: it cannot pass through C."""

    def __init__(self, predicate: Predicate, codec: Codec[Any]) -> None:
        self._predicate = predicate
        self._codec = codec
        self._error: Optional[BaseException] = None

    def is_meant(self, entity: Any) -> int:
        """What the function says of an entity; a negative number ends the query."""
        try:
            return bool(self._predicate(self._codec.decode(ctypes.string_at(entity.data, entity.length))))
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
