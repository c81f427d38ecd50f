"""Progress bars, where a person looks at the standard error output."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Callable, Optional

from .. import errors
from ..store import Store


def entities_of(store: Store, names: Optional[Sequence[str]] = None) -> int:
    """How many entities a store, or some of its repositories, have; 0 where damage hides it."""
    if not names:
        names = [repository["name"] for repository in store.describe()["repositories"]]
    with suppress(errors.CorruptError):
        return sum(store.repository(name, create=False).count() for name in names)
    return 0


#: Is told what is done, of how much (0 where that is not known), and perhaps a text about it.
Tell = Callable[..., None]


@contextmanager
def progress(work: str, *, total: int = 0, shown: bool = True) -> Iterator[Tell]:
    """A bar for the block. What it answers is also called where nobody looks, so that Ctrl-C is heard."""
    if not (shown and sys.stderr.isatty()):
        yield lambda done, total=0, text="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=Console(stderr=True), redirect_stdout=False) as bar:
        task = bar.add_task(work, total=total or None, told="")

        def tell(done: int, of: int = 0, text: str = "") -> None:
            bar.update(task, completed=done, total=of or total or None, told=text)

        yield tell
