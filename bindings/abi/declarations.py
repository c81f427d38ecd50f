"""What the headers declare, as libclang sees it: names, C types, sizes and offsets, each with its comment."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Optional

from clang import cindex
from clang.cindex import Cursor, CursorKind, TypeKind


class Field(NamedTuple):
    """A parameter, or a member of a struct; offset and size are in bytes, and of members alone."""

    name: str
    type: str
    comment: str = ""
    offset: int = 0
    size: int = 0


class Declaration(NamedTuple):
    """One thing that a header declares; which of the fields say something depends on its kind."""

    kind: str  # function, callback, struct, handle, enum
    name: str
    header: str
    comment: str
    result: str = "void"
    fields: "tuple[Field, ...]" = ()
    values: "tuple[tuple[str, int, str], ...]" = ()
    size: int = 0
    alignment: int = 0
    must_use: bool = False


class Contract(NamedTuple):
    """All that the headers declare, and the comment at the top of each."""

    declarations: "list[Declaration]"
    constants: "list[tuple[str, int, str, str]]"  # name, value, header, comment
    heads: "dict[str, str]"


def read(include: Path, compiler: str = "cc") -> Contract:
    """Reads all headers below a folder through its umbrella holdfast.h."""
    # libclang brings no headers of its own; any compiler's will do, for only sizes are asked for.
    own = subprocess.run([compiler, "-print-file-name=include"], capture_output=True, text=True, check=True)
    arguments = ["-x", "c", "-std=c99", f"-I{include}", "-isystem", own.stdout.strip()]
    unit = cindex.Index.create().parse(str(include / "holdfast.h"), args=arguments)
    faults = [str(fault) for fault in unit.diagnostics if fault.severity >= cindex.Diagnostic.Error]
    if faults:
        raise SystemExit("the headers do not compile: " + "; ".join(faults))
    folder = include / "holdfast"
    found = [it for it in map(_declaration, _of_folder(unit.cursor, folder)) if it is not None]
    texts = {path.name: path.read_text() for path in sorted(folder.glob("*.h"))}
    heads = {name: _without_stars(text[: text.index("*/")]) for name, text in texts.items()}
    constants = [constant for name, text in texts.items() for constant in _constants(name, text)]
    return Contract(found, constants, heads)


def _of_folder(root: Cursor, folder: Path) -> Iterator[Cursor]:
    for cursor in root.get_children():
        file = cursor.location.file
        if file is not None and Path(file.name).parent == folder:
            yield cursor


def _declaration(cursor: Cursor) -> Optional[Declaration]:
    where = (cursor.spelling, Path(cursor.location.file.name).name)
    comment = _without_stars(cursor.raw_comment or "")
    if cursor.kind == CursorKind.FUNCTION_DECL:
        must_use = any(it.kind == CursorKind.WARN_UNUSED_RESULT_ATTR for it in cursor.get_children())
        parameters = tuple(_parameters(cursor))
        return Declaration(
            "function", *where, comment, _spelling(cursor.result_type), parameters, must_use=must_use
        )
    if cursor.kind != CursorKind.TYPEDEF_DECL:
        return None
    type_ = cursor.underlying_typedef_type
    if type_.kind == TypeKind.POINTER:
        result = _spelling(type_.get_pointee().get_result())
        return Declaration("callback", *where, comment, result, tuple(_parameters(cursor)))
    body = type_.get_declaration()
    if body.kind == CursorKind.ENUM_DECL:
        values = [
            (it.spelling, it.enum_value, _without_stars(it.raw_comment or ""))
            for it in body.get_children()
            if it.kind == CursorKind.ENUM_CONSTANT_DECL
        ]
        return Declaration("enum", *where, comment, values=tuple(values))
    if not body.is_definition():
        return Declaration("handle", *where, comment)
    members = [
        Field(
            it.spelling,
            _spelling(it.type),
            _without_stars(it.raw_comment or ""),
            it.get_field_offsetof() // 8,
            it.type.get_size(),
        )
        for it in body.get_children()
        if it.kind == CursorKind.FIELD_DECL
    ]
    size, alignment = type_.get_size(), type_.get_align()
    return Declaration("struct", *where, comment, fields=tuple(members), size=size, alignment=alignment)


def _parameters(cursor: Cursor) -> Iterator[Field]:
    for it in cursor.get_children():
        if it.kind == CursorKind.PARM_DECL:
            yield Field(it.spelling, _spelling(it.type))


def _spelling(type_: cindex.Type) -> str:
    return type_.spelling.replace("struct ", "").replace("_Bool", "bool")


def _constants(header: str, text: str) -> Iterator["tuple[str, int, str, str]"]:
    """The macros that stand for numbers: those with a comment of their own are a part of the contract."""
    pattern = re.compile(r"/\*\*((?:(?!\*/).)*)\*/\s*#define (HF_\w+) (.+)$", re.MULTILINE | re.DOTALL)
    numbers = {"UINT64_MAX": 2**64 - 1, "((size_t)-1)": 2**64 - 1}
    for comment, name, value in pattern.findall(text):
        value = value.split("\n")[0].strip()
        yield name, numbers[value] if value in numbers else int(value), header, _without_stars(comment)


def _without_stars(comment: str) -> str:
    """The text of a comment, its lines as they stand, without what makes them a comment."""
    text = re.sub(r"^\s*/\*+|\*+/\s*$", "", comment.strip())
    return "\n".join(re.sub(r"^\s*\* ?", "", line).rstrip() for line in text.split("\n")).strip()
