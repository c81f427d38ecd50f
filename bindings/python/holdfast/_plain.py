"""Functions that must have done their work when they return."""

import inspect
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Callable, TypeVar

T = TypeVar("T")


def done(value: T, what: str, cure: str = "write `def`, and in it what is to be done at once.") -> T:
    """Answers what a function has answered. Refuses a coroutine and a generator, which would do the work
    later, or never. `cure` is for coroutines."""
    kind = type(value)
    if kind is CoroutineType:
        value.close()  # type: ignore[attr-defined]
        raise TypeError(f"{what} must not be a coroutine function: {cure}")
    if kind is GeneratorType or kind is AsyncGeneratorType:
        raise TypeError(
            f"{what} must not be a generator function: do without `yield` what is to be done at once."
        )
    return value


def run(function: Callable[[], T], what: str, cure: str) -> T:
    """Calls a function whose value goes to the caller. That may be a generator, such as one over what it has
    read, but not the function's own, which would begin behind the call."""
    value = function()
    is_made = isinstance(value, (GeneratorType, AsyncGeneratorType)) and not (
        inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    )
    return value if is_made else done(value, what, cure)
