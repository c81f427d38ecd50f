"""Persistence for stores in Redux's way: a middleware, and the reducer of its part of the state."""

import functools
from collections.abc import Mapping
from typing import Any, Callable, Optional

from ._codec import load
from ._controllers import Action, initial, named
from ._handles import Closing, OfOneProcess
from ._plain import done
from .controller import Controller, reduce
from .repository import Repository

Dispatch = Callable[[Any], Any]

# What has effects; the other actions tell of outcomes.
_WISHES = ("save", "delete", "cancelSave", "cancelDelete", "request", "cancelRequest")


class Middleware(OfOneProcess):
    """What the middlewares of both packages do."""

    _controller: Any

    def __init__(self, name: str, schedule: Callable[[Callable[[], None]], object]) -> None:
        #: The "type" of its actions.
        self.name = name
        self._schedule = schedule
        self._dispatch: Optional[Dispatch] = None
        # Of each token the request that lives.
        self._requests: dict[Any, object] = {}

    def _title(self) -> str:
        return f"{self.name!r} of {self._controller!r}"

    def __call__(self, store: Any) -> Callable[[Dispatch], Dispatch]:
        """The middleware: takes the store, which has `dispatch` as an item or an attribute, then the next
        one's dispatch, and answers its own."""
        self._dispatch = store["dispatch"] if isinstance(store, Mapping) else store.dispatch

        def wrap(next: Dispatch) -> Dispatch:
            def dispatch(action: Any) -> Any:
                is_wish = self._is_own(action) and action.get("action") in _WISHES
                if is_wish:
                    # The reducer is to know it by the name that its outcome will have.
                    action, _ = named(action)
                answer = next(action)
                if is_wish:
                    self._carry_out(_without_type(action))
                return answer

            return dispatch

        return wrap

    def reduce(self, state: Any, action: Any) -> dict[str, Any]:
        """The reducer of its part of the state: `holdfast.reduce` for its own actions, in Redux's order of
        parameters. A state of None is the first one."""
        if self._is_own(action):
            return reduce(_without_type(action), state)
        return load(initial()) if state is None else state

    def _is_own(self, action: Any) -> bool:
        return isinstance(action, Mapping) and action.get("type") == self.name

    def _carry_out(self, action: Action) -> None:
        self._controller.dispatch(action)

    def _see(self, action: dict[str, Any], _: Any) -> None:
        """What the controller handles: one action at a time, on whatever thread."""
        kind, token = action["action"], action.get("token")
        if kind == "request":
            self._requests[token] = object()
        elif kind == "cancelRequest":
            self._requests.pop(token, None)
        elif kind not in _WISHES:
            request = self._requests.get(token)
            outcome = functools.partial(self._tell, {"type": self.name, **action}, request)
            done(self._schedule(outcome), "schedule")

    def _tell(self, action: dict[str, Any], request: Optional[object]) -> None:
        """On the thread that dispatches: tells the store of an outcome, unless it comes too late."""
        token = action.get("token")
        if self._dispatch is None or self._requests.get(token) is not request:
            return
        if action["action"] == "requestFailed":
            self._requests.pop(token, None)
        self._dispatch(action)


class PersistenceMiddleware(Middleware, Closing):
    """Persistence of one repository for a store in Redux's way: a context manager that closes it.

        outcomes = queue.SimpleQueue()
        artists = holdfast.PersistenceMiddleware(store.repository("artists"), outcomes.put)
        reducer = pydux.combine_reducers({"artists": artists.reduce})
        app = pydux.create_store(reducer, enhancer=pydux.apply_middleware(artists))
        app.dispatch({"type": "artists", "action": "save", "element": {"name": "Patti Smith"}})
        outcomes.get()()  # on the thread that dispatches: "saved"

    Its actions are those of a `Controller`, with its name as their "type": the repository's, or `name`.
    Others pass it by. Reducers see an action before its effects begin. Each outcome is an action again: to
    dispatch it, `schedule` is handed a function that takes nothing, on the store's event thread, and is to
    have it called on the thread that dispatches. A queue's `put` does, or a loop's `call_soon_threadsafe`.
    When a "cancelRequest" was dispatched, of its request nothing is any more. An action costs time by the
    size of the part: give requests a limit.
    """

    def __init__(
        self,
        repository: "Repository[Any]",
        schedule: Callable[[Callable[[], None]], object],
        name: Optional[str] = None,
    ) -> None:
        super().__init__(repository.name if name is None else name, schedule)
        self._controller = Controller(repository, self._see)

    def close(self) -> None:
        """Ends the requests: when this returns nothing is dispatched any more. May be called again."""
        self._dispatch = None
        self._controller.close()


def _without_type(action: Action) -> dict[str, Any]:
    return {name: value for name, value in action.items() if name != "type"}
