"""Classes of entities, of each kind that the package knows."""

import dataclasses
from typing import Any

import attrs
import msgspec
import pydantic
import pydantic.dataclasses
from typing_extensions import TypedDict

KINDS = ["dataclass", "attrs", "msgspec", "pydantic dataclass", "pydantic", "TypedDict"]
LOOSE = pydantic.ConfigDict(arbitrary_types_allowed=True)


def class_of(kind: str, hint: Any) -> Any:
    """A class of this kind with the fields "id" and "it", which is annotated so."""
    annotations = {"id": str, "it": hint}
    if kind == "dataclass":
        return dataclasses.make_dataclass("Song", annotations.items())
    if kind == "attrs":
        return attrs.make_class("Song", {name: attrs.field(type=it) for name, it in annotations.items()})
    if kind == "msgspec":
        return msgspec.defstruct("Song", list(annotations.items()))
    if kind == "pydantic dataclass":
        return pydantic.dataclasses.dataclass(
            dataclasses.make_dataclass("Song", annotations.items()), config=LOOSE
        )
    if kind == "pydantic":
        return pydantic.create_model(
            "Song", __config__=LOOSE, **{name: (it, ...) for name, it in annotations.items()}
        )
    return TypedDict("Song", annotations)  # type: ignore[operator]
