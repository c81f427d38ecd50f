"""Entities, and other objects, as they are typed, piped or read from a file."""

import json
import re
from typing import Any

import click

from .failures import Failure


def text_of(source: str) -> str:
    """What an argument stands for: the JSON that it is, or what a file of this name, or the standard input
    (-), holds."""
    if source.lstrip().startswith(("{", "[")):
        return source
    try:
        with click.open_file(source, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError as error:
        raise click.UsageError(f"{source!r} is no JSON, and there is no file of this name.") from error


def named_once(members: "list[tuple[str, Any]]") -> "dict[str, Any]":
    """For objects that are read here: none of the members silently takes the place of another."""
    named = dict(members)
    if len(named) < len(members):
        names = [name for name, _ in members]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"a member name appears twice: {json.dumps(twice)}")
    return named


def entities_in(text: str) -> list[bytes]:
    """The JSON of each entity in a text of objects, one after the other or in arrays: as it was written, so
    that 1.50 stays 1.50 and the store sees a name that comes twice."""
    found: list[bytes] = []
    position = _next_word(text, 0)
    try:
        while position < len(text):
            position = (_array if text[position] == "[" else _entity)(text, position, found)
            position = _next_word(text, position)
    except (ValueError, RecursionError) as error:
        raise Failure(f"entity {len(found) + 1} is no JSON: {error}") from error
    return found


_white_space = re.compile(r"[ \t\n\r]*")
_decoder = json.JSONDecoder()


def _next_word(text: str, position: int) -> int:
    """Where the white space that begins here has ended."""
    space = _white_space.match(text, position)
    return position if space is None else space.end()


def _entity(text: str, start: int, found: list[bytes]) -> int:
    """Takes what begins here, and answers where it ends."""
    _, end = _decoder.raw_decode(text, start)
    found.append(text[start:end].encode())
    return end


def _array(text: str, start: int, found: list[bytes]) -> int:
    """Takes each element of the array that begins here, and answers where it ends."""
    position = _next_word(text, start + 1)
    if text[position : position + 1] == "]":
        return position + 1
    while True:
        position = _next_word(text, _entity(text, position, found))
        sign = text[position : position + 1]
        if sign == "]":
            return position + 1
        if sign != ",":
            raise json.JSONDecodeError("Expecting ',' or ']'", text, position)
        position = _next_word(text, position + 1)
