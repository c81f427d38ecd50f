"""Options: keyword arguments that several methods take, each list of them said once.

The classes are for checkers of types. The functions that the keywords go to in the end say the defaults, and
refuse every other name.
"""

import inspect
import math
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, Literal, Optional, TypedDict, TypeVar

from . import errors

if TYPE_CHECKING:
    from .tree import Transactable

F = TypeVar("F", bound=Callable[..., Any])


Durability = Literal["full", "relaxed"]

#: In seconds: beyond a day the library takes no timeout.
_LONGEST = 86_400


def deadline_of(timeout: Optional[float]) -> Optional[float]:
    """When a wait of so many seconds is over, by `time.monotonic`; None: never, as where no clock reaches."""
    if timeout is None or timeout > threading.TIMEOUT_MAX:
        return None
    if math.isnan(timeout):
        raise errors.InvalidOptionError(f"A wait takes seconds, or None, not {timeout!r}.")
    return time.monotonic() + timeout


def milliseconds(option: str, seconds: Optional[float]) -> Optional[int]:
    """Seconds as the library takes them: none that counts is rounded to 0."""
    if seconds is None:
        return None
    if not math.isfinite(seconds):
        raise errors.InvalidOptionError(
            f'option "{option}" must be a number of seconds, not {seconds!r}', detail={"option": option}
        )
    return math.ceil(seconds * 1000)


class StoreOptions(TypedDict, total=False):
    """How a store is opened: `hf_store_open` in holdfast/store.h tells of each."""

    create: bool
    read_only: bool
    durability: Durability
    max_in_flight: int
    max_entity_bytes: int
    max_depth: int
    cache_bytes: int
    max_snapshots: int
    snapshot_max_age_ms: int
    wal_limit_bytes: int
    lock_timeout_ms: int
    idempotency_max_age_ms: int
    idempotency_max_count: int
    log_retention: int
    log_max_age_ms: int
    log_max_bytes: int
    slow_commit_ms: int
    allow_unsafe_location: bool
    mode: str
    store: str
    max_connections: int
    max_staleness_ms: int


class ProviderOptions(StoreOptions, total=False):
    """How a store over a provider is opened: `hf_store_open_provider` in holdfast/provider.h tells of it."""

    concurrent_calls: bool


class CommitOptions(TypedDict, total=False):
    """How a transaction is run, as often as wanted."""

    timeout: Optional[float]
    isolation: Optional[Literal["serializable", "snapshot"]]
    durability: Optional[Durability]
    on_error: Optional[Literal["continue", "abort"]]


class TransactionOptions(CommitOptions, total=False):
    """How one transaction is run: `holdfast.Store.begin` tells of each."""

    idempotency_key: Optional[str]


class TransactOptions(TransactionOptions, total=False):
    """How a function is run in one: `holdfast.Store.transact` tells of each."""

    max_attempts: Optional[int]
    trees: "Sequence[Transactable]"


def transaction_options(
    *,
    timeout: Optional[float] = None,
    idempotency_key: Optional[str] = None,
    isolation: Optional[str] = None,
    durability: Optional[str] = None,
    on_error: Optional[str] = None,
) -> dict[str, Any]:
    """A transaction's options by their names in the library, without those that are None."""
    if timeout is not None and not 0 <= timeout <= _LONGEST:
        raise errors.InvalidOptionError(
            f'option "timeout" must be seconds from 0 to {_LONGEST}, not {timeout!r}',
            detail={"option": "timeout"},
        )
    options = {
        "timeout_ms": None if timeout is None else math.ceil(timeout * 1000),
        "idempotency_key": idempotency_key,
        "isolation": isolation,
        "durability": durability,
        "on_error": on_error,
    }
    return {name: value for name, value in options.items() if value is not None}


def whole(value: Optional[int], name: str) -> Optional[int]:
    """An option that the library bounds, if JSON can tell it."""
    if value is not None and not (isinstance(value, int) and -(2**63) <= value < 2**63):
        raise errors.InvalidOptionError(
            f'option "{name}" must be a whole number of 64 bits, not {value!r}', detail={"option": name}
        )
    return value


def takes(options: Callable[..., Any], *, without: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Has help() and `inspect` show `**options` as the keywords of the function that they go to."""

    def show(function: F) -> F:
        own = inspect.signature(function)
        named = [it for it in own.parameters.values() if it.kind is not it.VAR_KEYWORD]
        taken = [
            it
            for it in inspect.signature(options).parameters.values()
            if it.kind is it.KEYWORD_ONLY and it.name not in without
        ]
        function.__signature__ = own.replace(parameters=[*named, *taken])  # type: ignore[attr-defined]
        return function

    return show
