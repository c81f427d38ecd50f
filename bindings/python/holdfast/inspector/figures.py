"""Figures: a store as a whole, and how busy it is."""

import os
import time
from collections.abc import Iterator
from typing import Any, Optional

from .. import errors
from ..version import __version__
from .reading import whole
from .recorder import changes_after
from .shown import ShownStore


def overview(shown: ShownStore, given: dict[str, Any]) -> dict[str, Any]:
    """The store and its repositories, without their counts, which take their time."""
    described = shown.store.describe()
    return {
        **described,
        "can_write": shown.can_write,
        "version": __version__,
        "proposed_backup": _proposed(shown.url, ".db") if described["sizes"] else None,
        "proposed_export": _proposed(shown.url, ".jsonl"),
    }


def counts(shown: ShownStore, given: dict[str, Any]) -> dict[str, Any]:
    """How many entities some repositories have; null for one that is gone or damaged, with why not."""
    names = given.get("repositories")
    if not isinstance(names, list):
        raise ValueError('The member "repositories" is an array of names.')
    found: dict[str, Optional[int]] = {}
    failures: dict[str, str] = {}
    for name in names:
        try:
            found[str(name)] = shown.count(name)
        except errors.ClosedError:
            raise
        except errors.Error as error:
            found[str(name)], failures[str(name)] = None, str(error)
    return {"counts": found, "failures": failures}


def indexes(shown: ShownStore, given: dict[str, Any]) -> dict[str, Any]:
    """The indexes of a repository."""
    return {"indexes": shown.repository(given.get("repository")).indexes()}


def figures(shown: ShownStore, given: dict[str, Any]) -> Iterator[Any]:
    """The store's state once a second, with what was committed in each of the last ones."""
    shown.recorder.start()

    def lines() -> Iterator[Any]:
        while True:
            began = time.perf_counter()
            described = shown.store.describe()
            took = (time.perf_counter() - began) * 1000
            del described["repositories"]
            yield {**described, "rates": shown.recorder.rates(), "read_ms": round(took, 3)}
            if shown.closing.wait(1):
                return

    return lines()


def changes(shown: ShownStore, given: dict[str, Any]) -> Iterator[Any]:
    """The newest changes, and then each as it is committed."""
    return changes_after(shown.recorder, whole(given, "after", 0), shown.closing)


def _proposed(url: str, ending: str) -> str:
    """A path beside the store for a new file with the day in its name."""
    own = url[len("sqlite:") :] if url.startswith("sqlite:") else url
    folder, stem = (
        (os.path.dirname(os.path.abspath(own)), os.path.splitext(os.path.basename(own))[0])
        if "://" not in own and own != "memory:"
        else (os.getcwd(), "store")
    )
    base = os.path.join(folder, f"{stem}-{time.strftime('%Y-%m-%d')}")
    path, number = base + ending, 2
    while os.path.lexists(path):
        path, number = f"{base}-{number}{ending}", number + 1
    return path
