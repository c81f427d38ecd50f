"""Codec: how entities become JSON, and come back as objects of a repository's class."""

import dataclasses
import functools
import json
import os
import sys
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, Generic, Optional, TypeVar, Union

from . import errors
from ._limits import LIMITS

T = TypeVar("T")

Reader = Callable[[Any], Any]

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_decoder = json.JSONDecoder()
_UNIONS = (Union, getattr(types, "UnionType", Union))
_BYTES = (bytes, bytearray, memoryview)


def dump(value: Any) -> bytes:
    """A value as JSON in UTF-8."""
    return _encoder.encode(value).encode()


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


def load(text: bytes) -> Any:
    """The value of a JSON text in UTF-8."""
    return _decoder.decode(text.decode())


def options_of(options: Mapping[str, Any]) -> Optional[bytes]:
    """Options as the library takes them; those that are None are left out."""
    given = {name: value for name, value in options.items() if value is not None}
    return dump(given) if given else None


def as_list(values: Iterable[Any], what: str) -> list[Any]:
    """A list of what was given for several. One text alone would be taken for its letters."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{what} are a list: write [{values!r}].")
    return list(values)


def as_dict(values: Any, what: str, example: str) -> dict[Any, Any]:
    """A dict of what was given for one."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{what} are a dict, as {example}, not {type(values).__name__}.")
    return dict(values)


def native_text(value: Union[str, "os.PathLike[str]"]) -> bytes:
    """Text for a parameter that ends at its first NUL, which therefore must hold none."""
    text = os.fsencode(value)
    if b"\0" in text:
        raise errors.InvalidArgumentError("The text must not hold a NUL character.")
    return text


def id_of(value: Any) -> bytes:
    """The text of an id, which is given as text or as an integer."""
    if type(value) is str:
        return value.encode()
    return str(plain_id(value)).encode()


def ids_of(values: Iterable[Any]) -> list[Any]:
    """Ids as JSON has them."""
    return [plain_id(value) for value in as_list(values, "Ids")]


def plain_id(value: Any) -> Any:
    """An id as plain text or a plain integer, which is how JSON has it: a member of an enumeration is its
    value. Anything else is refused."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    raise TypeError(f"An id is text or an integer, not {type(value).__name__}.")


class Codec(Generic[T]):
    """Turns entities of one class into JSON and back. Without a class they are dicts.

    Whatever the class, dicts, dataclasses, objects with `to_dict` or `model_dump`, and ready JSON in bytes
    are taken for writing. An id of None counts as none. With the `name` of its repository, what does not fit
    the class is told with it.
    """

    def __init__(self, cls: Optional[type[T]], key: str, name: Optional[str] = None) -> None:
        self.key = key
        self.cls = cls
        self._name = name
        self._type: type = dict if cls is None else cls
        fields = None if cls is None else _stored_fields(cls, key)
        #: The attribute that holds the id.
        self.attribute = key if fields is None else fields.get(key, key)
        # Whether an entity of the class could not tell the id that it is given.
        self._loses_ids = fields is not None and key not in fields
        self._read = None if cls is None else _entity_reader(cls)

    def is_complete(self, entity: Any) -> bool:
        """Whether an entity is of the repository's class and has its id: it is what will be stored."""
        if not isinstance(entity, self._type):
            return False
        id = entity.get(self.key) if isinstance(entity, dict) else getattr(entity, self.attribute, None)
        return id is not None

    def encode(self, entity: Any) -> bytes:
        """The JSON of one entity."""
        return bytes(entity) if isinstance(entity, _BYTES) else dump(self._whole_members(entity))

    def encode_many(self, entities: list[Any]) -> tuple[bytes, bool]:
        """The JSON array of many entities, and whether each of them is complete."""
        if self._type is dict:
            key = self.key
            if all([type(entity) is dict and entity.get(key) is not None for entity in entities]):
                return dump_list(entities), True
        complete = all(map(self.is_complete, entities))
        if any(isinstance(entity, _BYTES) for entity in entities):
            return b"[" + b",".join(map(self.encode, entities)) + b"]", complete
        return dump_list([self._whole_members(entity) for entity in entities]), complete

    def decode(self, text: bytes) -> T:
        """The entity of a JSON text."""
        return self.from_members(load(text))

    @property
    def reader(self) -> Optional[Callable[[Any], T]]:
        """What makes an entity of its members; None where they are the entity."""
        return None if self._read is None else self.from_members

    def from_list(self, entities: list[Any]) -> list[T]:
        """The entities of these members."""
        if self._read is None:
            return entities
        try:
            return list(map(self._read, entities))
        except Exception:
            # Once more, to see which of them it is.
            return list(map(self.from_members, entities))

    def from_members(self, members: Any) -> T:
        """The entity of these members. Raises CorruptError where they do not fit the class."""
        if self._read is None:
            return members
        try:
            return self._read(members)
        except Exception as raised:  # of the class
            if self._name is None:
                raise
            raise misfit(self.cls, self._name, str(members.get(self.key)), raised) from raised

    def from_written(self, members: Any) -> T:
        """The same of what was just written: a CorruptError tells that it is stored."""
        try:
            return self.from_members(members)
        except errors.CorruptError as error:
            error.commit_state = errors.CommitState.DONE
            raise

    def list_from_written(self, entities: list[Any]) -> list[T]:
        """The entities of these members, which were just written."""
        try:
            return self.from_list(entities)
        except errors.CorruptError as error:
            error.commit_state = errors.CommitState.DONE
            raise

    def members(self, entity: Any) -> dict[str, Any]:
        """The members of an entity, without an id of None."""
        members = members_of(entity)
        if self.key in members and members[self.key] is None:
            members = {name: value for name, value in members.items() if name != self.key}
        return members

    def _whole_members(self, entity: Any) -> dict[str, Any]:
        members = self.members(entity)
        if self._loses_ids and self.key not in members:
            name = self._type.__name__
            raise TypeError(
                f'{name} has no field "{self.key}", so nobody could tell the id that an entity is given: add '
                f"the field to the class, or save it under an id of yours, as in repository[id] = entity."
            )
        if self.key not in members and self.is_complete(entity):
            raise TypeError(
                f'{type(entity).__name__} is written without its "{self.key}", so it would be stored under '
                f"another id than it has: have it written too."
            )
        return members


def misfit(cls: Any, repository: str, id: str, raised: Exception) -> errors.CorruptError:
    """What is told of an entity that does not fit its class."""
    message = f'The entity "{id}" of "{repository}" is no {cls.__name__}: {raised}'
    return errors.CorruptError(message, detail={"repository": repository, "id": id})


def members_of(entity: Any) -> dict[str, Any]:
    """The members of an entity, whatever it is."""
    if isinstance(entity, dict):
        return entity
    if isinstance(entity, Mapping):
        return dict(entity)
    if isinstance(entity, _BYTES):
        return load(bytes(entity))
    if hasattr(entity, "model_dump"):
        return entity.model_dump(mode="json", **_aliases(type(entity)))
    if hasattr(entity, "to_dict"):
        return entity.to_dict()
    if dataclasses.is_dataclass(entity) and not isinstance(entity, type):
        return dataclasses.asdict(entity)
    raise TypeError(
        f"An entity is a dict, a dataclass, an object with to_dict or model_dump, or bytes, "
        f"not {type(entity).__name__}."
    )


def _stored_fields(cls: type, key: str) -> Optional[dict[str, str]]:
    """The attributes of a class by the names of the members that they are stored as; None where the class
    tells none, or takes others too."""
    if hasattr(cls, "model_validate") and hasattr(cls, "model_fields"):
        for model in _models(cls, set()):
            _check_is_read(model)
        by_alias = _aliases(cls)
        fields = cls.model_fields
        stored = {(it.serialization_alias or name) if by_alias else name: name for name, it in fields.items()}
        if key in fields and key not in stored:
            alias = next(alias for alias, name in stored.items() if name == key)
            raise TypeError(
                f'{cls.__name__} stores its "{key}" as "{alias}"; open the repository with that key.'
            )
        return None if getattr(cls, "model_config", {}).get("extra") == "allow" else stored
    if dataclasses.is_dataclass(cls) and not hasattr(cls, "from_dict"):
        return {field.name: field.name for field in dataclasses.fields(cls)}
    return None


@functools.cache
def _aliases(cls: Any) -> dict[str, bool]:
    """How pydantic is to write a model so that it can read it again: by its fields' names if it takes those,
    else by their aliases. Where neither will do TypeError names the field."""
    unread = [
        [_unread(model, by_alias) for model in _models(cls, set()) if _unread(model, by_alias)]
        for by_alias in (False, True)
    ]
    if not unread[0]:
        return {}
    if unread[1]:
        raise TypeError(
            f"{unread[1][0]} is written under a name by which it is not read; give it one alias for both, or "
            f"populate_by_name."
        )
    return {"by_alias": True}


def _models(hint: Any, found: set[Any]) -> set[Any]:
    """The pydantic models that a type consists of."""
    if hasattr(hint, "model_fields") and isinstance(hint, type) and hint not in found:
        found.add(hint)
        for field in hint.model_fields.values():
            _models(field.annotation, found)
    for argument in typing.get_args(hint):
        _models(argument, found)
    return found


def _unread(model: Any, by_alias: bool) -> Optional[str]:
    """A field that would not be read by the name by which it is written."""
    config = getattr(model, "model_config", {})
    for name, field in model.model_fields.items():
        if getattr(field, "exclude", None):
            continue  # it is not written
        alias = field.validation_alias
        read: set[Any] = {name} if alias is None else {*getattr(alias, "choices", (alias,))}
        if config.get("populate_by_name") or config.get("validate_by_name"):
            read.add(name)
        if ((field.serialization_alias or name) if by_alias else name) not in read:
            return f"{model.__name__}.{name}"
    return None


def _check_is_read(model: Any) -> None:
    """Refuses a model that could not be read as it is written, whatever it holds."""
    for name, field in model.model_fields.items():
        if getattr(field, "exclude", None) and field.is_required():
            raise TypeError(
                f"{model.__name__}.{name} is not written, and cannot be read without: give it a default."
            )
    if getattr(model, "model_config", {}).get("extra") == "forbid":
        for name in getattr(model, "model_computed_fields", ()):
            raise TypeError(
                f"{model.__name__}.{name} is written, and refused when it is read: allow it as an extra."
            )


def _entity_reader(cls: type) -> Reader:
    for name in ("model_validate", "from_dict"):
        if hasattr(cls, name):
            return getattr(cls, name)
    if dataclasses.is_dataclass(cls):
        return functools.partial(_read_dataclass, cls)
    raise TypeError(
        f"A repository's class is a dataclass or has from_dict or model_validate; {cls.__name__} is neither."
    )


def _read_dataclass(cls: type, members: Any) -> Any:
    """A dataclass from its members; what is no field is ignored, what is missing takes its default."""
    values = {}
    for name, reader in _fields(cls):
        if name in members:
            value = members[name]
            values[name] = value if reader is None or value is None else reader(value)
    return cls(**values)


# Filled when the first entity is read, not when a class is named, so that classes may hold themselves.
@functools.cache
def _fields(cls: type) -> tuple[tuple[str, Optional[Reader]], ...]:
    names = {**vars(sys.modules[cls.__module__]), cls.__name__: cls}
    hints = typing.get_type_hints(cls, names)
    return tuple(
        (field.name, _reader(hints[field.name], names)) for field in dataclasses.fields(cls) if field.init
    )


def _reader(hint: Any, names: dict[str, Any]) -> Optional[Reader]:
    """What turns a JSON value into a field's type; None when the value is right as it is."""
    if isinstance(hint, str):  # Python 3.9 and 3.10 leave the name in list["Song"] as it is
        hint = typing.get_type_hints(types.SimpleNamespace(__annotations__={"hint": hint}), names)["hint"]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _entity_reader(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in _UNIONS:
        candidates = [_reader(argument, names) for argument in arguments]
        readers = [reader for reader in candidates if reader is not None]
        # Which of several classes a value stands for is not written in it.
        return readers[0] if len(readers) == 1 else None
    if not isinstance(origin, type):
        return None
    if issubclass(origin, Mapping) and len(arguments) == 2:
        reader = _reader(arguments[1], names)
        return reader and (lambda value: {name: _read(reader, item) for name, item in value.items()})
    if issubclass(origin, Sequence) and arguments:
        reader = _reader(arguments[0], names)
        if issubclass(origin, tuple):
            return lambda value: tuple(_read(reader, item) for item in value)
        return reader and (lambda value: [_read(reader, item) for item in value])
    return None


def _read(reader: Optional[Reader], value: Any) -> Any:
    return value if reader is None or value is None else reader(value)
