"""Preferences: named values of a type each, with defaults, in a repository of a store."""

import functools
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar, Union, overload

from . import errors
from ._handles import OfOneProcess
from ._json import dump, load
from ._readers import value_reader

if TYPE_CHECKING:
    from .store import Store

T = TypeVar("T")

#: What JSON holds as it is.
_PLAIN = (str, bool, int, float, list, dict, type(None))


class Preference(Generic[T]):
    """A preference that a subclass of `Preferences` declares as an attribute, which is read, set and deleted.

        class Settings(holdfast.Preferences):
            theme = holdfast.Preference("light")
            volume = holdfast.Preference(0.5)

        settings = Settings(store)
        settings.theme = "dark"

    Its name is the attribute's. `cls` is the type of its value; without it, the default's. A default of None
    may also be stored. A default that is a list or a dict must not be changed.
    """

    def __init__(self, default: T, cls: Optional[type[T]] = None) -> None:
        self.default = default
        self.cls = cls
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "Preference[T]": ...

    @overload
    def __get__(self, instance: "Preferences", owner: type) -> T: ...

    def __get__(self, instance: "Optional[Preferences]", owner: type) -> "Union[Preference[T], T]":
        if instance is None:
            return self
        return instance.get(self.name, self.default, self.cls)

    def __set__(self, instance: "Preferences", value: T) -> None:
        instance.set(self.name, checked(value, self.default, self.cls))

    def __delete__(self, instance: "Preferences") -> None:
        instance.delete(self.name)


class Preferences(OfOneProcess):
    """Named values in a repository of a store, stored as `{"id": name, "value": value}`.

    Values are what JSON holds, what Holdfast has a form for, such as datetimes, and what a repository's class
    may be. Calls join the store's
    current transaction. See `Preference` for names that are declared.
    """

    def __init__(self, store: "Store", name: str = "preferences") -> None:
        self._values = store.repository(name)

    def _title(self) -> str:
        return self._values._title()

    def get(self, name: str, default: T, cls: Optional[type[T]] = None) -> T:
        """The value of this name, or the default where none is stored.

        `cls` is the type that the value must have: str, bool, int, float, list, dict, or a class whose values
        Holdfast stores; without it, the default's. Raises CorruptError when what is stored is
        something else: never is the default answered for what cannot be read.
        """
        return value_of(self._values.fetch(name), self._values.name, default, cls)

    def set(self, name: str, value: Any) -> None:
        """Stores a value, whether there is one of this name or not."""
        self._values.save(entry(name, value))

    def delete(self, name: str) -> None:
        """Takes the value of this name away, so that the default holds again; there may be none."""
        self._values.delete(name, missing_ok=True)


def entry(name: str, value: Any) -> dict[str, Any]:
    """The entity of a value."""
    return {"id": name, "value": value}


def value_of(entity: Any, repository: str, default: T, cls: Optional[type[T]]) -> T:
    """The value of a stored entity, of the right type; the default where there is no entity."""
    read = _reader(default, cls)
    if entity is None:
        return default
    try:
        return read(entity["value"])
    except Exception as error:
        id = entity["id"]
        message = f'The value "{id}" in "{repository}" is not of its type: {error!r}.'
        raise errors.CorruptError(message, detail={"repository": repository, "id": id}) from error


def checked(value: T, default: T, cls: Optional[type[T]]) -> T:
    """A value that is about to be stored, refused unless it can be read back."""
    _reader(default, cls)(load(dump(entry("", value)["value"])))
    return value


def _reader(default: Any, cls: Optional[type]) -> Callable[[Any], Any]:
    """What makes a value of the class (the default's, where none is given) of a stored one, or raises."""
    if cls is None and default is None:
        return lambda value: value
    wanted = type(default) if cls is None else cls
    convert = functools.partial(_plain, wanted) if wanted in _PLAIN else value_reader(wanted)
    return lambda value: None if value is None and default is None else convert(value)


def _plain(cls: type, value: Any) -> Any:
    # JSON does not tell 1 from 1.0, and true is no number there.
    if cls is float and type(value) is int:
        return float(value)
    if type(value) is not cls:
        raise TypeError(f"{dump(value).decode()} is no {cls.__name__}")
    return value
