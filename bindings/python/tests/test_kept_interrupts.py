"""Ctrl-C that the library's calls had to keep: they tell what was stored all the same, and keep no more."""

import contextlib
import ctypes
import functools
import gc
import inspect
import io
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Optional

import pytest
from actions import eventually

import holdfast
from holdfast import _calls, _interrupts
from holdfast._library import lib

Songs = holdfast.Repository[dict[str, Any]]


def kept() -> None:
    """As a signal's handler leaves it that ran while the commit could no longer be withdrawn."""
    _interrupts.keep(KeyboardInterrupt())


def after_kept(work: Callable[[Songs], object]) -> Callable[[Songs], object]:
    return lambda songs: (kept(), work(songs))


def perform(songs: Songs) -> object:
    operation = songs.deferred.save({"id": "a"})
    operation.perform()
    songs.delete("a")
    kept()
    return operation.perform()


def transact(songs: Songs) -> object:
    def body() -> str:
        songs.save({"id": "a"})
        kept()
        return "answer"

    return songs.store.transact(body)


SINGLE: dict[str, tuple[Callable[[Songs], object], Any]] = {
    "save": (lambda songs: songs.save({"id": "a", "n": 1}), {"id": "a", "n": 1}),
    "patch": (lambda songs: songs.patch("b", {"n": 2}), {"id": "b", "n": 2}),
    "save_many": (lambda songs: songs.save_many([{"id": "a"}]), [{"id": "a"}]),
    "delete": (lambda songs: songs.delete("b"), None),
    "delete_many": (lambda songs: songs.delete_many(["b"]), None),
    "delete_all": (lambda songs: songs.delete_all(), 1),
    "modify_all": (lambda songs: songs.modify_all(None, {"$set": {"n": 2}}), holdfast.ModifyResult(1, 1)),
}
WRITES = {
    **{name: (after_kept(work), expected) for name, (work, expected) in SINGLE.items()},
    "operation": (perform, {"id": "a"}),
    "transact": (transact, "answer"),
}


@pytest.mark.parametrize("write", WRITES)
def test_ctrl_c_tells_what_was_stored_all_the_same(write: str, songs: Songs) -> None:
    songs.save({"id": "b"})
    work, expected = WRITES[write]
    before = songs.find()
    with pytest.raises(KeyboardInterrupt) as raised:
        work(songs)
    assert raised.value.outcome.result() == expected  # type: ignore[attr-defined]
    assert songs.find() != before


def test_ctrl_c_has_the_receipt_of_a_commit(store: holdfast.Store, songs: Songs) -> None:
    with pytest.raises(KeyboardInterrupt) as raised, store.transaction() as transaction:
        songs.save({"id": "a"})
        transaction.validate()
        kept()
    outcome: Optional[Any] = raised.value.outcome  # type: ignore[attr-defined]
    assert outcome.result() is transaction.receipt
    assert songs.ids() == ["a"]


def test_in_a_transaction_nothing_was_stored_yet(store: holdfast.Store, songs: Songs) -> None:
    with pytest.raises(KeyboardInterrupt) as raised, store.transaction():
        kept()
        songs.save({"id": "a"})
    assert raised.value.outcome is None  # type: ignore[attr-defined]
    assert songs.count() == 0


@pytest.fixture
def behind(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has Ctrl-C come when this function of the library has done its work."""

    def come(name: str) -> None:
        function = getattr(lib, name)

        def interrupted(*arguments: Any) -> int:
            status: int = function(*arguments)
            kept()
            monkeypatch.setattr(lib, name, function)
            return status

        monkeypatch.setattr(lib, name, interrupted)

    return come


class Tree(holdfast.Transactable):
    """Of which nothing is asked."""


MAKING: dict[str, Callable[[holdfast.Store, Songs], object]] = {
    "transaction_begin": lambda store, _: store.begin(),
    "cursor_open": lambda _, songs: songs.iterate(),
    "repository_open": lambda store, _: store.repository("songs"),
    "store_open": lambda _, __: holdfast.open("memory:"),
    "operation_create_on": lambda _, songs: songs.deferred.save({"id": "a"}).perform(),
    "operation_submit": lambda _, songs: songs.deferred.save({"id": "a"}).submit(),
    "stream_open": lambda store, _: store.changes(),
    "stream_open_query": lambda _, songs: songs.observe(),
    "controller_create": lambda _, songs: holdfast.Controller(songs, lambda *_: None),
    "participant_create": lambda store, _: store.transact(lambda: None, trees=[Tree()]),
}


@pytest.mark.parametrize("name", MAKING)
def test_what_was_made_and_not_told_is_not_kept(
    name: str, store: holdfast.Store, songs: Songs, behind: Callable[[str], None]
) -> None:
    kind = name.split("_")[0]
    gc.collect()
    before = holdfast.handle_count(kind)
    songs.save({"id": "a"})
    songs.deferred.save({"id": "a"}).submit().result()
    behind(f"hf_{name}")
    with pytest.raises(KeyboardInterrupt):
        MAKING[name](store, songs)

    def is_gone() -> bool:
        gc.collect()
        # Fewer where what another test has left goes meanwhile.
        return holdfast.handle_count(kind) <= before

    eventually(is_gone)


def test_a_store_that_was_not_told_is_closed_before_ctrl_c_is_forgotten(
    tmp_path: Path, behind: Callable[[str], None]
) -> None:
    behind("hf_store_open")
    with pytest.raises(KeyboardInterrupt) as raised:
        holdfast.open(tmp_path / "store.db")
    holdfast.open(tmp_path / "store.db").close()
    assert not hasattr(raised.value, "outcome")


def test_ctrl_c_tells_of_an_index_and_an_import_what_was_done(
    store: holdfast.Store, songs: Songs, behind: Callable[[str], None]
) -> None:
    songs.save({"id": "a", "n": 1})

    def outcome(name: str, work: Callable[[], object]) -> Any:
        behind(name)
        with pytest.raises(KeyboardInterrupt) as raised:
            work()
        return raised.value.outcome.result()  # type: ignore[attr-defined]

    assert outcome("hf_repository_create_index", lambda: songs.create_index("n")) is None
    assert songs.indexes()
    assert outcome("hf_repository_drop_index", lambda: songs.drop_index("n")) is None
    assert not songs.indexes()
    lines = io.BytesIO(b'{"id":"b"}')
    told = outcome("hf_store_import", lambda: store.import_lines(lines, repository="songs"))
    assert told["stored"] == 1


def test_ctrl_c_in_an_import_does_not_say_that_nothing_was_stored(
    store: holdfast.Store, songs: Songs
) -> None:
    pieces = iter([b'{"id":"a"}\n'])

    class Source:
        def read(self, _: int) -> bytes:
            for piece in pieces:
                return piece
            kept()
            return b'{"id":"b"}\n'

    with pytest.raises(KeyboardInterrupt) as raised:
        store.import_lines(Source(), repository="songs")  # type: ignore[arg-type]
    outcome = raised.value.outcome  # type: ignore[attr-defined]
    assert isinstance(outcome.exception(), holdfast.Error)


def test_ctrl_c_where_a_repository_was_opened_does_not_say_that_nothing_was_stored(
    store: holdfast.Store, behind: Callable[[str], None]
) -> None:
    behind("hf_repository_open")
    with pytest.raises(KeyboardInterrupt) as raised:
        store.repository("new")
    assert not hasattr(raised.value, "outcome")


KINDS: dict[str, tuple[type[BaseException], Callable[[holdfast.Store, Songs], object]]] = {
    "delete": (holdfast.NotFoundError, lambda _, songs: songs.delete("a", missing_ok=True)),
    "fetch": (holdfast.NotFoundError, lambda _, songs: songs.fetch("a")),
    "fetch_versioned": (holdfast.NotFoundError, lambda _, songs: songs.fetch_versioned("a")),
    "close": (holdfast.TimeoutError, lambda store, _: store.close()),
    "close_in_time": (holdfast.TimeoutError, lambda store, _: store.close(5)),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_handler_s_error_is_not_taken_for_the_library_s(name: str, tmp_path: Path) -> None:
    kind, work = KINDS[name]
    with holdfast.open(tmp_path / "store.db") as store:
        songs = store.repository("songs")
        songs.save({"id": "a"})
        given = kind("from the handler")
        _interrupts.keep(given)
        with pytest.raises(kind) as raised:
            work(store, songs)
        assert raised.value is given


def test_what_is_kept_where_a_handle_is_freed_is_raised_there(songs: Songs) -> None:
    cursor = songs.iterate()
    kept()
    with pytest.raises(KeyboardInterrupt):
        cursor.close()
    assert songs.count() == 0


# --- Around the program's functions --------------------------------------------------------------------


class Stop(Exception):
    """What a handler raises."""


@contextlib.contextmanager
def stopping_at(name: str, line: str) -> Iterator[Stop]:
    """Raises once, as a handler does, before a line of a function is run: the first that has this in it."""
    given = Stop()
    lines: dict[Any, int] = {}

    def trace(frame: Any, event: str, _: Any) -> Any:
        code = frame.f_code
        if code.co_name != name or not code.co_filename.startswith(str(Path(holdfast.__file__).parent)):
            return None
        if code not in lines:
            text, first = inspect.getsourcelines(code)
            lines[code] = next((first + at for at, it in enumerate(text) if line in it), 0)
        if event == "line" and frame.f_lineno == lines[code]:
            sys.settrace(None)
            frame.f_trace = None
            raise given
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield given
    finally:
        sys.settrace(before)


@pytest.mark.parametrize(
    "line", ["before = ", "is_main = ", "elif is_main", "answer(failure)", "answer(function", "scopes.set("]
)
def test_what_a_handler_raises_around_a_function_is_raised_itself(
    line: str, store: holdfast.Store, songs: Songs
) -> None:
    songs.save({"id": "a"})
    for work in (
        lambda: songs.find(lambda _: True),
        lambda: store.transact(lambda: songs.save({"id": "b"})),
        lambda: store.verify(progress=lambda *_: None),
    ):
        with pytest.raises(Stop) as raised, stopping_at("trampoline", line) as given:
            work()
        assert raised.value is given
    assert not _interrupts.kept


def test_what_is_kept_outlives_what_the_library_calls_after_it() -> None:
    with _interrupts.Keeping():
        raise KeyboardInterrupt
    with _interrupts.Keeping():
        assert not _interrupts.kept
    with pytest.raises(KeyboardInterrupt):
        _interrupts.raise_kept()
    assert not _interrupts.kept


@pytest.mark.parametrize("line", ["self.is_over = True", "self.generator = self.task", "scopes.set(tuple("])
def test_no_transaction_stays_current_where_its_end_was_interrupted(
    line: str, store: holdfast.Store, songs: Songs
) -> None:
    def block() -> None:
        with store.transaction():
            songs.save({"id": "a"})

    def joined() -> None:
        transaction = store.begin()
        with transaction.joined():
            songs.save({"id": "b"})

    for work in (block, joined):
        with pytest.raises(Stop), stopping_at("end", line):
            work()
        assert store.current_transaction is None
        songs.save({"id": "c"})
    assert songs.ids() == ["c"]


def interrupted_at_its_end(function: Any) -> Any:
    """The library's function, but a signal arrives when it has ended and before anything of Python's runs."""
    own = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.cast(function, ctypes.c_void_p).value or 0)
    own.argtypes = function.argtypes
    # Is called with the status, too, which it leaves alone, and answers 0.
    own.restype = functools.partial(ctypes.CDLL(None)["raise"], signal.SIGINT)
    return own


@pytest.mark.parametrize("write", SINGLE)
def test_ctrl_c_in_a_write_s_last_moment_tells_what_was_stored(
    write: str, songs: Songs, monkeypatch: pytest.MonkeyPatch
) -> None:
    songs.save({"id": "b"})
    work, expected = SINGLE[write]
    before = songs.find()
    for functions in (_calls._functions, _calls._fast_functions):
        monkeypatch.setitem(functions, write, interrupted_at_its_end(functions[write]))
    with pytest.raises(KeyboardInterrupt) as raised:
        work(songs)
    assert raised.value.outcome.result() == expected  # type: ignore[attr-defined]
    assert songs.find() != before


def test_ctrl_c_in_a_commit_s_last_moment_has_its_answer(
    store: holdfast.Store, songs: Songs, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("hf_transaction_commit", "hf_store_transact", "hf_operation_perform"):
        monkeypatch.setattr(lib, name, interrupted_at_its_end(getattr(lib, name)))
    with pytest.raises(KeyboardInterrupt) as raised, store.transaction() as transaction:
        songs.save({"id": "a"})
    assert raised.value.outcome.result() is transaction.receipt  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt) as raised:
        store.transact(lambda: songs.save({"id": "b"})["id"])
    assert raised.value.outcome.result() == "b"  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt) as raised:
        songs.deferred.save({"id": "c"}).perform()
    assert raised.value.outcome.result() == {"id": "c"}  # type: ignore[attr-defined]
    assert songs.ids() == ["a", "b", "c"]
