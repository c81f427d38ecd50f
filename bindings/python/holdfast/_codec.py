"""Codec: how entities become JSON, and come back as objects of a repository's class."""

import os
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Callable, Generic, Optional, TypeVar, Union
from uuid import UUID

from . import _models, _readers, _records, errors
from ._forms import members_by
from ._json import Load, dump_list, dump_operands, load_digits
from ._json import dump as dump
from ._json import load as load

T = TypeVar("T")

_BYTES = (bytes, bytearray, memoryview)

#: What is taken for an id; of an Enum that is its value.
Id = Union[str, int, UUID, Enum]


def options_of(options: Mapping[str, Any]) -> Optional[bytes]:
    """Options as the library takes them; those that are None are left out."""
    given = {name: value for name, value in options.items() if value is not None}
    return dump_operands(given) if given else None


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
    value, a UUID its text. Anything else is refused."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return plain_id(value.value)
    raise TypeError(f"An id is text, an integer, a UUID or an Enum of these, not {type(value).__name__}.")


#: In the place of the id that an entity is given when it is stored.
_ID = "00000000-0000-7000-8000-000000000000"


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
        self._type: type = dict if cls is None or _records.is_typed_dict(cls) else cls
        fields = None if cls is None else _stored_fields(cls, key)
        #: The attribute that holds the id.
        self.attribute = key if fields is None else fields.get(key, key)
        # Whether an entity of the class could not tell the id that it is given.
        self._loses_ids = fields is not None and key not in fields
        self._read = None if cls is None else _readers.entity_reader(cls)
        # Chosen when it is first asked for, not when a class is named, so that classes may hold themselves.
        self._load: Optional[Load] = load if cls is None else None

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

    def fitting(self, text: bytes) -> Optional[T]:
        """The entity that JSON which is about to be written will be read as; None where only the library can
        tell that. Raises InvalidEntityError where it does not fit the class."""
        if self._read is None:
            return None
        try:
            members = self.loader()(text)
        except ValueError:  # the library tells what is wrong
            return None
        if not isinstance(members, dict):
            return None
        id = members.get(self.key)
        try:
            entity = self._read(members if id is not None else {**members, self.key: _ID})
        except Exception as raised:
            told = f"{raised}; nothing was stored: write one that fits, or by a repository without `cls`."
            raise errors.InvalidEntityError(
                f"The entity is no {self._type.__name__}: {told}", detail={"repository": self._name}
            ) from raised
        return None if id is None else entity

    def loader(self) -> Load:
        """What makes members of JSON's text so that nothing of them is lost."""
        if self._load is None:
            try:
                self._load = load_digits if _readers.is_of_digits(self.cls) else load
            except NameError:  # in an annotation: who reads the members tells
                return load
        return self._load

    def decode(self, text: bytes) -> T:
        """The entity of a JSON text."""
        return self.from_members((self._load or self.loader())(text))

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
    cure = "bring it to the class, as by store.upgrade, or read it without `cls`"
    message = f'The entity "{id}" of "{repository}" is no {cls.__name__}: {raised}; {cure}'
    return errors.CorruptError(message, detail={"repository": repository, "id": id})


def members_of(entity: Any) -> dict[str, Any]:
    """The members of an entity, whatever it is."""
    if isinstance(entity, dict):
        return entity
    if isinstance(entity, Mapping):
        return dict(entity)
    if isinstance(entity, _BYTES):
        return load(bytes(entity))
    members = members_by(type(entity))
    if members is None:
        raise TypeError(
            f"An entity is a dict, a dataclass, one of attrs or msgspec, an object with to_dict or "
            f"model_dump, or bytes, not {type(entity).__name__}."
        )
    return members(entity)


def _stored_fields(cls: type, key: str) -> Optional[dict[str, str]]:
    """The attributes of a class by the names of the members that they are stored as; None where the class
    tells none, or takes others too."""
    if _records.is_model(cls):
        return _models.stored_fields(cls, key)
    fields = None if hasattr(cls, "from_dict") else _records.fields_of(cls)
    return None if fields is None else {field.member: field.attribute for field in fields}
