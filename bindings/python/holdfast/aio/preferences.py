"""Preferences: named values of a type each, with defaults, awaited."""

from typing import TYPE_CHECKING, Any, Optional, TypeVar

from .._handles import OfOneProcess
from ..preferences import entry, value_of

if TYPE_CHECKING:
    from .store import Store

T = TypeVar("T")


class Preferences(OfOneProcess):
    """Named values in a repository of a store: a `holdfast.Preferences` whose calls are awaited."""

    def __init__(self, store: "Store", name: str = "preferences") -> None:
        self._values = store.repository(name)

    def _title(self) -> str:
        return self._values._title()

    async def get(self, name: str, default: T, cls: Optional[type[T]] = None) -> T:
        """The value of this name, or the default where none is stored."""
        return value_of(await self._values.fetch(name), self._values.name, default, cls)

    async def set(self, name: str, value: Any) -> None:
        """Stores a value, whether there is one of this name or not."""
        await self._values.save(entry(name, value))

    async def delete(self, name: str) -> None:
        """Takes the value of this name away, so that the default holds again; there may be none."""
        await self._values.delete(name, missing_ok=True)
