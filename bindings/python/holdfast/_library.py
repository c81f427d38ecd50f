"""Finds the native library, checks its version, and gives every function its signature."""

import ctypes
import os
from pathlib import Path
from typing import Callable

from ._signatures import FUNCTIONS
from ._types import API_VERSION

BUNDLED = Path(__file__).with_name("libholdfast.so")
#: What the dynamic linker looks for where the system's libraries are.
SYSTEM = Path("libholdfast.so.0")
# The versions of the library that this package works with: from the first up to, not including, the second.
OLDEST, FIRST_TOO_NEW = (0, 1), (1, 0)


def find() -> Path:
    """The library's path: $HOLDFAST_LIBRARY, else beside this package, else the system's."""
    named = os.environ.get("HOLDFAST_LIBRARY")
    if named:
        return Path(named)
    return BUNDLED if BUNDLED.exists() else SYSTEM


def is_loaded(path: Path) -> bool:
    """Whether somebody in this process has loaded the library at this path."""
    try:
        ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return False
    return True


def load(path: Path) -> ctypes.CDLL:
    """The library at this path, every function of the table bound."""
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        if path == SYSTEM:
            raise ImportError(
                f"holdfast: there is no {BUNDLED}, and the system has no {SYSTEM}: install the package with "
                "its library, or set HOLDFAST_LIBRARY to the path of one"
            ) from error
        raise ImportError(f"holdfast: the library cannot be loaded: {error}") from error
    for name, (result, parameters) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(
                f"holdfast: the library {path} has no function {name}, which this package calls: it is "
                f"older, so build it anew, or have HOLDFAST_LIBRARY name another"
            ) from None
        function.restype = result
        function.argtypes = parameters
    check_version(library.hf_version_text().decode(), path)
    if library.hf_version_select(API_VERSION, None):
        raise ImportError(f"holdfast: the library {path} is older than API version {API_VERSION}")
    return library


def check_version(version: str, path: Path) -> None:
    """Refuses a library whose version lies outside the range that this package works with."""
    major, minor = (int(part) for part in version.split(".")[:2])
    if not OLDEST <= (major, minor) < FIRST_TOO_NEW:
        oldest, too_new = (".".join(map(str, bound)) for bound in (OLDEST, FIRST_TOO_NEW))
        raise ImportError(
            f"holdfast: the library {path} has version {version}; this package works with "
            f"{oldest} and later, before {too_new}"
        )


_path = find()
#: Whether the program has loaded the library before this package did, as one in C that runs Python.
is_the_program_s = is_loaded(_path)
lib = load(_path)


def without_signature(name: str) -> Callable[..., int]:
    """A function that answers a status, as ctypes calls it without its signature, in a third of the time.

    What is passed must be what the table says, for ctypes refuses nothing: bytes for text, pointers and
    references of the right types, None for NULL. An integer is passed as a C int.
    """
    return lib[name]  # unlike an attribute, a new object each time
