"""JSON: values as its text, and its text as values."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Callable

from . import errors
from ._forms import FORMS, Form, UnwrittenError, decimal_text, form_of
from ._limits import LIMITS

Load = Callable[[bytes], Any]

#: Of so many digits a double still tells each decimal from every other, and in which order they are.
_EXACT_DIGITS = 15
_LARGEST_EXPONENT = 290
#: What the encoder says of names that `_Writer` writes.
_NAMES_REFUSED = "keys must be"


def dump_with(form: Form) -> Callable[[Any], bytes]:
    """What writes a value as JSON in UTF-8, with this form for what JSON does not have."""
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=form)
    encode = encoder.encode

    def dump(value: Any) -> bytes:
        try:
            return encode(value).encode()
        except UnwrittenError:
            return _Writer(form).text(value)
        except (TypeError, ValueError) as error:
            # Tells more of it, but of what a signal's handler has raised here.
            text = _Writer(form).text(value)
            if not str(error).startswith(_NAMES_REFUSED):
                raise
            return text

    return dump


#: Writes a value as JSON in UTF-8.
dump = dump_with(form_of)


def dump_list(values: list[Any]) -> bytes:
    """The same of many, written a piece at a time: no signal is handled while one is written."""
    if len(values) <= LIMITS.written_entities:
        return dump(values)
    starts = range(0, len(values), LIMITS.written_entities)
    return (
        b"["
        + b",".join([dump(values[start : start + LIMITS.written_entities])[1:-1] for start in starts])
        + b"]"
    )


def _sorted(values: Any) -> list[Any]:
    kinds = set(map(type, values))
    return sorted(values) if kinds <= {str} or kinds <= {int, float} else sorted(values, key=dump)


FORMS[set] = FORMS[frozenset] = _sorted


class _Writer:
    """Writes what the encoder does not: names that are no text, and decimals digit by digit. What it cannot
    write either is told with the path to it."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._path: list[str] = []
        self._containers: set[int] = set()

    def text(self, value: Any) -> bytes:
        """A value as JSON in UTF-8."""
        return self._write(value).encode()

    def _write(self, value: Any) -> str:
        if value is None or isinstance(value, (str, int, float)):
            return self._told(_scalar, value)
        if isinstance(value, Decimal):
            return self._told(self._decimal, value)
        if id(value) in self._containers:
            raise ValueError(self._sentence("holds itself, and so has no end."))
        self._containers.add(id(value))
        try:
            if isinstance(value, dict):
                return "{" + ",".join([self._member(name, item) for name, item in value.items()]) + "}"
            if isinstance(value, (list, tuple)):
                return "[" + ",".join([self._at(str(i), item) for i, item in enumerate(value)]) + "]"
            return self._write(self._told(self._form, value))
        finally:
            self._containers.discard(id(value))

    def _member(self, name: Any, value: Any) -> str:
        text = self._told(self._name, name)
        return self._told(_scalar, text) + ":" + self._at(text, value)

    def _name(self, name: Any) -> str:
        """The key of a dict as JSON has it: as text."""
        form = name
        while not (form is None or isinstance(form, (str, int, float))):
            if isinstance(form, Decimal):
                return decimal_text(form)
            if isinstance(form, (list, tuple, dict)):
                raise TypeError(f"has a key of the type {type(name).__name__}, and a name in JSON is text.")
            form = self._form(form)
        return str.__str__(form) if isinstance(form, str) else _scalar(form)

    def _decimal(self, value: Decimal) -> str:
        try:
            self._form(value)
        except UnwrittenError:
            pass
        return decimal_text(value)

    def _at(self, place: str, value: Any) -> str:
        self._path.append(place)
        text = self._write(value)
        self._path.pop()
        return text

    def _told(self, function: Callable[[Any], Any], value: Any) -> Any:
        """What a function answers. What it raises is told with the path."""
        try:
            return function(value)
        except errors.InvalidQueryError as error:
            error.detail["path"] = ".".join(self._path)
            raise errors.InvalidQueryError(self._sentence(error.message), detail=error.detail) from None
        except UnicodeEncodeError as error:
            reason = f"{error.reason}: {self._sentence('holds half a character')}"
            raise UnicodeEncodeError(*error.args[:4], reason) from None
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(self._sentence(str(error))) from error

    def _sentence(self, reason: str) -> str:
        return f'"{".".join(self._path)}" {reason}' if self._path else f"What is to be written {reason}"


def _scalar(value: Any) -> str:
    if isinstance(value, float) and value - value != 0:
        raise ValueError(f"is {float(value)}, which JSON does not have: store None, or a text.")
    text = json.dumps(value, ensure_ascii=False)
    text.encode()
    return text


# --- What is compared, and calculated with ------------------------------------------------------------


class _DecimalFound(Exception):
    """There is a decimal, so that it matters what an operator does with it."""


def dump_update(update: Mapping[str, Any]) -> bytes:
    """An update in MongoDB's operators."""
    try:
        return _dump_without_decimals(update)
    except _DecimalFound:
        parts = [
            _Writer(_OPERANDS.get(name, _compared)).text({name: operand})[1:-1]
            for name, operand in update.items()
        ]
        return b"{" + b",".join(parts) + b"}"


def _compared(value: Any) -> Any:
    if isinstance(value, Decimal) and value.is_finite():
        _, digits, exponent = value.as_tuple()
        is_whole = exponent == 0 and -(1 << 63) <= value < 1 << 63
        is_told = len(digits) <= _EXACT_DIGITS and abs(value.adjusted()) <= _LARGEST_EXPONENT
        if not (is_whole or is_told or not value):
            raise errors.InvalidQueryError(
                f"is {value}, and no more than {_EXACT_DIGITS} digits are compared: look at what was "
                f"fetched, or store whole numbers of the smallest unit."
            )
    return form_of(value)


def _calculated(value: Any) -> Any:
    if isinstance(value, Decimal):
        raise errors.InvalidQueryError(
            "is a Decimal, and an update would calculate with doubles, which are not exact: set what was "
            "calculated in a transaction, or store whole numbers of the smallest unit."
        )
    return form_of(value)


def _without_decimals(value: Any) -> Any:
    if isinstance(value, Decimal):
        raise _DecimalFound
    return form_of(value)


#: Writes a filter, or something else that is compared with what is stored.
dump_operands = dump_with(_compared)
_dump_without_decimals = dump_with(_without_decimals)
#: What an operator does with its operand, where it does not compare it.
_OPERANDS = {"$set": form_of, "$push": form_of, "$inc": _calculated, "$mul": _calculated}


# --- Reading ------------------------------------------------------------------------------------------


class Number(float):
    """A number whose digits a float does not keep."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> "Number":
        """The number of this text."""
        number = super().__new__(cls, text)
        number.text = text
        return number


def _number(text: str) -> float:
    number = float(text)
    return number if repr(number) == text else Number(text)


_decode = json.JSONDecoder().decode
_decode_digits = json.JSONDecoder(parse_float=_number).decode


def load(text: bytes) -> Any:
    """The value of a JSON text in UTF-8."""
    return _decode(text.decode())


def load_digits(text: bytes) -> Any:
    """The same, where each number that a float would change is a `Number`."""
    return _decode_digits(text.decode())
