"""Cache: how the entities of a repository are kept in memory, and the clock by which they expire."""

import enum
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Literal, Optional, Union

from . import errors
from ._callbacks import native
from ._handles import call
from ._interrupts import tell
from ._library import lib
from ._options import milliseconds
from ._types import destructor, hf_clock_fn

if TYPE_CHECKING:
    from .store import Store


@dataclass(frozen=True)
class CachePolicy:
    """How the entities of one repository are cached in this process, apart from those of others.

    `store.repository("people", cache=CachePolicy(max_entries=100))`; a dict with the options of
    holdfast/cache.h will do as well.
    """

    #: Which entry goes when there are too many: "lru" that used longest ago, "fifo" that inserted first.
    strategy: Literal["lru", "fifo"] = "lru"
    #: Seconds, counted from when an entry was set last, after which it is read anew; 0: it does not expire.
    time_to_live: float = 0
    #: None: any number. 0: nothing is cached.
    max_entries: Optional[int] = None
    #: None: the store's `cache_bytes`. 0: nothing is cached.
    max_bytes: Optional[int] = None

    #: 100 entries, for five minutes.
    DEFAULT: ClassVar["CachePolicy"]
    #: 500 entries, for an hour.
    AGGRESSIVE: ClassVar["CachePolicy"]
    #: Every read asks the storage.
    NO_CACHE: ClassVar["CachePolicy"]


CachePolicy.DEFAULT = CachePolicy(time_to_live=300, max_entries=100)
CachePolicy.AGGRESSIVE = CachePolicy(time_to_live=3600, max_entries=500)
CachePolicy.NO_CACHE = CachePolicy(max_entries=0)

#: What `cache` takes.
Cache = Union[CachePolicy, Mapping[str, Any]]


def cache_options(cache: Optional[Cache]) -> Optional[dict[str, Any]]:
    """A policy as the library takes it."""
    if cache is None:
        return None
    if not isinstance(cache, CachePolicy):
        return dict(cache)
    options = {
        "strategy": cache.strategy,
        "time_to_live_ms": milliseconds("time_to_live", cache.time_to_live),
        "max_entries": cache.max_entries,
        "max_bytes": cache.max_bytes,
    }
    return {name: value for name, value in options.items() if value is not None}


class TrimLevel(enum.IntEnum):
    """How short memory is."""

    WARNING = 1
    CRITICAL = 2


def trim_level(name: str) -> TrimLevel:
    """The level "warning" or "critical"."""
    for level in TrimLevel:
        if level.name.lower() == name:
            return level
    raise errors.InvalidArgumentError(f'A cache is trimmed at "warning" or "critical", not {name!r}.')


# --- The clock -----------------------------------------------------------------------------------

#: Seconds that never go back, as of `time.monotonic`.
Clock = Callable[[], float]

# Without a lock: each access is atomic, and the library lets go of a clock on any of its threads.
_clocks: dict[int, Clock] = {}
_tokens = itertools.count(1)
_NONE = hf_clock_fn()


def set_clock(store: "Store", clock: Optional[Clock]) -> None:
    """Sets, replaces or, with None, takes away the clock of a store."""
    if clock is None:
        call(lib.hf_store_set_clock, store.pointer, _NONE, None, destructor())
        return
    token = next(_tokens)
    _clocks[token] = clock
    # On a failure the destructor takes it out again.
    call(lib.hf_store_set_clock, store.pointer, _now, token, _free)


@native(destructor)
def _free(token: int) -> None:
    _clocks.pop(token, None)


@native(hf_clock_fn, 0)
def _now(token: int) -> int:
    return tell(lambda: round(_clocks[token]() * 1_000_000_000)) or 0
