"""Output: JSON for programs, tables for people."""

import itertools
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

from .._limits import LIMITS
from ..receipt import Receipt

# What a terminal would obey and JSON does not escape.
_CONTROLS = re.compile("[\x7f-\x9f]")


def json_text(value: Any, indent: Optional[int] = None) -> str:
    """A value as JSON, without characters that a terminal obeys."""
    separators = (",", ": " if indent else ":")
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _usual_format() -> str:
    return "table" if sys.stdout.isatty() else "lines"


@dataclass(frozen=True)
class Output:
    """Writes to the standard output in one format: "lines" (JSON Lines), "json" or "table"."""

    format: str = field(default_factory=_usual_format)
    #: Whether errors are told in JSON, too.
    json: bool = False
    #: Whether nothing is told of what was done.
    quiet: bool = False
    #: Whether a person is shown how far long work is.
    progress: bool = True

    def rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Writes entities or the like: a line each, an array, or tables."""
        if self.format == "lines":
            for row in rows:
                sys.stdout.write(json_text(row) + "\n")
        elif self.format == "json":
            begin = "["
            for row in rows:
                sys.stdout.write(begin + "\n" + json_text(row, indent=2))
                begin = ","
            sys.stdout.write("[]\n" if begin == "[" else "\n]\n")
        else:
            remaining = iter(rows)
            # In pieces, each with its own columns, so that any number of entities takes little memory.
            while piece := list(itertools.islice(remaining, LIMITS.table_rows)):
                _print_table(piece)

    def report(self, report: Mapping[str, Any]) -> None:
        """Writes one object: a line, indented JSON, or a table of its values with one for each list in it."""
        if self.format != "table":
            sys.stdout.write(json_text(report, indent=2 if self.format == "json" else None) + "\n")
            return
        lists = {name: value for name, value in report.items() if _is_list_of_objects(value)}
        rest = {name: value for name, value in report.items() if name not in lists}
        _print_table([{"": name, "value": value} for name, value in _flattened(rest)])
        for name, value in lists.items():
            _print_table(value, title=name)

    def value(self, name: str, value: Any) -> None:
        """Writes one value by itself; a program that wants JSON finds it under its name."""
        text = json_text({name: value}) if self.json else str(value)
        sys.stdout.write(text + "\n")

    def stored(self, receipt: Receipt) -> None:
        """Writes which entities were stored, with their versions, unless nobody wants to know."""
        if not self.quiet:
            self.rows({"id": change.id, "version": change.version} for change in receipt.changes)

    def done(self, report: Mapping[str, Any]) -> None:
        """Writes what a command has done, unless nobody wants to know."""
        if not self.quiet:
            self.report(report)

    def change(self, change: Mapping[str, Any]) -> None:
        """Writes a change at once, always on a line, for there is no last one."""
        if self.format == "table":
            subject = change.get("entity", change["id"])
            sys.stdout.write(f"{change['change']:8}{json_text(subject)}\n")
        else:
            sys.stdout.write(json_text(change) + "\n")
        sys.stdout.flush()


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _flattened(report: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in report.items():
        if isinstance(value, dict) and value:
            yield from _flattened(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _cell(value: Any) -> str:
    if _is_list_of_objects(value) and all("name" in item for item in value):
        return ", ".join(_cell(item["name"]) for item in value)
    text = json_text(value)
    return text[1:-1].replace('\\"', '"') if isinstance(value, str) else text


def _print_table(rows: list[Mapping[str, Any]], title: Optional[str] = None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Where nobody sees it no line is folded.
    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 1_000_000)
    table = Table(box=box.SIMPLE_HEAD, title=title and Text(title), title_justify="left")
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        values = [row[name] for row in rows if name in row]
        are_numbers = all(isinstance(it, (int, float)) and not isinstance(it, bool) for it in values)
        table.add_column(Text(_cell(name)), justify="right" if are_numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row[name])) if name in row else "" for name in names))
    console.print(table)
