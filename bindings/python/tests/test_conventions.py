"""What people of Python expect of any package."""

import importlib
import logging
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from loops import Run
from programs import run_program

import holdfast
import holdfast.aio


def test_the_package_tells_its_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", holdfast.__version__)
    assert importlib.import_module("holdfast.version").__version__ == holdfast.__version__


def test_a_repository_is_asked_as_a_mapping_is(
    songs: "holdfast.Repository[dict[str, Any]]", run: Run
) -> None:
    songs.add({"id": "s1"})
    default = {"id": "none"}
    assert songs.get("s1") == songs.get("s1", default) == {"id": "s1"}
    assert songs.get("s2") is None
    assert songs.get("s2", default) is default
    assert songs.deferred.get("s2", default).perform() is default

    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            assert await store.repository("songs").get("s2", default) is default

    run(main())


def test_a_mapping_is_joined_as_a_dict_is(songs: "holdfast.Repository[dict[str, Any]]") -> None:
    songs.save_many([{"id": "a", "plays": 1}, {"id": "b", "plays": 2}])
    mapping = songs.as_mapping()
    others = {"b": {"id": "b", "plays": 3}, "c": {"plays": 4}}
    assert mapping | others == {"a": {"id": "a", "plays": 1}, **others}
    assert others | mapping == {**others, **dict(mapping)}
    assert songs.ids() == ["a", "b"]
    joined = mapping
    joined |= others
    assert joined is mapping
    assert dict(mapping) == {"a": {"id": "a", "plays": 1}, "b": others["b"], "c": {"id": "c", "plays": 4}}
    mapping.update([("d", {})], e={})
    assert songs.ids() == list("abcde")


@pytest.mark.parametrize("way", ["repository", "mapping", "update"])
def test_none_is_no_entity_and_deletes_none(songs: "holdfast.Repository[dict[str, Any]]", way: str) -> None:
    songs.add({"id": "a"})
    with pytest.raises(holdfast.InvalidEntityError, match=r'`del songs\["a"\]` deletes'):
        if way == "repository":
            songs["a"] = None
        elif way == "mapping":
            songs.as_mapping()["a"] = None  # type: ignore[assignment]
        else:
            songs.as_mapping().update(b={}, a=None)
    assert songs.ids() == ["a"]


def test_a_mapping_takes_over_all_or_nothing(songs: "holdfast.Repository[dict[str, Any]]") -> None:
    mapping = songs.as_mapping()
    with pytest.raises(holdfast.InvalidIdError):
        mapping |= {"a": {}, "b": {"id": "c"}}
    with pytest.raises(TypeError):
        mapping | 3  # type: ignore[operator]
    assert songs.count() == 0


def test_taking_an_item_looks_at_no_other(songs: "holdfast.Repository[dict[str, Any]]") -> None:
    songs.save_many([{"id": f"{number:05}"} for number in range(3000)])
    assert songs.as_mapping().popitem() == ("00000", {"id": "00000"})
    assert songs.explain(limit=1)["examined"] <= 1
    assert songs.count() == 2999


def test_a_filter_may_be_json(songs: "holdfast.Repository[dict[str, Any]]") -> None:
    songs.save_many([{"id": "a", "plays": 1}, {"id": "b", "plays": 2}])
    filter = b'{"plays":{"$gt":1}}'
    assert songs.find(filter) == [{"id": "b", "plays": 2}]
    assert songs.deferred.first(bytearray(filter)).perform() == {"id": "b", "plays": 2}
    assert list(songs.iterate(filter)) == songs.observe(filter).next().entities
    assert songs.modify_all(filter, {"$inc": {"plays": 1}}).matched == 1
    assert songs.explain(filter)["matched"] == 1
    with songs.changes(filter=filter) as stream:
        songs.delete_many(["a", "b"])
        assert [change.id for change in stream.next(60)] == ["b"]
    with pytest.raises(holdfast.InvalidQueryError):
        songs.find(b"[1]")
    with pytest.raises(holdfast.InvalidJsonError):
        songs.count(b'{"plays":')


def test_a_validator_that_nobody_waits_for_is_told(run: Run) -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            songs = store.repository("songs")
            with pytest.warns(RuntimeWarning, match=r"Repository\.set_validator' was never awaited"):
                songs.set_validator(lambda id, entity: None)

    run(main())


# --- What objects are shown as ---------------------------------------------------------------------------


def shown(store: Any, package: str, named: str) -> "list[tuple[Any, str]]":
    """Objects of a store, each with what it is to be shown as."""
    songs = store.repository("songs")
    store_shown = f"<{package}.Store {named}>"
    songs_shown = f"<{package}.Repository 'songs' of {store_shown}>"
    return [
        (store, store_shown),
        (songs, songs_shown),
        (songs.deferred, f"<{package}.DeferredRepository 'songs' of {store_shown}>"),
        (
            songs.deferred.add({}),
            f'<{package}.Operation {{"operation":"add","repository":"songs","entity":{{}}}}>',
        ),
        (store.preferences(), f"<{package}.Preferences 'preferences' of {store_shown}>"),
        (store.begin(), f"<{package}.Transaction open of {named}>"),
        (songs.iterate(), f"<{package}.Cursor open>"),
        (songs.changes(), f"<{package}.ChangeStream open at None>"),
        (songs.observe(), f"<{package}.LiveQuery open at None>"),
    ]


def test_objects_are_shown_as_what_they_are_and_also_when_they_are_closed(path: str) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        objects = shown(store, "holdfast", repr(path))
        for it, expected in objects:
            assert repr(it) == expected
        controller = holdfast.Controller(songs)
        future = songs.deferred.add({"id": "s1"}).submit()
        future.result(60)
        assert repr(future) == "<holdfast.OperationFuture finished>"
        assert repr(songs.as_mapping()) == f"<holdfast.RepositoryMapping of {songs!r}>"
        assert repr(controller) == f"<holdfast.Controller of {songs!r}>"
        middleware = holdfast.PersistenceMiddleware(songs, lambda function: None)
        with store.transaction() as transaction:
            songs.add({"id": "s2"})
        assert repr(transaction) == f"<holdfast.Transaction committed of {path!r}>"
        for it, _ in objects[-3:]:
            it.close()
        middleware.close()
        controller.close()
    assert repr(store) == f"<holdfast.Store {path!r}, closed>"
    assert [repr(it) for it, _ in objects[-3:]] == [
        "<holdfast.Cursor at its end>",
        "<holdfast.ChangeStream closed at None>",
        "<holdfast.LiveQuery closed at None>",
    ]
    assert repr(controller) == f"<holdfast.Controller of {songs!r}, closed>"
    for it in (*(it for it, _ in objects), middleware):
        assert repr(it).startswith("<holdfast.")


def test_objects_of_aio_are_shown_as_theirs(run: Run, path: str) -> None:
    async def main() -> None:
        opening = holdfast.aio.open(path)
        assert repr(opening) == "<holdfast.aio.Opening of a store>"
        async with opening as store:
            objects = shown(store, "holdfast.aio", repr(path))
            for it, expected in objects:
                assert repr(it) == expected
            future = store.repository("songs").deferred.count().submit()
            await future
            assert repr(future) == "<holdfast.aio.CommitFuture finished>"
            assert repr(holdfast.aio.Controller(store.repository("songs"))).startswith(
                "<holdfast.aio.Controller of"
            )
        assert repr(store) == f"<holdfast.aio.Store {path!r}, closed>"
        for it, _ in objects:
            assert repr(it).startswith("<holdfast.aio.")

    run(main())


def test_a_class_of_the_program_s_own_is_shown_as_its_own(store: holdfast.Store) -> None:
    class Settings(holdfast.Preferences):
        """Some."""

    assert repr(Settings(store)).startswith(f"<{__name__}.Settings 'preferences' of <holdfast.Store")


# --- Its log ---------------------------------------------------------------------------------------------


class Heard(logging.Handler):
    """Notes what the library has to say."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def wait_for(self, start: str) -> logging.LogRecord:
        """The first record whose message begins so."""
        for _ in range(12000):
            for record in list(self.records):
                if record.getMessage().startswith(start):
                    return record
            time.sleep(0.01)
        raise AssertionError(f"{start!r} was not told, but {[it.getMessage() for it in self.records]}")


@pytest.fixture
def heard() -> Iterator[Heard]:
    handler, logger = Heard(), logging.getLogger("holdfast")
    library = logging.getLogger("holdfast.library")
    level = library.level
    logger.addHandler(handler)
    library.setLevel(logging.INFO)
    yield handler
    library.setLevel(level)
    while is_logging():
        time.sleep(0.01)
    logger.removeHandler(handler)


def is_logging() -> bool:
    """Whether a thread hands on what was told."""
    return "holdfast-log" in [thread.name for thread in threading.enumerate()]


def test_the_library_is_heard_by_a_logger(heard: Heard, path: str) -> None:
    before = time.time()
    with holdfast.open(path, slow_commit_ms=1):
        record = heard.wait_for("store opened")
    assert record.name == "holdfast.library"
    assert record.levelno == logging.INFO
    assert record.holdfast["store"] == path  # type: ignore[attr-defined]
    assert before - 1 < record.created < time.time() + 1
    heard.wait_for("store closed")


def test_a_handler_may_store_what_it_hears(heard: Heard, path: str) -> None:
    """It holds its lock meanwhile, so nothing that commits may wait for it."""
    with holdfast.open("memory:") as store:
        diary = store.repository("diary")

        def keep(record: logging.LogRecord) -> None:
            is_other = record.holdfast["store"] == path  # type: ignore[attr-defined]
            if is_other and record.getMessage().startswith("store closed"):
                diary.add({"said": record.getMessage()})

        heard.emit = keep  # type: ignore[method-assign]
        for _ in range(20):
            holdfast.open(path).close()
        for _ in range(12000):
            if diary.count() == 20:
                break
            time.sleep(0.01)
        assert diary.count() == 20
        del heard.emit


def test_a_handler_that_fails_keeps_nobody_from_hearing_the_rest(
    heard: Heard, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(record: logging.LogRecord) -> None:
        del heard.emit
        raise ValueError("no place")

    heard.emit = fail  # type: ignore[method-assign]
    holdfast.open(path).close()
    heard.wait_for("store closed")
    assert "no place" in capsys.readouterr().err


def test_what_is_not_wanted_takes_no_thread(heard: Heard, path: str) -> None:
    logging.getLogger("holdfast.library").setLevel(logging.CRITICAL)
    holdfast.open(path).close()
    assert not is_logging()
    assert not heard.records


#: A program in another language, as far as the library knows: it has loaded it, and hears its log.
HOST = """
import ctypes, os, sys

@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)
def hear(level, message, fields, user_data):
    print("the host hears:", message.decode(), flush=True)

library = ctypes.CDLL(os.environ["HOLDFAST_LIBRARY"])

def set_callback():
    library.hf_log_set_callback(hear, None, None, None)
"""


@pytest.mark.parametrize("order", ["set_callback(); import holdfast", "import holdfast; set_callback()"])
def test_a_program_s_own_callback_goes_on_hearing_the_library(path: str, order: str) -> None:
    program = f"""{HOST}
{order}
import logging
logging.basicConfig(level=logging.INFO, format="the logger hears: %(message)s", stream=sys.stdout)
holdfast.open(sys.argv[1]).close()
import atexit
atexit._run_exitfuncs()
store = ctypes.c_void_p()
library.hf_store_open(sys.argv[1].encode(), None, ctypes.byref(store), None)
print("behind Python's end")
library.hf_store_close(store, ctypes.c_int64(-1), None)
"""
    ended = run_program(program, path)
    assert not ended.returncode, ended.stderr
    during, behind = ended.stdout.split("behind Python's end")
    assert "the host hears: store opened" in during
    assert "the host hears: store closed" in behind
    assert "the logger hears" not in ended.stdout


def test_a_callback_that_replaces_the_logger_s_stays_when_python_ends(path: str) -> None:
    program = f"""import holdfast
{HOST}
set_callback()
import atexit
atexit._run_exitfuncs()
store = ctypes.c_void_p()
library.hf_store_open(sys.argv[1].encode(), None, ctypes.byref(store), None)
library.hf_store_close(store, ctypes.c_int64(-1), None)
if not os.fork():
    import holdfast._log
    print("the child listens:", bool(holdfast._log._listening), flush=True)
    os._exit(0)
os.wait()
"""
    ended = run_program(program, path)
    assert not ended.returncode, ended.stderr
    assert "the host hears: store closed" in ended.stdout
    assert "the child listens: False" in ended.stdout


PROGRAM = """
import logging, os, sys, holdfast
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stdout)
child = os.fork()
if child:
    os.waitpid(child, 0)
else:
    print("the child")
holdfast.open(sys.argv[1], slow_commit_ms=1).close()
"""


def test_what_is_said_last_is_heard_before_the_program_ends_and_in_a_forked_child_too(path: str) -> None:
    command = [sys.executable, "-c", PROGRAM, path]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    child, parent = ended.stdout.split("INFO store closed")[:2]
    assert "the child" in child
    assert "INFO store opened" in child
    assert "INFO store opened" in parent
    assert not ended.stderr


@pytest.fixture
def no_more_threads(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As where the process has as many as it may, until the patch is undone."""

    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    return monkeypatch


def test_events_are_taken_once_there_is_a_thread_for_them(
    path: str, no_more_threads: pytest.MonkeyPatch
) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        with pytest.raises(RuntimeError, match="new thread"):
            store.submit(lambda: songs.save({"id": "s1"}))
        assert songs.ids() == []
        no_more_threads.undo()
        store.submit(lambda: songs.save({"id": "s2"})).result(10)
        assert songs.ids() == ["s2"]


def test_the_log_is_heard_again_once_there_is_a_thread_for_it(
    heard: Heard, path: str, no_more_threads: pytest.MonkeyPatch
) -> None:
    holdfast.open(path).close()
    no_more_threads.undo()
    holdfast.open(path).close()
    heard.wait_for("store closed")
