"""One factory for each resource. After every test no native handle may be left."""

import gc
import inspect
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from hypothesis import HealthCheck, settings

PACKAGE = Path(__file__).resolve().parents[1]
REPOSITORY = PACKAGE.parents[1]
os.environ.setdefault("HOLDFAST_LIBRARY", str(REPOSITORY / ".build" / "holdfast" / "libholdfast.so"))
sys.path.insert(0, str(PACKAGE))
# For the programs that tests start.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")]))

from actions import Diary  # noqa: E402
from browser import driver, page  # noqa: E402, F401  fixtures
from loops import run  # noqa: E402, F401  a fixture
from nodes import Family  # noqa: E402
from proxy import Proxy  # noqa: E402
from server import Server, new_store  # noqa: E402

import holdfast  # noqa: E402

# A shell lets what it starts in the background ignore Ctrl-C, and so would these tests and what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What the library has to say depends on how busy the machine is: only tests of that hear it.
logging.getLogger("holdfast.library").setLevel(logging.CRITICAL)

# An example takes what it takes, and so does drawing it: on a busy machine that says nothing.
settings.register_profile(
    "tests",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("tests")


@pytest.fixture(scope="module", autouse=True)
def only_what_is_new_is_collected() -> None:
    """The garbage collector need not look through pytest and all that is loaded, each time. What one file's
    tests have left in cycles goes here, and not while the next test counts."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> "bool | None":
    """A test that is a coroutine runs in the loops that it asks for by `run`."""
    if not inspect.iscoroutinefunction(pyfuncitem.function):
        return None
    names = inspect.signature(pyfuncitem.function).parameters
    pyfuncitem.funcargs["run"](pyfuncitem.function(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


#: Reports of the test that runs, if it has failed.
_failed: "list[pytest.TestReport]" = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> Any:
    report = yield
    if report.failed and report.when != "teardown":
        _failed.append(report)
    return report


def let_go_of_the_failed() -> None:
    """What a failed test had hangs on its traceback, which pytest keeps until the next test runs: it goes
    now, and not while that one counts."""
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)
    if _failed:
        _failed.clear()
        gc.collect()


@pytest.fixture(autouse=True)
def nothing_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    let_go_of_the_failed()
    before = holdfast.handle_count()
    yield
    if _failed:
        return  # its handles are still its traceback's
    request.node.funcargs.clear()
    # What cycles keep alive, and what the thread for events is just about to let go of. Only where there is
    # something: looking through everything takes its time.
    deadline = time.monotonic() + 60
    while holdfast.handle_count() != before and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert holdfast.handle_count() == before, "the test left native handles behind"


#: The modules of which each test that is given a place for a store runs on a server, too.
ON_A_SERVER = (
    "test_aio_streams",
    "test_aio_trees",
    "test_quiet_subscriptions",
    "test_resumed_imports",
    "test_stream_processes",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.path.parent != Path(__file__).parent:
        return  # the suite for every engine has its own
    places = ["sqlite", "server"] if metafunc.module.__name__ in ON_A_SERVER else ["sqlite"]
    has_own = any("engine" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "engine" in metafunc.fixturenames and not has_own:
        metafunc.parametrize("engine", ["memory", *places], indirect=True)
    elif "path" in metafunc.fixturenames and not has_own and len(places) > 1:
        metafunc.parametrize("path", places, indirect=True)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store's file may be, or the URL of one on a server that nobody used before."""
    has_engine = "engine" in request.fixturenames
    place = request.getfixturevalue("engine") if has_engine else getattr(request, "param", "sqlite")
    if place != "server":
        return str(tmp_path / "store.db")
    return f"{Server.shared().url}?{new_store()}"


@pytest.fixture
def server() -> Server:
    return Server.shared()


@pytest.fixture
def url(server: Server) -> str:
    """Of a store on the server that nobody used before."""
    return f"{server.url}?{new_store()}"


@pytest.fixture
def own() -> Iterator[Server]:
    """A server that a test may change, or kill."""
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with Proxy(server.url) as proxy:
        yield proxy


@pytest.fixture
def open_store(engine: str, path: str) -> Iterator[Callable[..., holdfast.Store]]:
    """Opens a store of the engine under test and closes it after the test."""
    stores: list[holdfast.Store] = []

    def open_store(**options: Any) -> holdfast.Store:
        stores.append(holdfast.open("memory:" if engine == "memory" else path, **options))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()
    stores.clear()


@pytest.fixture
def store(open_store: Callable[..., holdfast.Store]) -> holdfast.Store:
    return open_store()


@pytest.fixture
def stores(tmp_path: Path) -> "Iterator[list[holdfast.Store]]":
    """One in memory and one in a file: both are asked what takes longer to draw and to expect than to ask."""
    with holdfast.open("memory:") as memory, holdfast.open(tmp_path / "store.db") as file:
        yield [memory, file]


@pytest.fixture
def songs(store: holdfast.Store) -> "holdfast.Repository[dict[str, Any]]":
    return store.repository("songs")


@pytest.fixture
def family() -> Family:
    return Family()


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
def controller(songs: "holdfast.Repository[Any]", diary: Diary) -> Iterator[holdfast.Controller[Any]]:
    """A controller of `songs`, its actions noted in the diary."""
    with holdfast.Controller(songs, diary) as controller:
        yield controller
