"""Functions that must have done their work when they return."""

import types
from typing import TypeVar

T = TypeVar("T")


def done(value: T, what: str, cure: str = "write `def`, and in it what is to be done at once.") -> T:
    """Answers what a function has answered. Refuses a coroutine, which would do its work later, or never."""
    if isinstance(value, types.CoroutineType):
        value.close()
        raise TypeError(f"{what} must not be a coroutine function: {cure}")
    return value
