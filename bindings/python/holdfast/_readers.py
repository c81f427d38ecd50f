"""Readers: what turns JSON's values into those that a class's annotations name."""

import datetime
import enum
import functools
import types
import typing
from collections import deque
from collections.abc import Iterable, Mapping, Set
from decimal import Decimal
from typing import Any, NamedTuple, Optional, Union

from . import _forms, _models, _records
from ._json import dump, load
from ._leaves import NUMBERS, MisfitError, Reader, leaf_of, leaf_reader, misfit, shown
from ._records import Names

_UNIONS = (Union, getattr(types, "UnionType", Union))


# --- Classes ------------------------------------------------------------------------------------------


def entity_reader(cls: Any) -> Optional[Reader]:
    """What makes an entity of its members; None where they are the entity."""
    if _records.is_typed_dict(cls):
        return functools.partial(_read_typed_dict, cls)
    reader = _object_reader(cls)
    if reader is None:
        raise TypeError(
            f"A repository's class is a dataclass, one of attrs or msgspec, a TypedDict, or has from_dict or "
            f"model_validate; {getattr(cls, '__name__', repr(cls))} is none of them."
        )
    return reader


def value_reader(cls: Any) -> Reader:
    """What makes a value of a class of what stands for it."""
    return _class_reader(cls, False) or entity_reader(cls)  # type: ignore[return-value]


def is_of_digits(cls: Any) -> bool:
    """Whether there are decimals in a class, whose digits a float may not keep."""
    return any(isinstance(part, type) and issubclass(part, Decimal) for part in _records.parts_of(cls, {}))


def _object_reader(cls: Any) -> Optional[Reader]:
    if _records.is_model(cls):
        return functools.partial(_read_model, cls)
    for name in ("model_validate", "from_dict"):
        if hasattr(cls, name):
            return getattr(cls, name)  # type: ignore[no-any-return]
    return None if _records.fields_of(cls) is None else functools.partial(_read_record, cls)


def _read_record(cls: Any, members: Any) -> Any:
    """A record of its members; what is no field is ignored, what is missing takes its default."""
    if not isinstance(members, dict):
        raise misfit(members, cls.__name__)
    values = {}
    member = ""
    try:
        for member, argument, reader in _arguments(cls):
            if member in members:
                value = members[member]
                values[argument] = value if reader is None or value is None else reader(value)
    except Exception as error:
        raise MisfitError.at(member, error) from error
    return cls(**values)


# Filled when the first entity is read, not when a class is named, so that classes may hold themselves.
@functools.cache
def _arguments(cls: Any) -> tuple[tuple[str, str, Optional[Reader]], ...]:
    hints, names = _records.hints_of(cls)
    return tuple(
        (field.member, field.argument, _reader(hints.get(field.attribute, Any), names))
        for field in _records.fields_of(cls) or ()
        if field.argument is not None
    )


def _read_model(cls: Any, members: Any) -> Any:
    return cls.model_validate(_prepared(cls, members) if _prepared_members(cls) else members)


def _prepared(cls: Any, members: Any) -> Any:
    """What a model is made of, values already of the types that pydantic makes otherwise of JSON. What it
    reads by itself is left to it, and so is what does not fit."""
    readers = _prepared_members(cls)
    if not readers:
        return members
    if "" in readers:
        return _left(readers[""], members)
    if not isinstance(members, dict):
        return members
    return {
        name: _left(readers[name], value) if name in readers and value is not None else value
        for name, value in members.items()
    }


def _left(reader: Reader, value: Any) -> Any:
    try:
        return reader(value)
    except MisfitError:
        return value


@functools.cache
def _prepared_members(cls: Any) -> dict[str, Reader]:
    if not any(map(_is_prepared, _records.parts_of(cls, {}))) or _models.is_written_as_json(cls):
        return {}
    hints, names = _records.hints_of(cls)
    by_alias = _models.aliases_of(cls)
    readers = {
        _models.member_of(cls, name) if by_alias else name: _reader(hint, names, is_of_model=True)
        for name, hint in hints.items()
    }
    if hasattr(cls, "__pydantic_root_model__") and cls.__pydantic_root_model__:
        readers = {"": readers.get("root")}
    return {name: reader for name, reader in readers.items() if reader is not None}


def _is_prepared(part: Any) -> bool:
    origin = typing.get_origin(part)
    if origin is not None:
        # A text fits each type that one of text does.
        keys = typing.get_args(part)[0] if isinstance(origin, type) and issubclass(origin, Mapping) else None
        return typing.get_origin(keys) in _UNIONS
    return isinstance(part, type) and (
        part in _forms.registered or leaf_of(part) is not None or issubclass(part, enum.Enum)
    )


def _read_typed_dict(cls: Any, members: Any) -> Any:
    readers = _typed_members(cls)
    if not readers or not isinstance(members, dict):
        return members
    return {name: _at(name, readers.get(name), value) for name, value in members.items()}


@functools.cache
def _typed_members(cls: Any) -> dict[str, Reader]:
    hints, names = _records.hints_of(cls)
    readers = {name: _reader(hint, names) for name, hint in hints.items()}
    return {name: reader for name, reader in readers.items() if reader is not None}


def _read_named_tuple(cls: Any, values: Any) -> Any:
    if not isinstance(values, list):
        raise misfit(values, cls.__name__)
    readers = _tuple_readers(cls)
    return cls(*(_at(i, reader, value) for i, (reader, value) in enumerate(zip(readers, values))))


@functools.cache
def _tuple_readers(cls: Any) -> list[Optional[Reader]]:
    hints, names = _records.hints_of(cls)
    return [_reader(hints.get(field, Any), names) for field in cls._fields]


_forms.forgetting += [
    it.cache_clear for it in (_arguments, _prepared_members, _typed_members, _tuple_readers)
]


# --- Annotations --------------------------------------------------------------------------------------


def _reader(hint: Any, names: Names, is_of_model: bool = False) -> Optional[Reader]:
    """What turns a JSON value into a field's type; None when the value is right as it is."""
    hint = _records.bare(hint, names)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return _class_reader(hint, is_of_model) if isinstance(hint, type) else None
    if origin in _UNIONS:
        return _union_reader(arguments, names, is_of_model)
    if origin is typing.Literal:
        return _choice_reader(arguments, "Literal")
    if not isinstance(origin, type):
        return None
    readers = [_reader(argument, names, is_of_model) for argument in arguments if argument is not ...]
    if issubclass(origin, Mapping) and len(arguments) == 2:
        return _mapping_reader(_key_reader(arguments[0], names), readers[1])
    if issubclass(origin, tuple):
        if ... in arguments or len(readers) == 0:
            return _array_reader(readers[0] if readers else None, tuple)
        return functools.partial(_read_tuple, readers)
    if issubclass(origin, (Set, deque)) and arguments:
        make = next(it for it in (frozenset, deque, set) if issubclass(origin, it) or it is set)
        return _array_reader(readers[0], make)
    if issubclass(origin, Iterable) and arguments:
        return None if readers[0] is None else _array_reader(readers[0], list)
    return _class_reader(origin, is_of_model)


def _class_reader(cls: Any, is_of_model: bool) -> Optional[Reader]:
    if cls in _forms.registered:
        return functools.partial(_read_registered, cls)
    if issubclass(cls, enum.Enum):
        return functools.partial(_read_member, cls)
    if _records.is_typed_dict(cls):
        return functools.partial(_read_typed_dict, cls)
    if _records.is_named_tuple(cls):
        return functools.partial(_read_named_tuple, cls)
    if cls in (set, frozenset, tuple, deque):
        return _array_reader(None, cls)
    if is_of_model and _records.is_model(cls):
        return functools.partial(_prepared, cls)
    return leaf_reader(cls) or _object_reader(cls)


def _read_registered(cls: Any, value: Any) -> Any:
    try:
        return _forms.registered[cls][1](value)
    except Exception as error:
        raise MisfitError(f"cannot be read: {error}") from error


def _read_member(cls: Any, value: Any) -> Any:
    """A member of an enumeration by its value, or by what stands for that in JSON."""
    try:
        return cls(value)
    except (TypeError, ValueError):
        by_text = _members_by_text(cls)
        text = dump(value)
        if text in by_text:
            return by_text[text]
        raise misfit(value, cls.__name__, f"one of {shown(list(map(load, by_text)))}") from None


@functools.cache
def _members_by_text(cls: Any) -> dict[bytes, Any]:
    return {dump(member): member for member in cls}


def _mapping_reader(key: Optional[Reader], reader: Optional[Reader]) -> Optional[Reader]:
    if key is None and reader is None:
        return None

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise misfit(value, "dict")
        try:
            if key is None:
                return {name: _read(reader, item) for name, item in value.items()}
            return {key(name): _read(reader, item) for name, item in value.items()}
        except Exception as error:
            for name, item in value.items():
                _at(name, key, name)
                _at(name, reader, item)
            raise error

    return read


def _array_reader(reader: Optional[Reader], make: Any) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise misfit(value, make.__name__)
        if reader is None:
            return make(value)
        try:
            items = [_read(reader, item) for item in value]
        except Exception as error:
            for place, item in enumerate(value):
                _at(place, reader, item)
            raise error
        return items if make is list else make(items)

    return read


def _read_tuple(readers: list[Optional[Reader]], value: Any) -> Any:
    if not isinstance(value, list) or len(value) != len(readers):
        raise misfit(value, f"tuple of {len(readers)}")
    return tuple(_at(place, reader, item) for place, (reader, item) in enumerate(zip(readers, value)))


def _read(reader: Optional[Reader], value: Any) -> Any:
    return value if reader is None or value is None else reader(value)


def _at(place: Any, reader: Optional[Reader], value: Any) -> Any:
    """A part of a value. Where it does not fit the error tells the place."""
    try:
        return value if reader is None or value is None else reader(value)
    except Exception as error:
        raise MisfitError.at(place, error) from error


def _choice_reader(choices: Iterable[Any], name: str) -> Optional[Reader]:
    """One of these values, of which JSON has no more than their forms."""
    if all(type(choice) in (str, int, bool, type(None)) for choice in choices):
        return None
    by_text = {dump(choice): choice for choice in choices}

    def read(value: Any) -> Any:
        text = dump(value)
        if text not in by_text:
            raise misfit(value, name, f"one of {shown(list(map(load, by_text)))}")
        return by_text[text]

    return read


# --- Unions -------------------------------------------------------------------------------------------


class _Candidate(NamedTuple):
    #: The types of JSON that it is read from; None for any.
    types: Optional[tuple[type, ...]]
    reader: Optional[Reader]


def _union_reader(arguments: tuple[Any, ...], names: Names, is_of_model: bool) -> Optional[Reader]:
    """The first type that reads a value gives it. Which of several classes of objects a value stands for is
    not written in it: such is left as it is."""
    hints = [_records.bare(it, names) for it in arguments if it is not type(None)]
    if datetime.date in hints:
        # Which reads moments as such, and only those.
        hints = [it for it in hints if it is not datetime.datetime]
    candidates = [_Candidate(_types_of(it), _reader(it, names, is_of_model)) for it in hints]
    if sum(it.types == (dict,) for it in candidates) > 1:
        candidates = [it if it.types != (dict,) else it._replace(reader=None) for it in candidates]
    if all(it.reader is None for it in candidates):
        return None
    if len(candidates) == 1:
        return candidates[0].reader

    def read(value: Any) -> Any:
        last: Optional[Exception] = None
        for types_read, reader in candidates:
            if types_read is None or type(value) in types_read:
                if reader is None:
                    return value
                try:
                    return reader(value)
                except Exception as error:
                    last = error
        raise last or misfit(value, " or ".join(getattr(it, "__name__", str(it)) for it in hints))

    return read


def _types_of(hint: Any) -> Optional[tuple[type, ...]]:
    cls = typing.get_origin(hint) or hint
    if not isinstance(cls, type) or cls in _forms.registered or issubclass(cls, enum.Enum):
        return None
    leaf = leaf_of(cls)
    if leaf is not None:
        return leaf.types
    for base, types_read in _TYPES.items():
        if issubclass(cls, base):
            return types_read
    if _records.is_model(cls) or _records.fields_of(cls) or hasattr(cls, "from_dict"):
        return (dict,)
    return (dict,) if issubclass(cls, Mapping) else (list,) if issubclass(cls, Iterable) else None


_TYPES: dict[type, tuple[type, ...]] = {
    bool: (bool,),
    int: (int,),
    float: NUMBERS,
    str: (str,),
    dict: (dict,),
    list: (list,),
    tuple: (list,),
}


# --- The keys of dicts --------------------------------------------------------------------------------


def _key_reader(hint: Any, names: Names) -> Optional[Reader]:
    """What turns a name in JSON, which is text, into a key; None when the text is the key."""
    hint = _records.bare(hint, names)
    if typing.get_origin(hint) in _UNIONS:
        readers = [_key_reader(it, names) for it in typing.get_args(hint)]
        return None if all(it is None for it in readers) else functools.partial(_first_key, readers)
    if typing.get_origin(hint) is typing.Literal:
        return _named_reader(typing.get_args(hint), "Literal")
    if not isinstance(hint, type) or typing.get_origin(hint) is not None:
        return None
    if hint in _forms.registered:
        return functools.partial(_read_registered, hint)
    if issubclass(hint, enum.Enum):
        return _named_reader(list(hint), hint.__name__)
    if issubclass(hint, (bool, type(None))):
        return _named_reader((True, False) if issubclass(hint, bool) else (None,), hint.__name__)
    if issubclass(hint, (int, float)):
        return _number_key(hint)
    leaf = leaf_of(hint)
    if leaf is not None and str not in leaf.types:
        number, read = _number_key(float), leaf_reader(hint)
        return lambda name: read(int(name) if name.lstrip("-").isdigit() else number(name))  # type: ignore[misc]
    return leaf_reader(hint)


def _first_key(readers: list[Optional[Reader]], name: str) -> Any:
    for reader in readers:
        if reader is None:
            return name
        try:
            return reader(name)
        except Exception as raised:
            error = raised
    raise error


def _number_key(cls: Any) -> Reader:
    def read(name: Any) -> Any:
        try:
            return cls(name)
        except ValueError:
            raise misfit(name, cls.__name__) from None

    return read


def _named_reader(choices: Iterable[Any], what: str) -> Reader:
    by_name = {next(iter(load(dump({choice: None})))): choice for choice in choices}

    def read(name: Any) -> Any:
        if name not in by_name:
            raise misfit(name, what, f"one of {shown(list(by_name))}")
        return by_name[name]

    return read
