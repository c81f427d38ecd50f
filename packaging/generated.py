"""Writes what Debian's package has besides the sources, from the contract as data and from the command.

Usage: generated.py DEBIAN VERSION. DEBIAN receives the symbols of the library, manual pages and completions.
"""

import datetime
import json
import os
import sys
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class
from holdfast.command.program import program

ABI: "dict[str, Any]" = json.loads((Path(__file__).parents[1] / "bindings/abi/holdfast-abi.json").read_text())
DATE = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc).date()


def symbols() -> str:
    """dpkg's list of the library's symbols, each with the version since when there is it."""
    lines = [
        f"{ABI['soname']} libholdfast0 #MINVER#",
        "* Build-Depends-Package: libholdfast-dev",
    ]
    lines.append(" HOLDFAST_0@HOLDFAST_0 0.1.0")
    lines += sorted(f" {it['name']}@HOLDFAST_0 {it['since']}" for it in ABI["functions"])
    return "\n".join(lines) + "\n"


def troff(text: str) -> str:
    """Text for a manual page: what is indented stays as it stands, the rest is filled."""
    lines: list[str] = []
    as_it_stands = False
    for line in text.replace("\\", "\\\\").replace("-", "\\-").split("\n"):
        if line.startswith("  ") != as_it_stands and line.strip():
            as_it_stands = not as_it_stands
            lines.append(".nf" if as_it_stands else ".fi")
        if not line.strip():
            lines.append(".PP" if not as_it_stands else "")
        else:
            lines.append(f"\\&{line}" if line.startswith((".", "'")) else line)
    return "\n".join([*lines, *([".fi"] if as_it_stands else [])])


def page(name: str, section: int, version: str, what: str, parts: "list[tuple[str, str]]") -> str:
    """A manual page of parts with their headings."""
    head = f'.TH {name.upper()} {section} "{DATE}" "Holdfast {version}" "Holdfast"'
    text = [head, ".SH NAME", f"{name} \\- {troff(what)}"]
    for title, content in parts:
        text += [f".SH {title}", content]
    return "\n".join(text) + "\n"


def of_header(header: "dict[str, Any]", version: str) -> "tuple[str, str]":
    """The manual page of a header, by its name: what it is about, and each of its functions."""
    title, _, what = header["description"].split("\n\n")[0].replace("\n", " ").partition(": ")
    parts = [
        ("SYNOPSIS", ".nf\n#include <holdfast.h>\n.fi"),
        ("DESCRIPTION", troff(header["description"])),
    ]
    for kind in ("structs", "callbacks", "functions"):
        for it in ABI[kind]:
            if it["header"] == header["name"]:
                told = f".nf\n.B {troff(declaration(it))}\n.fi\n.PP\n" if "parameters" in it else ""
                parts.append((it["name"], told + troff(it.get("comment", it["description"]))))
    name = f"holdfast_{Path(header['name']).stem}"
    first = what.split(". ")[0].rstrip(".") or title
    return f"{name}.3", page(name, 3, version, first, parts)


def declaration(function: "dict[str, Any]") -> str:
    """A function as C writes it, in one line."""
    taken = ", ".join(f"{it['type']} {it['name']}" for it in function["parameters"]) or "void"
    name = function["name"] if function["name"].endswith("_fn") is False else f"(*{function['name']})"
    return f"{function['result']['type']} {name}({taken});".replace("* ", "*")


def of_command(version: str) -> str:
    """The manual page of the command, with each of its parts."""
    context = click.Context(program, info_name="holdfast", terminal_width=78, max_content_width=78)
    parts = [
        ("SYNOPSIS", ".B holdfast\n[options] command [arguments]"),
        ("DESCRIPTION", shown(program, context)),
    ]
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        inner = click.Context(
            command,
            info_name=name,
            parent=context,
            terminal_width=78,
            max_content_width=78,
        )
        parts.append((name, shown(command, inner)))
    return page(
        "holdfast",
        1,
        version,
        "looks into Holdfast stores, fills and maintains them",
        parts,
    )


def shown(command: click.Command, context: click.Context) -> str:
    """What a command says of itself."""
    return (
        ".nf\n"
        + troff(command.get_help(context)).replace(".nf\n", "").replace("\n.fi", "").replace(".PP", "")
        + "\n.fi"
    )


def main(debian: Path, version: str) -> None:
    """Writes everything."""
    (debian / "libholdfast0.symbols").write_text(symbols())
    manual = debian / "manual"
    manual.mkdir(exist_ok=True)
    for header in ABI["headers"]:
        name, text = of_header(header, version)
        (manual / name).write_text(text)
    (manual / "holdfast.1").write_text(of_command(version))
    for shell in ("bash", "zsh"):
        kind = get_completion_class(shell)
        text = kind(program, {}, "holdfast", "_HOLDFAST_COMPLETE").source()
        (debian / f"holdfast.{shell}-completion").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
