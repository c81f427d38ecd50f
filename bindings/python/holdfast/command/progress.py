"""Progress bars, where a person looks at the standard error output."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from .. import errors
from ..store import Store
from .session import Session


def entities_of(store: Store, names: "Sequence[str]" = ()) -> int:
    """How many entities a store, or some of its repositories, have; 0 where damage hides it."""
    with suppress(errors.CorruptError):
        return sum(store.repository(name, create=False).count() for name in names or store.repositories())
    return 0


class Tell:
    """Is told how far long work is; nobody sees it. That it is called makes Ctrl-C be heard."""

    #: What is done: of `total` in all, 0 where that is not known.
    done = 0

    def __init__(self, total: int = 0) -> None:
        self.total = total

    def __call__(self, done: int, total: int = 0) -> None:
        """So much is done."""
        self.done = done

    def read(self, done: int, at: int, size: int) -> None:
        """So much is done, and a file of so many bytes is read up to here: it tells how long it takes."""
        self(done)


class Bar(Tell):
    """Shows it as a task of rich's."""

    def __init__(self, bars: Any, work: str, unit: str, total: int) -> None:
        super().__init__(total)
        self._bars, self._unit = bars, unit
        self._task = bars.add_task(work, total=total or None, told="")

    def __call__(self, done: int, total: int = 0) -> None:
        """Shows that so much is done."""
        super().__call__(done)
        of = self.total or total
        self._show(done, of, _bytes(done, of) if self._unit == "bytes" else f"{done} {self._unit}")

    def read(self, done: int, at: int, size: int) -> None:
        """Shows that so much is done, and how far the file is read."""
        super().__call__(done)
        if size:
            self._show(at, size, f"{done} {self._unit}, {_bytes(at, size)}")
        else:
            self(done)

    def _show(self, done: int, total: int, told: str) -> None:
        self._bars.update(self._task, completed=done, total=total or None, told=told)


def _bytes(done: int, total: int) -> str:
    from rich.filesize import decimal

    return f"{decimal(done)} of {decimal(total)}" if total else decimal(done)


@contextmanager
def progress(
    session: Session, work: str, *, total: int = 0, unit: str = "entities", shown: bool = True
) -> Iterator[Tell]:
    """A bar for the block, with how much is done in this unit and the time that is left."""
    output = session.output
    if not (shown and output.progress and not output.quiet and sys.stderr.isatty()):
        yield Tell(total)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[told]}"),
        # Where nobody knows what is left, what has passed says that it goes on.
        TimeRemainingColumn(elapsed_when_finished=True) if unit else TimeElapsedColumn(),
    ]
    with Progress(*columns, console=Console(stderr=True), redirect_stdout=False) as bars:
        yield Bar(bars, work, unit, total)
