"""Testing: what tests of programs that use Holdfast put in a storage's and a clock's place.

    storage = MockStorage(songs=[{"id": "s1", "title": "Gloria"}])
    storage.calls.fail("save", at=2, error=OSError("The disk is full."))
    with holdfast.open_provider(storage) as store:
        ...
    assert storage.calls.count("fetch") == 1

Under a store a mock is a provider. All else is what it is outside of tests: transactions, queries, the cache,
and how a commit is taken back that fails in the middle. Where a test needs a real store and no file, one that
is opened with "memory:" is that. For pytest there are fixtures: see `holdfast.pytest_plugin`.
"""

import datetime
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Optional, Union

from ._codec import dump, id_of, load, members_of
from .provider import StorageProvider

__all__ = ["MockCalls", "MockClock", "MockError", "MockStorage"]


class MockError(Exception):
    """What a mock raises where nothing else is said."""


@dataclass
class _Failure:
    name: Optional[str]
    #: Counted from 1, since the failure was planned; None for all.
    call: Optional[int]
    error: BaseException
    seen: int = 0


class MockCalls:
    """What a mock was called for, and what it is to fail at. Any thread."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._counts: Counter[str] = Counter()
        self._failures: list[_Failure] = []
        self._lock = threading.Lock()

    def count(self, name: Optional[str] = None) -> int:
        """How often the method of this name was called, or any, calls that failed included."""
        self._check(name)
        with self._lock:
            return sum(self._counts.values()) if name is None else self._counts[name]

    def fail(
        self, name: Optional[str] = None, *, at: Optional[int] = None, error: Optional[BaseException] = None
    ) -> None:
        """Plans that calls raise an error (`MockError`): those of the method of this name, or of any; the one
        that is number `at` from now on, of which the first is 1, or all."""
        self._check(name)
        planned = _Failure(name, at, MockError("The mock was to fail.") if error is None else error)
        with self._lock:
            self._failures.append(planned)

    def reset(self) -> None:
        """Forgets the counts, and lets all calls succeed."""
        with self._lock:
            self._counts.clear()
            self._failures.clear()

    def record(self, name: str) -> None:
        """Counts a call, and raises what it is to fail with."""
        error: Optional[BaseException] = None
        with self._lock:
            self._counts[name] += 1
            for failure in self._failures:
                if failure.name in (None, name):
                    failure.seen += 1
                    if failure.call in (None, failure.seen):
                        error = error or failure.error
        if error is not None:
            raise error

    def _check(self, name: Optional[str]) -> None:
        if name is not None and name not in self._names:
            raise ValueError(f'The mock has no "{name}", but {", ".join(sorted(self._names))}.')


class MockStorage(StorageProvider):
    """A storage in memory that counts its calls, and fails where it is told to.

    It begins with these entities, by the names of their repositories. It has the four methods alone, so that
    several changes of a transaction are several calls.
    """

    def __init__(self, **entities: Iterable[Any]) -> None:
        #: What it was called for, and what it is to fail at.
        self.calls = MockCalls(["save", "fetch", "fetch_all", "delete"])
        #: The bodies of all entities, by the names of their repositories and their ids. To look at them or
        #: change them counts as no call.
        self.bodies: dict[tuple[str, str], bytes] = {}
        for repository, these in entities.items():
            for members in map(members_of, these):
                self.bodies[repository, id_of(members["id"]).decode()] = dump(members)

    def entities(self, repository: str) -> list[dict[str, Any]]:
        """The entities of a repository as dicts, ordered by their ids."""
        return [load(body) for (name, _), body in sorted(self.bodies.items()) if name == repository]

    def reset(self) -> None:
        """Forgets the counts and what is to fail, and deletes every entity."""
        self.calls.reset()
        self.bodies.clear()

    def save(self, repository: str, id: str, body: bytes) -> None:
        self.calls.record("save")
        self.bodies[repository, id] = body

    def fetch(self, repository: str, id: str) -> Optional[bytes]:
        self.calls.record("fetch")
        return self.bodies.get((repository, id))

    def fetch_all(self, repository: str) -> list[tuple[str, bytes]]:
        self.calls.record("fetch_all")
        return [(id, body) for (name, id), body in list(self.bodies.items()) if name == repository]

    def delete(self, repository: str, id: str) -> None:
        self.calls.record("delete")
        self.bodies.pop((repository, id), None)


class MockClock:
    """A clock that stands still until it is told otherwise, for what expires: `store.set_clock(clock)`."""

    def __init__(self) -> None:
        self._now = datetime.timedelta()

    def __call__(self) -> float:
        """The time in seconds, from 0 on."""
        return self._now.total_seconds()

    def advance(self, by: Union[float, datetime.timedelta]) -> None:
        """Lets time pass, in seconds. Raises ValueError for less than none."""
        passed = by if isinstance(by, datetime.timedelta) else datetime.timedelta(seconds=by)
        if passed < datetime.timedelta():
            raise ValueError("A clock does not go back.")
        self._now += passed
