"""Models: how pydantic's models are written, so that they can be read again."""

import functools
import typing
from typing import Any, Callable, Optional

from . import _records

Members = dict[str, Any]


def members_by(cls: Any, is_known: Callable[[type], bool]) -> Callable[[Any], Members]:
    """What tells the members of a class that has model_dump."""
    aliases = aliases_of(cls)
    if not _records.is_model(cls) or is_written_as_json(cls):
        return lambda entity: entity.model_dump(mode="json", **aliases)
    if all(_is_plain(part, is_known) for part in _records.parts_of(cls, {})):
        return lambda entity: entity.model_dump(**aliases)
    return lambda entity: _settled(entity.model_dump(**aliases), is_known)


def stored_fields(cls: Any, key: str) -> Optional[dict[str, str]]:
    """The attributes of a model by the names of the members that they are stored as; None where it takes
    others too. Refuses one that could not be read as it is written."""
    for model in _models(cls, set()):
        _check_is_read(model)
    by_alias = aliases_of(cls)
    fields = cls.model_fields
    stored = {member_of(cls, name) if by_alias else name: name for name in fields}
    if key in fields and key not in stored:
        alias = next(alias for alias, name in stored.items() if name == key)
        raise TypeError(f'{cls.__name__} stores its "{key}" as "{alias}"; open the repository with that key.')
    return None if getattr(cls, "model_config", {}).get("extra") == "allow" else stored


def member_of(cls: Any, name: str) -> str:
    """The alias by which a field is written."""
    return cls.model_fields[name].serialization_alias or name


@functools.cache
def aliases_of(cls: Any) -> dict[str, bool]:
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
        if (member_of(model, name) if by_alias else name) not in read:
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


@functools.cache
def is_written_as_json(cls: Any) -> bool:
    """Whether a model is written only as JSON in the way that it describes, or can be: then what it consists
    of has pydantic's forms."""
    for model in _models(cls, set()):
        decorators = model.__pydantic_decorators__
        for it in (*decorators.field_serializers.values(), *decorators.model_serializers.values()):
            if str(it.info.when_used).startswith("json"):
                return True
        for field in model.model_fields.values():
            if any(map(_is_only_for_json, field.metadata)) or _has_unhashable(field.annotation):
                return True
    return False


def _is_only_for_json(metadata: Any) -> bool:
    return str(getattr(metadata, "when_used", "")).startswith("json") or hasattr(metadata, "encoder")


def _has_unhashable(hint: Any) -> bool:
    """Whether there are sets of what pydantic makes dicts of, or what is written only for JSON."""
    if any(map(_is_only_for_json, getattr(hint, "__metadata__", ()))):
        return True
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) in (set, frozenset) and any(
        _records.is_model(it) or _records.fields_of(it) for it in arguments
    ):
        return True
    return any(map(_has_unhashable, arguments))


def _is_plain(part: Any, is_known: Callable[[type], bool]) -> bool:
    """Whether values of a type need nothing of pydantic to be written."""
    if typing.get_origin(part) is not None or part is None or part is ...:
        return True
    return isinstance(part, type) and (issubclass(part, _JSON) or _records.is_model(part) or is_known(part))


_JSON = (str, int, float, list, tuple, dict, type(None))


def _settled(value: Any, is_known: Callable[[type], bool]) -> Any:
    """A value with pydantic's form in place of what has none here, such as a URL."""
    if isinstance(value, dict):
        return {_settled(key, is_known): _settled(item, is_known) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_settled(item, is_known) for item in value]
    if isinstance(value, (set, frozenset)):
        return {_settled(item, is_known) for item in value}
    if isinstance(value, _JSON) or is_known(type(value)):
        return value
    import pydantic_core

    return pydantic_core.to_jsonable_python(value)
