"""Leaves: values of single types, as they are read from what stands for them in JSON."""

import base64
import datetime
from decimal import Decimal
from pathlib import PurePath
from typing import Any, Callable, NamedTuple, Optional
from uuid import UUID

from ._json import Number, dump

#: Makes a value of one that is not None.
Reader = Callable[[Any], Any]

NUMBERS = (int, float, Number)
_SHOWN = 60


class MisfitError(ValueError):
    """A value that does not fit its annotation, and the path to it."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f'"{path}" {reason}' if path else reason)
        self.reason = reason
        self.path = path

    @classmethod
    def at(cls, place: Any, error: Exception) -> "MisfitError":
        """The error of a part, told as the whole's."""
        if not isinstance(error, MisfitError):
            return cls(f"cannot be read: {error}", str(place))
        return cls(error.reason, f"{place}.{error.path}" if error.path else str(place))


class Leaf(NamedTuple):
    """How values of a type are read."""

    #: The types of JSON that it is read from.
    types: tuple[type, ...]
    convert: Callable[[Any, Any], Any]
    example: str


def _datetime(cls: Any, text: str) -> Any:
    if text.endswith("Z"):
        return cls.fromisoformat(text[:-1]).replace(tzinfo=datetime.timezone.utc)
    return cls.fromisoformat(text)


def _date(cls: Any, text: str) -> Any:
    # A moment is a day, too, for whoever checks types, and is stored as what it is.
    if cls is datetime.date and "T" in text:
        return _datetime(datetime.datetime, text)
    return cls.fromisoformat(text)


def _decimal(cls: Any, value: Any) -> Any:
    text = getattr(value, "text", None)
    return cls(text or (repr(value) if isinstance(value, float) else value))


def _bytes(cls: Any, text: str) -> Any:
    return cls(base64.b64decode(text, validate=True))


_LEAVES: dict[type, Leaf] = {
    datetime.datetime: Leaf((str,), _datetime, '"2024-05-17T08:30:00.000000Z"'),
    datetime.date: Leaf((str,), _date, '"2024-05-17"'),
    datetime.time: Leaf((str,), lambda cls, text: cls.fromisoformat(text), '"08:30:00.000000"'),
    datetime.timedelta: Leaf(NUMBERS, lambda cls, value: cls(seconds=value), "90.5, in seconds"),
    # As text, too, as pydantic writes it.
    Decimal: Leaf((*NUMBERS, str), _decimal, "19.90"),
    UUID: Leaf((str,), lambda cls, text: cls(text), '"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"'),
    PurePath: Leaf((str,), lambda cls, text: cls(text), '"/var/lib"'),
    bytes: Leaf((str,), _bytes, '"AAECAw==", in base64'),
    bytearray: Leaf((str,), _bytes, '"AAECAw==", in base64'),
    memoryview: Leaf((str,), _bytes, '"AAECAw==", in base64'),
}


def leaf_of(cls: Any) -> Optional[Leaf]:
    """How values of a class are read, if it is one of these or a subclass."""
    return next((_LEAVES[base] for base in cls.__mro__ if base in _LEAVES), None)


def leaf_reader(cls: Any) -> Optional[Reader]:
    """What reads values of a class, if it is one of these or a subclass."""
    leaf = leaf_of(cls)
    if leaf is None:
        return None
    types_read, convert, example = leaf

    def read(value: Any) -> Any:
        if type(value) in types_read:
            try:
                return convert(cls, value)
            except (ValueError, ArithmeticError):
                pass
        raise misfit(value, cls.__name__, example)

    return read


def misfit(value: Any, name: str, example: str = "") -> MisfitError:
    """What is told of a value that is not of the type of this name."""
    such = f", such as {example}" if example else ""
    return MisfitError(f"is {shown(value)}, and is to be a {name}{such}")


def shown(value: Any) -> str:
    """A value for a message, or its beginning."""
    text = dump(value).decode()
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
