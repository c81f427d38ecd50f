"""Records: classes of objects that consist of named fields, and what their annotations name."""

import dataclasses
import functools
import sys
import types
import typing
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple, Optional

Names = dict[str, Any]

_HIDING = ("Annotated", "Required", "NotRequired", "ReadOnly", "Final")


class Field(NamedTuple):
    """A field of a record."""

    attribute: str
    #: The member that it is stored as.
    member: str
    #: The argument by which the class takes it; None where it takes none.
    argument: Optional[str]


@functools.cache
def fields_of(cls: Any) -> Optional[tuple[Field, ...]]:
    """The fields of a class of dataclasses, attrs or msgspec; None of any other."""
    if not isinstance(cls, type):
        return None
    if dataclasses.is_dataclass(cls):
        return tuple(Field(it.name, it.name, it.name if it.init else None) for it in dataclasses.fields(cls))
    if hasattr(cls, "__attrs_attrs__"):
        return tuple(
            Field(it.name, it.name, (getattr(it, "alias", None) or it.name.lstrip("_")) if it.init else None)
            for it in cls.__attrs_attrs__
        )
    if hasattr(cls, "__struct_encode_fields__"):
        names: Any = zip(cls.__struct_fields__, cls.__struct_encode_fields__)  # type: ignore[attr-defined]
        return tuple(Field(name, member, name) for name, member in names)
    return None


def members_by(cls: type) -> Optional[Callable[[Any], dict[str, Any]]]:
    """What tells the members of a record of this class; None where its objects are none."""
    fields = fields_of(cls)
    if fields is None:
        return None
    pairs = [(field.member, field.attribute) for field in fields]
    if not hasattr(cls, "__struct_config__"):
        return lambda record: {member: getattr(record, attribute) for member, attribute in pairs}
    tag = {cls.__struct_config__.tag_field: cls.__struct_config__.tag}
    unset = sys.modules["msgspec"].UNSET

    def members(record: Any) -> dict[str, Any]:
        values = {member: getattr(record, attribute) for member, attribute in pairs}
        values = {member: value for member, value in values.items() if value is not unset}
        return values if None in tag else {**tag, **values}

    return members


def is_typed_dict(hint: Any) -> bool:
    """Whether this is a class of TypedDict."""
    return isinstance(hint, type) and typing.get_origin(hint) is None and hasattr(hint, "__total__")


def is_named_tuple(hint: Any) -> bool:
    """Whether this is a class of NamedTuple."""
    return typing.get_origin(hint) is None and isinstance(hint, type) and hasattr(hint, "_field_defaults")


def is_model(hint: Any) -> bool:
    """Whether this is a class of pydantic's models."""
    return isinstance(hint, type) and hasattr(hint, "model_fields") and hasattr(hint, "model_validate")


def hints_of(cls: Any) -> tuple[dict[str, Any], Names]:
    """The annotations of a class by its attributes' names, and what names in them stand for."""
    names = {**vars(sys.modules[cls.__module__]), cls.__name__: cls}
    if is_model(cls):
        # Here pydantic has put apart what only concerns itself.
        hints = {name: field.annotation for name, field in cls.model_fields.items()}
        return {name: hint for name, hint in hints.items() if not _is_written_by_pydantic(cls, name)}, names
    hints = typing.get_type_hints(cls, None, {cls.__name__: cls}, include_extras=True)
    for attribute in getattr(cls, "__attrs_attrs__", ()):
        hints.setdefault(attribute.name, attribute.type)
    return hints, names


def bare(hint: Any, names: Names) -> Any:
    """What an annotation stands for, without what it only says about it; Any where pydantic writes it in a
    way of its own."""
    while True:
        if isinstance(hint, str):  # Python 3.9 and 3.10 leave the name in list["Song"] as it is
            holder = types.SimpleNamespace(__annotations__={"hint": hint})
            hint = typing.get_type_hints(holder, names, include_extras=True)["hint"]
        elif hasattr(hint, "__metadata__"):
            hint = Any if any(map(writes_itself, hint.__metadata__)) else hint.__origin__
        elif hasattr(hint, "__supertype__"):  # NewType
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        elif getattr(typing.get_origin(hint), "_name", None) in _HIDING:
            hint = typing.get_args(hint)[0]
        else:
            return hint


def parts_of(hint: Any, names: Names, found: Optional[set[Any]] = None) -> Iterator[Any]:
    """What a type consists of, itself among it, each once."""
    found = set() if found is None else found
    hint = bare(hint, names)
    if isinstance(hint, list):  # the parameters of a Callable
        return
    if not typing.get_args(hint):
        if hint in found:
            return
        found.add(hint)
    yield hint
    if typing.get_origin(hint) is not typing.Literal:
        for argument in typing.get_args(hint):
            yield from parts_of(argument, names, found)
    if is_model(hint) or is_typed_dict(hint) or is_named_tuple(hint) or fields_of(hint):
        hints, inner = hints_of(hint)
        for part in hints.values():
            yield from parts_of(part, inner, found)


def writes_itself(metadata: Any) -> bool:
    """Whether what an annotation says with Annotated is a serializer of pydantic's."""
    return hasattr(metadata, "when_used") or hasattr(metadata, "encoder")


def _is_written_by_pydantic(model: Any, name: str) -> bool:
    return any(map(writes_itself, model.model_fields[name].metadata)) or any(
        name in it.info.fields or "*" in it.info.fields
        for it in model.__pydantic_decorators__.field_serializers.values()
    )
