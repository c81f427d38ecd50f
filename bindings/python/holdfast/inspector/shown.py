"""A store that is shown, with what the inspector keeps of it."""

import threading
import time
from typing import Any, Optional

from .. import errors
from .._codec import Codec
from ..repository import Repository
from ..store import Store
from .jobs import Jobs
from .journal import Journal
from .recorder import Recorder


class ShownStore:
    """One of the stores of an inspector."""

    def __init__(self, store: Store, write: bool) -> None:
        self.store = store
        self.jobs = Jobs()
        self.journal = Journal()
        self.recorder = Recorder(store)
        #: Set when the inspector is closed: whoever waits for something looks at it.
        self.closing = threading.Event()
        described = store.describe()
        self.url: str = described["url"]
        self.can_write = write and not described["read_only"]
        self._counts: dict[str, tuple[int, float, float]] = {}

    def repositories(self) -> dict[str, str]:
        """The names of its repositories, and the member of each that holds the id."""
        return {it["name"]: it["key"] for it in self.store.describe()["repositories"]}

    def repository(self, name: Any) -> "Repository[Any]":
        """One of them."""
        if not isinstance(name, str):
            raise ValueError("A repository is named by a text.")
        key = self.store._keys.get(name) or self.repositories().get(name)
        if key is None:
            raise errors.NotFoundError(f'The store has no repository "{name}".')
        # Without a look at all others, of which there may be hundreds.
        return Repository._known(self.store, name, Codec(None, key, name))

    def count(self, name: str, filter: Any = None) -> int:
        """How many entities there are. What took long to count is not counted again at once."""
        if filter:
            return self.repository(name).count(filter, damaged="skip")
        known: Optional[tuple[int, float, float]] = self._counts.get(name)
        began = time.monotonic()
        if known is not None and began - known[1] < 10 * known[2]:
            return known[0]
        counted = self.repository(name).count()
        ended = time.monotonic()
        self._counts[name] = (counted, ended, ended - began)
        return counted

    def forget_counts(self) -> None:
        """Has everything counted again: the person has changed it."""
        self._counts.clear()

    def close(self) -> None:
        """Ends what is going on. The store stays open."""
        self.closing.set()
        self.jobs.close()
        self.recorder.close()
