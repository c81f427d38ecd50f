"""One suite for every engine: what is asserted in this directory, each of them promises.

An engine is a function that opens a store at an empty directory, or at one where it was opened before; a new
one joins with a line in ENGINES. What only some promise, such as that a store opened again knows its indexes,
is tested elsewhere.
"""

import ctypes
import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

import holdfast
from holdfast._library import find, lib
from holdfast._types import hf_error, hf_store

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CHECKOUT = EXAMPLES.parents[2]
sys.path.insert(0, str(EXAMPLES))

from shelve_provider import ShelveProvider  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from server import Server  # noqa: E402

Engine = Callable[..., holdfast.Store]


def exported(library: ctypes.CDLL, function: str) -> Engine:
    """An engine behind a C function

        hf_status function(const char *directory, const char *options, hf_store **, hf_error **);

    of a library that works on the same libholdfast as this process.
    """
    native = library[function]
    native.argtypes = (
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.POINTER(ctypes.POINTER(hf_store)),
        ctypes.POINTER(ctypes.POINTER(hf_error)),
    )

    def open_store(directory: Path, **options: Any) -> holdfast.Store:
        return holdfast.Store._over(function, functools.partial(native, str(directory).encode()), options)

    return open_store


@functools.cache
def json_directory() -> Engine:
    """The C example, built as a library."""
    built = CHECKOUT / ".build" / "test" / "json_directory.so"
    built.parent.mkdir(parents=True, exist_ok=True)
    library = find().resolve()
    subprocess.run(
        [
            *("cc", "-shared", "-fPIC", "-O1", "-DJSON_DIRECTORY_WITHOUT_MAIN", f"-I{CHECKOUT / 'include'}"),
            *(CHECKOUT / "bindings" / "c" / "examples" / "json_directory.c", library),
            *(f"-Wl,-rpath,{library.parent}", "-o", built),
        ],
        check=True,
    )
    return exported(ctypes.CDLL(str(built)), "json_directory_open")


def shelve(directory: Path, **options: Any) -> holdfast.Store:
    """The Python example."""
    return holdfast.open_provider(ShelveProvider(directory), **options)


def postgresql(directory: Path, **options: Any) -> holdfast.Store:
    """A store of a server of this process's own, by the directory's name."""
    return holdfast.open(Server.shared().url, store=str(directory), **options)


def pooled(directory: Path, **options: Any) -> holdfast.Store:
    """As `postgresql`, by way of a pgbouncer that gives out connections by transaction."""
    return holdfast.open(Server.shared().pooled, store=str(directory), **options)


#: What opens a store, by the engine's name. The Swift one is there where HOLDFAST_LIBRARY names a library
#: that has the hf_ functions and one like those that `exported` takes: a store belongs to its libholdfast.
ENGINES: dict[str, Engine] = {
    "memory": lambda directory, **options: holdfast.open("memory:", **options),
    "file": lambda directory, **options: holdfast.open(directory / "store.db", **options),
    "PostgreSQL": postgresql,
    "pgbouncer": pooled,
    "C provider": lambda directory, **options: json_directory()(directory, **options),
    "Python provider": shelve,
}
if hasattr(lib, "dictionary_provider_open"):
    ENGINES["Swift provider"] = exported(lib, "dictionary_provider_open")


#: The modules that run behind a pooler, too: what relies most on what a connection keeps.
POOLED = ["test_concurrency", "test_indexes", "test_live_queries", "test_transaction"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        is_pooled = metafunc.module.__name__.rpartition(".")[2] in POOLED
        engines = [engine for engine in ENGINES if engine != "pgbouncer" or is_pooled]
        metafunc.parametrize("engine", engines, indirect=True)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def open_store(engine: str) -> Iterator[Callable[..., holdfast.Store]]:
    """Opens a store of the engine under test and closes it after the test."""
    stores: list[holdfast.Store] = []
    # In memory where there is such a place: nothing here asks what a disk does.
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=place) as directory:

        def open_store(**options: Any) -> holdfast.Store:
            stores.append(ENGINES[engine](Path(directory), **options))
            return stores[-1]

        yield open_store
        for store in stores:
            store.close()
        stores.clear()
