"""Differences: what a live query tells, and how a result follows it."""

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Generic, TypeVar, Union

from . import errors

T = TypeVar("T")


@dataclass(frozen=True)
class Removed:
    """An entity that is no longer in the result."""

    #: Where it was before.
    position: int
    id: str


@dataclass(frozen=True)
class Moved:
    """An entity that has another place in the result."""

    #: Where it was before.
    from_position: int
    #: Where it is now.
    to_position: int
    id: str


@dataclass(frozen=True)
class Placed(Generic[T]):
    """An entity that has come into the result, or has changed."""

    #: Where it is now.
    position: int
    id: str
    version: int
    entity: T


@dataclass(frozen=True)
class Section(Generic[T]):
    """A part of a result: neighbours that have something in common."""

    #: What that is.
    value: Any
    #: In the result's order.
    entities: list[T]


def _member(name: str, entity: Any) -> Any:
    return entity.get(name) if isinstance(entity, Mapping) else getattr(entity, name)


class _Event(Generic[T]):
    entities: list[T]

    def sections(self, by: Union[str, Callable[[T], Any]]) -> "list[Section[T]]":
        """The result in sections: neighbours that have one value of a member, or of a function, are one. For
        one section a value, sort by that first. `by` names a member of dicts, or an attribute."""
        value_of = by if callable(by) else functools.partial(_member, by)
        entities = [it for it in self.entities if not isinstance(it, errors.CorruptError)]
        return [Section(value, list(group)) for value, group in itertools.groupby(entities, value_of)]

    @property
    def errors(self) -> "tuple[errors.CorruptError, ...]":
        """For each of the entities that is not one of the repository's class an error that names its id."""
        return tuple(entity for entity in self.entities if isinstance(entity, errors.CorruptError))


@dataclass(frozen=True)
class Snapshot(_Event[T]):
    """The whole result: a live query's first event, and later ones where it had to begin anew."""

    #: The place in the store's history that it is read at.
    position: str
    #: The result. In the place of an entity that is not one of the repository's class is a CorruptError.
    entities: list[T]
    #: The entities' versions, in the same order.
    versions: tuple[int, ...]
    #: Whether the query began anew, because the consumer could not keep up.
    is_reset: bool = False


@dataclass(frozen=True)
class Difference(_Event[T]):
    """How the result differs from what was told before."""

    #: The place in the store's history behind the commits that it brings together.
    position: str
    #: The result from now on. In the place of an entity that is not one of the repository's class is a
    #: CorruptError.
    entities: list[T]
    #: How many commits, that touched the result, it brings together.
    merged: int
    #: In the result before, ascending.
    removed: tuple[Removed, ...]
    #: In the result from now on, ascending.
    inserted: "tuple[Placed[T], ...]"
    #: Ascending by where they are now.
    moved: tuple[Moved, ...]
    #: In the result from now on, ascending.
    changed: "tuple[Placed[T], ...]"


QueryEvent = Union[Snapshot[T], Difference[T]]


def apply_difference(previous: Sequence[T], event: "QueryEvent[T]") -> list[T]:
    """The result after an event, of the result before it.

    For who keeps lists of their own; `event.entities` is the same. Raises InvalidArgumentError where the
    difference is not one from this result.
    """
    if isinstance(event, Snapshot):
        return list(event.entities)
    return follow(previous, event.removed, event.inserted, event.moved, event.changed)


def follow(
    previous: Sequence[Any],
    removed: Sequence[Removed],
    inserted: Sequence[Placed[Any]],
    moved: Sequence[Moved],
    changed: Sequence[Placed[Any]],
) -> list[Any]:
    """The result after a difference that has these parts."""
    taken = {it.position for it in removed} | {it.from_position for it in moved}
    if any(not 0 <= position < len(previous) for position in taken):
        raise _unfit(previous)
    left = [entity for position, entity in enumerate(previous) if position not in taken]
    placed = [(it.position, it.entity) for it in inserted]
    placed += [(it.to_position, previous[it.from_position]) for it in moved]
    result: list[Any] = []
    # What is left goes between what is placed, in one pass: inserting each would move all behind it.
    used = 0
    for position, entity in sorted(placed, key=lambda it: it[0]):
        between = position - len(result)
        if not 0 <= between <= len(left) - used:
            raise _unfit(previous)
        result += left[used : used + between]
        result.append(entity)
        used += between
    result += left[used:]
    for it in changed:
        if not 0 <= it.position < len(result):
            raise _unfit(previous)
        result[it.position] = it.entity
    return result


def _unfit(previous: Sequence[Any]) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(
        f"The difference is not one from this result of {len(previous)} entities."
    )
