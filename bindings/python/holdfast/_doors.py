"""Doors: each call is written once, for the package, for `holdfast.aio`, and for what is run later.

It is written as a blocking method is, with its parameters, its answer and its documentation, in a base of the
classes of all doors. Another base, one of those here, says how the calls of a class are made.
"""

import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Protocol, overload

    from typing_extensions import Concatenate, ParamSpec

    from .aio.operation import Operation as AwaitedOperation
    from .operation import Operation

    D = TypeVar("D")
    P = ParamSpec("P")
    Q = ParamSpec("Q")

R = TypeVar("R")


class Blocking:
    """Its calls return when they are done."""


class Later:
    """Its calls answer operations of the package, which are run later."""


class AwaitedLater:
    """Its calls answer operations of `holdfast.aio`."""


class Awaited:
    """Its calls are coroutines, made when a class is of what its bases have."""

    #: Calls a function on a thread of its own, with the blocking object that this one stands for.
    _in_thread: Callable[..., Any]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name, function in inspect.getmembers(cls, inspect.isfunction):
            make = _MADE.get(getattr(function, "kind", None))
            if make is not None and name not in vars(cls):
                method = make(function)
                del method.kind  # of a class below this one it is the method
                method.__module__, method.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"
                setattr(cls, name, method)


def _awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    """The coroutine of a call that answers what can be awaited."""

    @functools.wraps(function)
    async def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return await function(self, *arguments, **keywords)

    return method


def _on_a_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    """The coroutine of a call that blocks."""

    @functools.wraps(function)
    async def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return await self._in_thread(lambda blocking: function(blocking, *arguments, **keywords))

    return method


_MADE = {"verb": _awaited, "threaded": _on_a_thread}

if TYPE_CHECKING:

    class Verb(Generic[P, R]):
        """A call, as each door has it."""

        @overload
        def __get__(self, instance: Blocking, owner: Any = None) -> Callable[P, R]: ...
        @overload
        def __get__(self, instance: Awaited, owner: Any = None) -> Callable[P, Coroutine[Any, Any, R]]: ...
        @overload
        def __get__(self, instance: Later, owner: Any = None) -> Callable[P, Operation[R]]: ...
        @overload
        def __get__(self, instance: AwaitedLater, owner: Any = None) -> Callable[P, AwaitedOperation[R]]: ...
        @overload
        def __get__(self, instance: None, owner: Any = None) -> Callable[Concatenate[Any, P], Any]: ...

    class Either(Protocol[P, R, Q, D]):
        """Answers one thing for some arguments, and another for others."""

        @overload
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
        @overload
        def __call__(self, *args: Q.args, **kwargs: Q.kwargs) -> D: ...

    class Selecting(Generic[P, R, Q, D]):
        """A call that answers parts of entities where parts are asked for, as each door has it."""

        @overload
        def __get__(self, instance: Blocking, owner: Any = None) -> Either[P, R, Q, D]: ...
        @overload
        def __get__(
            self, instance: Awaited, owner: Any = None
        ) -> Either[P, Coroutine[Any, Any, R], Q, Coroutine[Any, Any, D]]: ...
        @overload
        def __get__(self, instance: Later, owner: Any = None) -> Either[P, Operation[R], Q, Operation[D]]: ...
        @overload
        def __get__(
            self, instance: AwaitedLater, owner: Any = None
        ) -> Either[P, AwaitedOperation[R], Q, AwaitedOperation[D]]: ...

    def verb(function: Callable[Concatenate[Any, P], R]) -> Verb[P, R]: ...
    def threaded(function: Callable[Concatenate[Any, P], R]) -> Verb[P, R]: ...

    class selecting(Generic[Q, D]):
        def __init__(self, parts: Callable[Concatenate[Any, Q], D]) -> None: ...
        def __call__(self, function: Callable[Concatenate[Any, P], R]) -> Selecting[P, R, Q, D]: ...

else:

    def verb(function):
        """Decorates a call that is made in the way of its class; what it is annotated with is its answer."""
        function.kind = "verb"
        return function

    def threaded(function):
        """Decorates a call that blocks: where it is awaited, a thread makes it."""
        function.kind = "threaded"
        return function

    def selecting(parts):
        """As `verb`, for a call that takes and answers what `parts` does where parts are asked for."""
        return verb
