"""Progress bars of tqdm and rich, given to long calls in place of a function."""

import functools
import io
import unittest.mock
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from loops import Run
from programs import run_program
from rich.console import Console
from rich.progress import Progress
from tqdm import tqdm

import holdfast
import holdfast.aio

NUMBER = 3000
#: A long call of a store, with the progress.
Call = Callable[[Any, Path, Any], Any]


def upgraded(store: Any, _: Path, progress: Any) -> Any:
    return store.upgrade({0: lambda _: None}, progress=progress)


BYTES: "dict[str, Call]" = {
    "backup": lambda store, tmp, progress: store.backup(tmp / "copy.db", progress=progress),
    "restore": lambda _, tmp, progress: holdfast.restore(
        tmp / "backup.db", tmp / "new.db", progress=progress
    ),
    "upgrade": upgraded,
}
ENTITIES: "dict[str, Call]" = {
    "verify": lambda store, _, progress: store.verify(progress=progress),
    "export": lambda store, tmp, progress: store.export_lines(tmp / "lines", progress=progress),
    "import": lambda store, tmp, progress: store.import_lines(
        tmp / "exported", existing="replace", progress=progress
    ),
    "create_index": lambda store, _, progress: store.repository("songs").create_index("n", progress=progress),
}
CALLS = {**BYTES, **ENTITIES}


@pytest.fixture
def filled(path: str, tmp_path: Path) -> "Iterator[holdfast.Store]":
    """A store with songs, an export and a backup of it."""
    with holdfast.open(path) as store:
        store.repository("songs").save_many([{"id": number, "n": number} for number in range(NUMBER)])
        store.export_lines(tmp_path / "exported")
        store.backup(tmp_path / "backup.db")
        yield store


class Bar(tqdm):  # type: ignore[type-arg]
    """A bar of tqdm that is written where nobody looks, and remembered."""

    made: "list[Bar]" = []  # noqa: RUF012

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, file=io.StringIO(), **options)
        self.closings = 0
        self.made.append(self)

    def close(self) -> None:
        self.closings += 1
        super().close()


@pytest.fixture
def bars() -> "list[Bar]":
    """The bars that were made."""
    Bar.made.clear()
    return Bar.made


def rich_progress() -> Progress:
    """Bars of rich that are written where nobody looks."""
    return Progress(console=Console(file=io.StringIO()))


@pytest.mark.parametrize("name", CALLS)
def test_a_bar_is_made_of_the_class_and_closed(
    filled: holdfast.Store, tmp_path: Path, bars: "list[Bar]", name: str
) -> None:
    CALLS[name](filled, tmp_path, Bar)
    (bar,) = bars
    assert bar.desc.startswith(name) and bar.closings == 1
    if name in BYTES:
        assert (bar.unit, bar.unit_scale) == ("B", True)
        assert 0 < bar.n == bar.total
    else:
        assert bar.unit == " entities"
        assert bar.n == NUMBER


@pytest.mark.parametrize("name", CALLS)
def test_a_bar_that_is_given_goes_on_and_stays_open(
    filled: holdfast.Store, tmp_path: Path, bars: "list[Bar]", name: str
) -> None:
    with Bar(desc="mine", initial=5) as bar:
        CALLS[name](filled, tmp_path, bar)
        assert bars == [bar] and bar.closings == 0
        assert bar.n == (bar.total if name in BYTES else 5 + NUMBER)
        assert bar.desc.startswith("mine")
    with Bar(total=10 * NUMBER) as bar:
        ENTITIES["verify"](filled, tmp_path, bar)
        assert (bar.n, bar.total) == (NUMBER, 10 * NUMBER)


@pytest.mark.parametrize("name", CALLS)
def test_rich_gets_a_task_that_is_finished(filled: holdfast.Store, tmp_path: Path, name: str) -> None:
    with rich_progress() as progress:
        other = progress.add_task("other", total=3)
        CALLS[name](filled, tmp_path, progress)
    _, task = progress.tasks
    assert task.description == name and task.finished and task.total == task.completed
    assert task.completed == NUMBER if name in ENTITIES else task.completed > 0
    assert progress.tasks[0].id == other and progress.tasks[0].completed == 0


def test_options_of_a_bar_come_with_a_partial(filled: holdfast.Store, bars: "list[Bar]") -> None:
    filled.verify(progress=functools.partial(Bar, desc="Monday", total=NUMBER))
    (bar,) = bars
    assert bar.desc.startswith("Monday") and (bar.n, bar.total) == (NUMBER, NUMBER)


def test_a_call_that_fails_closes_its_bar_and_leaves_what_is_not_done(
    filled: holdfast.Store, tmp_path: Path, bars: "list[Bar]"
) -> None:
    with pytest.raises(holdfast.ExistsError):
        filled.backup(tmp_path / "backup.db", progress=Bar)
    with pytest.raises(holdfast.ExistsError), rich_progress() as progress:
        filled.backup(tmp_path / "backup.db", progress=progress)
    assert bars[0].closings == 1 and not progress.tasks[0].finished


def test_what_a_bar_raises_ends_the_call(filled: holdfast.Store, tmp_path: Path) -> None:
    class Broken(Bar):
        def update(self, n: Any = 1) -> Any:
            raise OSError("the terminal is gone")

    for name in CALLS:
        with pytest.raises(OSError, match="the terminal is gone"):
            CALLS[name](filled, tmp_path, Broken)
    assert all(bar.closings == 1 for bar in Bar.made[-len(CALLS) :])
    assert filled.repository("songs").indexes() == []


def test_a_mock_that_has_every_method_is_a_function(filled: holdfast.Store) -> None:
    told = unittest.mock.Mock()
    filled.verify(progress=told)
    assert told.call_args.args[0] == NUMBER
    assert not told.add_task.called


@pytest.mark.parametrize("wrong", [3, "tqdm", io.StringIO(), object()])
def test_what_no_progress_can_be_is_refused(filled: holdfast.Store, wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"tqdm or a bar of it, or a rich\.progress\.Progress, not "):
        filled.verify(progress=wrong)


async def test_calls_that_are_awaited_take_bars_too(
    run: Run, path: str, tmp_path: Path, bars: "list[Bar]"
) -> None:
    async with holdfast.aio.open(path) as store:
        songs = store.repository("songs")
        await songs.save_many([{"id": number} for number in range(NUMBER)])
        await store.verify(progress=Bar)
        with rich_progress() as progress:
            await store.backup(tmp_path / "copy.db", progress=progress)
            await songs.create_index("n", progress=progress)
            await holdfast.aio.restore(tmp_path / "copy.db", tmp_path / "new.db", progress=progress)
    assert bars[0].n == NUMBER and bars[0].closings == 1
    assert [task.description for task in progress.tasks] == ["backup", "create_index", "restore"]
    assert all(task.finished for task in progress.tasks)


def test_neither_package_is_imported(path: str) -> None:
    text = """
        import sys, holdfast
        with holdfast.open(sys.argv[1]) as store:
            store.verify(progress=lambda done, total: None)
        assert not {"tqdm", "rich"} & set(sys.modules)
    """
    assert run_program(text, path).returncode == 0
