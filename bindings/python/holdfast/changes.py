"""Changes: what a stream or a feed tells of commits."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Callable, Generic, Optional, TypeVar

from . import errors
from ._json import Load, load

T = TypeVar("T")

#: Makes an entity of a repository's name, an id, and members; a CorruptError where that cannot be done.
Decode = Callable[[str, str, Any], Any]


def loader_of(decode: Decode) -> Load:
    """What parses the text that is decoded so."""
    return decode.loader() if hasattr(decode, "loader") else load


@dataclass(frozen=True)
class EntityChange(Generic[T]):
    """What a commit did to one entity, or to a repository as a whole.

    Of this process's commits all is known, as long as the consumer keeps up. What is told from the store's
    log (the commits of other processes, and those behind `since`, behind what was acknowledged, and of a
    batch that is `behind`) is "put" instead of "insert" and "update", has no `old`, and an `entity` where
    that was neither changed nor deleted since: a later change tells of it then.
    """

    repository: str
    #: Empty where it was dropped or renamed.
    id: str
    #: "insert", "update" or "delete"; "put" where it is not known which of the first two. "drop" where the
    #: repository was dropped with all its entities, "rename" where it has another name from then on.
    operation: str
    #: The new form. None where it was deleted, by this commit or a later one, where a later one has another,
    #: or where it was not asked for; a CorruptError where it is not one of the repository's class.
    entity: Optional[T]
    #: The former form. None of a new one, where it is not known, which it never is from the log, or where it
    #: was not asked for; a CorruptError as `entity`.
    old: Optional[T]
    #: The new name, of "rename".
    new_name: Optional[str] = None


@dataclass(frozen=True)
class CommittedChanges(Generic[T]):
    """A commit, with those of its changes that were asked for."""

    #: The commit's number in the store's order.
    sequence: int
    #: When it was stored, in seconds since 1970.
    time: float
    changes: tuple[EntityChange[T], ...]


@dataclass(frozen=True)
class ChangeBatch(Generic[T]):
    """Commits in their order. Iterating gives all their changes."""

    #: The place behind these commits in the store's history, from which a stream or feed can go on.
    position: str
    commits: tuple[CommittedChanges[T], ...]
    #: Whether the consumer could not keep up, so that this was read again from the store's log.
    behind: bool = False

    def __iter__(self) -> Iterator[EntityChange[T]]:
        for commit in self.commits:
            yield from commit.changes

    @property
    def errors(self) -> tuple[errors.CorruptError, ...]:
        """For each form that is not one of the repository's class an error that names its id."""
        forms = (form for change in self for form in (change.entity, change.old))
        return tuple(form for form in forms if isinstance(form, errors.CorruptError))

    @classmethod
    def from_json(cls, text: bytes, decode: Decode) -> "ChangeBatch[Any]":
        """Reads what the library tells; members that this version does not know are ignored."""
        data = loader_of(decode)(text)
        return cls(
            position=data["position"],
            commits=tuple(
                CommittedChanges(
                    commit["sequence"],
                    commit["time"] / 1000,
                    tuple(_change(change, decode) for change in commit["changes"]),
                )
                for commit in data["commits"]
            ),
            behind=data.get("behind", False),
        )


def _change(change: Any, decode: Decode) -> EntityChange[Any]:
    repository, id = change["repository"], change.get("id", "")
    entity, old = (
        None if members is None else decode(repository, id, members)
        for members in (change.get("entity"), change.get("old"))
    )
    return EntityChange(repository, id, change["operation"], entity, old, change.get("to"))
