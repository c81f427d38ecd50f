"""Progress that a person sees: the bars of tqdm and of rich, of which neither is imported here."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, Optional, Protocol, Union


class TqdmBar(Protocol):
    """A bar of tqdm."""

    n: Any
    total: Any

    def update(self, n: Any = ...) -> Any:
        """Goes on by so much."""

    def refresh(self) -> Any:
        """Shows where it is."""

    def close(self) -> Any:
        """Ends it."""


class RichProgress(Protocol):
    """A `rich.progress.Progress`, which shows a bar for each task."""

    def add_task(self, description: str, *, total: Optional[float] = ...) -> Any:
        """Adds a bar."""

    def update(self, task_id: Any, *, total: Optional[float] = ..., completed: Optional[float] = ...) -> None:
        """Says where a bar is."""


#: What shows a person how far a long call is: a bar of tqdm's, tqdm's class, which makes one and closes it at
#: the end, also within a `functools.partial` with options of its, or a `rich.progress.Progress`, which gets a
#: task.
Shown = Union[TqdmBar, Callable[..., TqdmBar], RichProgress]
#: Hears how far long work is: done and total, 0 where that is not known.
Progress = Union[Callable[[int, int], object], Shown]
#: Hears how many entities have been looked at.
IndexProgress = Union[Callable[[int], object], Shown]


@contextmanager
def told(progress: Any, work: str, unit: str) -> Iterator[Optional[Callable[..., object]]]:
    """The function for a block that tells it how far the work is, in bytes ("B") or such things."""
    maker = getattr(progress, "func", progress)
    if hasattr(progress, "add_task") and not callable(progress):
        with _told_to_rich(progress, work) as tell:
            yield tell
    elif isinstance(maker, type) and hasattr(maker, "refresh"):
        shown = {"desc": work, "unit": unit if unit == "B" else f" {unit}", "unit_scale": unit == "B"}
        bar = progress(**{**shown, **getattr(progress, "keywords", {})})
        try:
            with _told_to_tqdm(bar) as tell:
                yield tell
        finally:
            bar.close()
    elif hasattr(progress, "refresh") and not callable(progress):
        with _told_to_tqdm(progress) as tell:
            yield tell
    elif progress is None or callable(progress):
        yield progress
    else:
        kind = type(progress).__name__
        raise TypeError(
            f"Progress is a function, tqdm or a bar of it, or a rich.progress.Progress, not {kind}."
        )


@contextmanager
def _told_to_rich(progress: RichProgress, work: str) -> Iterator[Callable[..., object]]:
    task = progress.add_task(work, total=None)
    last = 0

    def tell(done: int, total: int = 0) -> None:
        nonlocal last
        last = done
        progress.update(task, completed=done, total=total or None)

    yield tell
    # Where nobody knew how much it is, it is known at the end.
    progress.update(task, completed=last, total=last)


@contextmanager
def _told_to_tqdm(bar: TqdmBar) -> Iterator[Callable[..., object]]:
    begin, is_bounded = bar.n, bar.total is not None

    def tell(done: int, total: int = 0) -> None:
        if total and not is_bounded:
            bar.total = begin + total
        bar.update(begin + done - bar.n)

    yield tell
    bar.refresh()
