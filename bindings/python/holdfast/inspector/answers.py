"""Answers: how entities are told to the page."""

import ctypes
import json
import re
from typing import Any, Optional

from .._answers import EntityText, Views
from .._codec import id_of, load
from .._limits import LIMITS
from ..repository import Repository

# What JSON does not escape and no reader expects in a line.
_CONTROLS = re.compile("[\x7f-\x9f\u2028\u2029]")


def json_text(value: Any) -> str:
    """A value as JSON on one line."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    # Half of a surrogate pair is no character that can be sent.
    text = text.encode("utf-8", "replace").decode()
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def row(entity: dict[str, Any], key: str, version: int) -> dict[str, Any]:
    """An entity as it is shown in a list: each value as JSON, for a browser's numbers lose digits, and of a
    long one the beginning, with its length in "cut"."""
    members, cut = {}, {}
    for name, value in entity.items():
        text = json_text(value)
        if len(text) > LIMITS.cell_characters:
            cut[name] = len(text)
            text = text[: LIMITS.cell_characters]
        members[name] = text
    return {"id": str(entity.get(key)), "version": str(version), "members": members, "cut": cut}


def rows(repository: "Repository[Any]", filter: Any, options: dict[str, Any]) -> list[dict[str, Any]]:
    """What a query finds, as it is shown."""
    key = repository.key
    read = Views(lambda it: row(load(ctypes.string_at(it.data, it.length)), key, it.version))
    found: list[dict[str, Any]] = repository._query("find", read, filter, **options)
    return found


def text_of(repository: "Repository[Any]", id: str) -> Optional[tuple[bytes, int]]:
    """The bytes of an entity as they are stored, and its version; None where there is none."""
    found: Optional[tuple[bytes, int]]
    found = repository._ask("fetch", EntityText(lambda text, version: (text, version)), id=id_of(id))
    return found


def samples(repository: "Repository[Any]", **options: Any) -> list[tuple[dict[str, Any], int]]:
    """Entities with the length of their text."""
    read = Views(lambda it: (load(ctypes.string_at(it.data, it.length)), it.length))
    found: list[tuple[dict[str, Any], int]] = repository._query("find", read, None, damaged="skip", **options)
    return found
