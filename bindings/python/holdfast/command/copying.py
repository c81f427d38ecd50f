"""The command `copy`: entities of one store into another, or of one repository into another."""

import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO, Any, Optional

import click

from .. import errors
from ..store import Store
from .failures import Failure, piecemeal
from .parameters import existing_option, indexes_option, repositories_option
from .progress import entities_of, progress
from .session import Session

_LINE = re.compile(r"^line \d+: ")


@click.command()
@click.argument("store", type=click.Path(), metavar="SOURCE")
@click.argument("target", type=click.Path())
@repositories_option
@click.option("--as", "name", metavar="NAME", help="What the repository is called there.")
@existing_option
@indexes_option
@click.option("--resume", metavar="NAME", help="Run again with the same name, it stores only the rest.")
@click.pass_obj
def copy(
    session: Session,
    store: str,
    target: str,
    repositories: "tuple[str, ...]",
    name: Optional[str],
    existing: Optional[str],
    indexes: bool,
    resume: Optional[str],
) -> None:
    """Copy the entities of a store into another.

    Or some of its repositories, or with --as one repository under another name, also in the same store; with
    versions and indexes, and as of one commit. Each of the two may be a file or on a server. TARGET is
    created where there is none. What was stored there before a failure or Ctrl-C stays, and with --resume is
    not stored again, as long as SOURCE is as it was. Answers "entities" (how many were read), "stored" and
    "skipped".

    \b
    Examples:
        holdfast copy music.db archive.db
        holdfast copy music.db archive.db --repository songs --existing replace
        holdfast copy music.db music.db --repository songs --as songs_2026
        holdfast copy music.db postgresql://me@host/database --resume monday
    """
    is_same = _place(store) == _place(target)
    if name is not None and len(repositories) != 1:
        raise click.UsageError("--as needs one --repository.")
    if is_same and name in (None, *repositories):
        raise click.UsageError("Within a store a repository is copied --as another one.")
    with _of_no_file(), session.open(store, write=is_same) as source:
        with _target(session, target, source if is_same else None) as copied:
            with progress(session, "Copying", total=entities_of(source, repositories)) as tell:
                with piecemeal(tell), _exporting(source, repositories, name) as lines:
                    report = copied.import_lines(
                        lines, existing=existing, resume=resume, indexes=indexes, progress=tell
                    )
            session.output.done(report)


@contextmanager
def _of_no_file() -> Iterator[None]:
    """What goes wrong with an entity on its way, which is a line only in between."""
    try:
        yield
    except (errors.Error, Failure) as error:
        failure = error if isinstance(error, Failure) else Failure.of(error)
        message = _LINE.sub("", failure.message).replace("leave --key out", "copy it --as another")
        detail = {name: value for name, value in failure.detail.items() if name != "line"}
        raise Failure(message, failure.exit_code, error=failure.error, detail=detail) from error


def _place(url: str) -> str:
    """Which file a URL means."""
    return os.path.realpath(url[len("sqlite:") :] if url.startswith("sqlite:") else url)


def _target(session: Session, url: str, same: Optional[Store]) -> "AbstractContextManager[Store]":
    if same is not None:
        return nullcontext(same)
    # In a shell, whose store is the source, this is another one.
    return Session(session.output, session.read_only).open(url, write=True, create=True)


@contextmanager
def _exporting(store: Store, repositories: "tuple[str, ...]", name: Optional[str]) -> Iterator[IO[bytes]]:
    """The lines of an export, which another thread writes meanwhile."""
    reading, writing = os.pipe()
    failures: list[BaseException] = []

    def export() -> None:
        try:
            with open(writing, "wb") as file:
                target: Any = file if name is None else _Renaming(file, name)
                store.export_lines(target, repositories=repositories or None)
        except BrokenPipeError:
            pass  # who reads has failed, and tells it
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=export)
    thread.start()
    try:
        with open(reading, "rb") as lines:
            yield lines
    except errors.Error:
        thread.join()
        # That the lines end too early is what comes of it.
        if not failures:
            raise
    finally:
        thread.join()
    if failures:
        raise failures[0]


class _Renaming:
    """A file for an export of one repository, to which that gets another name."""

    def __init__(self, file: "IO[bytes]", name: str) -> None:
        self._file, self._name = file, name

    def write(self, lines: bytes) -> int:
        """Writes whole lines."""
        self._file.writelines(map(self._renamed, lines.splitlines(keepends=True)))
        return len(lines)

    def flush(self) -> None:
        """Writes what waits."""
        self._file.flush()

    def _renamed(self, line: bytes) -> bytes:
        begin = b'{"repository":"'
        if line.startswith(begin):
            # Names have no characters that JSON escapes, and entities stay as they were written.
            return begin + self._name.encode() + line[line.index(b'"', len(begin)) :]
        told = json.loads(line)
        for repository in told.get("repositories", ()):
            repository["name"] = self._name
        return json.dumps(told).encode() + b"\n"
