"""Forms: what stands in JSON for values that it does not have, one form for each type."""

import base64
import datetime
import decimal
import enum
import functools
import uuid
from collections import deque
from collections.abc import Mapping, Set
from pathlib import PurePath
from typing import Any, Callable, NoReturn, Optional, TypeVar

from . import _models, _records
from .expressions import Expression as Condition
from .expressions import Field

T = TypeVar("T")

Form = Callable[[Any], Any]

#: How values of a class are written, and what reads them again, as `register_type` was told.
registered: dict[type, tuple[Form, Form]] = {}
#: What forgets what was made before a class was registered.
forgetting: list[Callable[[], None]] = []
#: Of so many seconds, 272 years, a float still tells each microsecond.
_EXACT_SECONDS = 1 << 33


class UnwrittenError(Exception):
    """The encoder of JSON cannot write this as it is to be."""


def register_type(cls: type[T], *, to_json: Callable[[T], Any], from_json: Callable[[Any], T]) -> None:
    """Tells how values of a class are stored and read again, wherever they stand.

        holdfast.register_type(Money, to_json=str, from_json=Money.parse)

    `to_json` makes of a value something that can be stored, the same of equal values, so that filters find
    them. `from_json` makes the value of what is stored, where a class has a field that is annotated with this
    one. Subclasses are written so too; each that is annotated is registered itself. The last registration of
    a class counts, in the whole process. Raises TypeError for a class whose form is decided: JSON's own,
    those that Holdfast writes by itself, and their subclasses.
    """
    decided = (str, int, float, list, tuple, dict, *(it for it in FORMS if it is not enum.Enum))
    if cls is enum.Enum or issubclass(cls, decided):
        raise TypeError(f"{cls.__name__} has a form already, which cannot be another.")
    registered[cls] = (to_json, from_json)
    for forget in forgetting:
        forget()


def form_of(value: Any) -> Any:
    """What stands for a value that JSON does not have. What that holds may need a form itself."""
    cls = type(value)
    form = _forms.get(cls)
    if form is None:
        form = _forms[cls] = _form_for(cls)
    return form(value)


def is_known(cls: type) -> bool:
    """Whether values of this class, which JSON does not have, have a form."""
    return _form_for(cls) is not _refuse


@functools.cache
def members_by(cls: type) -> Optional[Form]:
    """What tells the members of the objects of a class that consist of such; None where they do not."""
    if hasattr(cls, "model_dump"):
        return _models.members_by(cls, is_known)
    if hasattr(cls, "to_dict"):
        return cls.to_dict  # type: ignore[no-any-return]
    return _records.members_by(cls)


def _form_for(cls: type) -> Form:
    for base in cls.__mro__:
        if base in registered:
            return registered[base][0]
        if base in FORMS:
            return FORMS[base]
    members = members_by(cls)
    if members is not None:
        return members
    if issubclass(cls, Mapping):
        return dict
    return FORMS[set] if issubclass(cls, Set) else _refuse


def _refuse(value: Any) -> Any:
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    raise TypeError(
        f"is of the type {name}, for which JSON has no form: convert it, or tell its form with "
        f"holdfast.register_type."
    )


def _datetime(value: datetime.datetime) -> str:
    if value.utcoffset() is None:
        return value.replace(tzinfo=None).isoformat(timespec="microseconds")
    try:
        universal = value.astimezone(datetime.timezone.utc)
    except OverflowError:
        raise ValueError("is not between the years 1 and 9999 in UTC, in which it is stored.") from None
    return universal.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _time(value: datetime.time) -> str:
    if value.utcoffset() is not None:
        raise ValueError("is a time with an offset but no day: store a datetime, or a time without offset.")
    return value.replace(tzinfo=None).isoformat(timespec="microseconds")


def _timedelta(value: datetime.timedelta) -> Any:
    if not value.microseconds:
        return value.days * 86400 + value.seconds
    seconds = value.total_seconds()
    if abs(seconds) >= _EXACT_SECONDS:
        raise ValueError(
            "is longer than 272 years and no whole seconds, which a number does not tell exactly."
        )
    return seconds


def decimal_text(value: decimal.Decimal) -> str:
    """The digits of a decimal as a number of JSON."""
    if not value.is_finite():
        raise ValueError(f"is {value}, which JSON does not have: store None, or a text.")
    text = str(value)
    # The library knows no whole numbers of more than 64 bits; with an exponent it is no whole number to it.
    return text + "E0" if text.lstrip("-").isdigit() and not -(1 << 63) <= value < 1 << 63 else text


def _decimal(value: decimal.Decimal) -> Any:
    text = decimal_text(value)
    number = float(text)
    if repr(number) == text:
        return number
    if text.isdigit() and str(int(text)) == text:
        return int(text)
    raise UnwrittenError


def _base64(value: Any) -> str:
    return base64.b64encode(value).decode()


def _field(value: Field) -> NoReturn:
    raise TypeError(
        f'is {value!r}, which only begins a condition: in an expression of a pipeline write "${value._path}".'
    )


def _condition(value: Condition) -> NoReturn:
    raise TypeError(
        f"is the condition {value.to_filter()!r}, made from F, which stands only where a whole filter does: "
        f"write it in MongoDB's operators here."
    )


#: The form of sets is in `_json`, for their order is that of their elements' texts.
FORMS: dict[type, Form] = {
    Field: _field,
    Condition: _condition,
    datetime.datetime: _datetime,
    datetime.date: datetime.date.isoformat,
    datetime.time: _time,
    datetime.timedelta: _timedelta,
    decimal.Decimal: _decimal,
    uuid.UUID: str,
    enum.Enum: lambda member: member.value,
    PurePath: str,
    bytes: _base64,
    bytearray: _base64,
    memoryview: _base64,
    deque: list,
}
# By the classes of the values themselves.
_forms: dict[type, Form] = {}

forgetting += [_forms.clear, members_by.cache_clear]
