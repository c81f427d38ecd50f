"""Controllers of the library's: how Python calls them, and how they call and tell their owners."""

import ctypes
import functools
import weakref
from collections.abc import Mapping
from enum import Enum
from typing import Any, Callable, Optional, Protocol, TypeVar, Union
from uuid import UUID, uuid4

from . import errors
from ._callbacks import answer, native
from ._codec import Codec
from ._forms import form_of
from ._handles import Handle, call, native_buffer, text_of
from ._json import dump_with, load
from ._library import lib
from ._sources import as_members, decoder
from ._types import hf_controller, hf_event, hf_middleware_fn
from .events import NO_CALLBACK, NO_DESTRUCTOR
from .expressions import Expression

T = TypeVar("T")

Action = Mapping[str, Any]
State = Mapping[str, Any]
#: Sees an action, and the state before it.
Middleware = Callable[[dict[str, Any], dict[str, Any]], object]


def _form(value: Any) -> Any:
    if isinstance(value, Expression):
        return value.to_filter()
    return load(value) if isinstance(value, bytes) else form_of(value)


_dump = dump_with(_form)


def json_of(value: Union[Mapping[str, Any], bytes]) -> bytes:
    """An action or a state as the library takes it; entities in it may be of any class."""
    return value if isinstance(value, bytes) else _dump(value)


def action_of(action: Union[Action, bytes], codec: Codec[Any]) -> bytes:
    """An action for a repository. Of an element that cannot be an entity the state tells."""
    if isinstance(action, Mapping):
        element = action.get("element")
        if not (element is None or isinstance(element, (str, int, float, list, Enum, UUID))):
            action = {**action, "element": codec.members(element)}
    return json_of(action)


#: The member that names an action of each of these kinds among others.
_NAMES = {"save": "id", "delete": "id", "request": "token"}


def named(action: Union[Action, bytes]) -> tuple[Union[Action, bytes], Any]:
    """An action, and its token or id: a new one where it begins something and has none."""
    try:
        members: Any = action if isinstance(action, Mapping) else load(action)
    except ValueError:
        return action, None  # the library tells where it is no JSON
    kind = members.get("action") if isinstance(members, Mapping) else None
    name = _NAMES.get(kind) if isinstance(kind, str) else None
    if name is None:
        return action, None
    if members.get(name) is not None:
        return action, members[name]
    token = str(uuid4())
    members = {**members, name: token}
    return (members if isinstance(action, Mapping) else _dump(members)), token


def reduced(action: bytes, state: Optional[bytes]) -> bytes:
    """What an action makes of a state."""
    with native_buffer() as buffer:
        call(lib.hf_reduce, action, len(action), state, len(state or b""), ctypes.byref(buffer))
        return text_of(buffer)


@functools.cache
def initial() -> bytes:
    """The state before any action."""
    return reduced(b'{"action":"cancelRequest"}', None)


def entities_of(codec: Codec[T], repository: str, token: Any, state: Union[State, bytes]) -> list[T]:
    """The elements of a request, as entities of a repository's class."""
    if isinstance(state, bytes):
        state = codec.loader()(state)
    if token is None:
        token = state["request"].get("token")
    request = state["requests"].get(str(token), {})
    decode = as_members if request.get("request", {}).get("fields") else decoder(codec)
    return [
        decode(repository, str(members.get(codec.key)), members) for members in request.get("elements", ())
    ]


class Owner(Protocol):
    """Whom a controller calls and tells."""

    def _see(self, action: bytes, state: bytes) -> None:
        """An action, and the state before it. May not raise."""

    def _hear(self) -> None:
        """There is a new state."""

    def _end(self) -> None:
        """The store is closed: of new states nothing is told any more."""


class NativeController:
    """A controller of the library's. Its owner is not kept by it, so that one can be collected."""

    def __init__(self, owner: Owner, repository: Any, events: Any, has_middleware: bool) -> None:
        token = events.register(_Listener(owner))
        pointer = ctypes.POINTER(hf_controller)()
        _owners[token] = weakref.ref(owner)
        middleware = _see if has_middleware else _NO_MIDDLEWARE
        try:
            call(
                lib.hf_controller_create,
                repository.pointer,
                middleware,
                NO_CALLBACK,
                token,
                NO_DESTRUCTOR,
                ctypes.byref(pointer),
            )
        except BaseException:
            _free(events, token, pointer)
            raise
        self._handle = Handle(pointer, functools.partial(_free, events, token))
        self.is_closed = False

    @property
    def is_foreign(self) -> bool:
        """Whether this is a forked child, and the controller its parent's."""
        return self._handle.is_foreign

    def dispatch(self, action: bytes) -> None:
        """Dispatches an action."""
        self._call(lib.hf_controller_dispatch, action, len(action))

    def state(self) -> bytes:
        """The state."""
        with native_buffer() as buffer:
            self._call(lib.hf_controller_state, ctypes.byref(buffer))
            return text_of(buffer)

    def close(self) -> None:
        """Ends it. When this returns the middleware is not called any more, unless this is called inside."""
        self.is_closed = True
        self._handle.free()

    def _call(self, function: Callable[..., int], *arguments: Any) -> None:
        try:
            call(function, self._handle.pointer, *arguments)
        except errors.InvalidHandleError:
            if not self.is_closed:
                raise
            raise errors.ClosedError("The controller was closed.") from None


class _Listener:
    """Told of events, on the thread that takes them."""

    def __init__(self, owner: Owner) -> None:
        self._owner = weakref.ref(owner)

    def hear(self, event: hf_event) -> None:
        """There is a new state."""
        owner = self._owner()
        if owner is not None:
            owner._hear()

    def abandon(self, _: BaseException) -> None:
        """The store is closed."""
        owner = self._owner()
        if owner is not None:
            owner._end()


# A plain dict, without a lock: each access is atomic, and the garbage collector takes owners out.
_owners: "dict[int, weakref.ref[Owner]]" = {}
_NO_MIDDLEWARE = hf_middleware_fn()


def _forget(events: Any, token: int) -> None:
    events.forget(token)
    _owners.pop(token, None)


def _free(events: Any, token: int, pointer: Any) -> None:
    lib.hf_controller_free(pointer)
    _forget(events, token)


@native(hf_middleware_fn)
def _see(action: Any, action_length: int, state: Any, state_length: int, token: int) -> None:
    reference = _owners.get(token)
    # Kept while it is called: freeing the controller would wait for this call.
    owner = None if reference is None else reference()
    if owner is not None:
        texts = action[:action_length], state[:state_length]
        answer(0)
        owner._see(*texts)
