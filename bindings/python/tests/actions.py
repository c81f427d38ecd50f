"""What the tests of controllers share: a diary of what a middleware saw."""

import copy
import threading
import time
from typing import Any, Callable, Optional

import holdfast

State = dict[str, Any]
INITIAL = {"state": "initial"}
#: Longer than anything takes.
WAIT = 120


class Diary:
    """A middleware that notes each action and the state before it."""

    def __init__(self) -> None:
        self.entries: list[tuple[dict[str, Any], State]] = []
        self._is_inside = threading.Lock()
        #: Called after an action was noted, if set.
        self.then: Optional[Callable[[dict[str, Any]], object]] = None

    def __call__(self, action: dict[str, Any], state: State) -> None:
        self.entries.append((copy.deepcopy(action), copy.deepcopy(state)))
        # What is raised here is logged: the count of entries tells.
        if not self._is_inside.acquire(blocking=False):
            self.entries.clear()
        try:
            if self.then is not None:
                self.then(action)
        finally:
            self._is_inside.release()

    def noted(self, name: str, reference: Optional[str] = None) -> int:
        """How many actions of this name, and token or id, were noted."""
        return sum(
            action["action"] == name and reference in (None, action.get("token"), action.get("id"))
            for action, _ in list(self.entries)
        )

    def lane(self, name: str, now: State) -> list[str]:
        """The states of a lane, in their order, up to the state now."""
        states = [before[name]["state"] for _, before in self.entries] + [now[name]["state"]]
        return [state for previous, state in zip([None, *states], states) if state != previous]


def save(element: Any, id: Any = "default") -> dict[str, Any]:
    return {"action": "save", "id": id, "element": element}


def delete(id: str, key: str = "default", **options: Any) -> dict[str, Any]:
    return {"action": "delete", "id": key, "element": {"id": id}, **options}


def request(token: Any = "t", **members: Any) -> dict[str, Any]:
    return {"action": "request", "token": token, "request": members}


def cancel(token: Any = "t") -> dict[str, Any]:
    return {"action": "cancelRequest", "token": token}


def is_in(state: str, *path: str) -> Callable[[State], bool]:
    """Whether what a path leads to, such as ("saves", "a"), is in this state."""

    def predicate(whole: State) -> bool:
        value: Any = whole
        for name in path:
            value = value.get(name, {})
        return value.get("state") == state

    return predicate


def shows(token: str, elements: list[Any]) -> Callable[[State], bool]:
    """Whether these are the elements of a request."""
    return lambda state: state["requests"].get(token, {}).get("elements") == elements


def eventually(condition: Callable[[], Any]) -> None:
    """Waits until something is so that another thread does."""
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def row(id: str, n: float, **members: Any) -> dict[str, Any]:
    return {"id": id, "n": n, **members}


def save_rows(repository: Any, count: int) -> None:
    for number in range(count):
        repository.save(row("abcdefghij"[number], number))


class BusyWriter:
    """A thread that commits without end."""

    def __init__(self, repository: "holdfast.Repository[Any]") -> None:
        self._repository = repository
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "BusyWriter":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._is_over.is_set():
            self._repository.save(row(str(number % 10), number))
            number += 1
