"""Mapping: a repository seen as a dict from ids to entities."""

from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar

from . import errors
from ._handles import OfOneProcess

if TYPE_CHECKING:
    from .repository import Repository

M = TypeVar("M", bound="RepositoryMapping[Any]")
T = TypeVar("T")


class RepositoryMapping(OfOneProcess, MutableMapping[str, T]):
    """A repository as a MutableMapping: keys are the ids as text, in the order of their bytes.

    A value that is set need not hold its id; a value that is read does. Methods of several steps, such as
    `pop` and `setdefault`, are atomic inside a transaction.
    """

    def __init__(self, repository: "Repository[T]") -> None:
        self._repository = repository

    def _title(self) -> str:
        return f"of {self._repository!r}"

    def __getitem__(self, id: str) -> T:
        return self._repository[id]

    def __setitem__(self, id: str, entity: Any) -> None:
        self._repository[id] = entity

    def __delitem__(self, id: str) -> None:
        del self._repository[id]

    def __contains__(self, id: object) -> bool:
        try:
            return id in self._repository
        except (TypeError, UnicodeEncodeError, errors.InvalidIdError):
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._repository.ids())

    def __len__(self) -> int:
        return len(self._repository)

    def __or__(self, other: Mapping[str, T]) -> dict[str, T]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, T]) -> dict[str, T]:
        return {**other, **self}

    def __ior__(self: M, other: Any) -> M:
        self.update(other)
        return self

    def update(self, other: Any = (), /, **entities: Any) -> None:
        """Saves each entity under its id, in one commit."""
        repository = self._repository
        given = dict(other, **entities)
        repository.save_many([repository._under(id, entity) for id, entity in given.items()])

    def popitem(self) -> tuple[str, T]:
        """Takes the first entity away and answers it with its id. Raises KeyError where there is none."""
        ids = self._repository._ids(limit=1)
        if not ids:
            raise KeyError("The repository is empty.")
        entity = self._repository[ids[0]]
        del self._repository[ids[0]]
        return ids[0], entity

    def clear(self) -> None:
        """Deletes every entity, in one commit."""
        self._repository.delete_all()
