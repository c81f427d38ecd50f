"""Described calls for tests: every call that can be deferred, with its answer, and who hears of it."""

import threading
from dataclasses import dataclass
from typing import Any

import holdfast
from holdfast import F


@dataclass
class Song:
    id: str
    plays: int = 0


def results(songs: "holdfast.Repository[Song]") -> list[Any]:
    """Every call of a repository that can be deferred, with the repository's own as the expectation."""
    later = songs.deferred
    return [
        (later.add(Song("a", 1)), Song("a", 1)),
        (later.add_many([Song("b", 2), Song("c", 3)]), [Song("b", 2), Song("c", 3)]),
        (later.save({"id": "d", "plays": 4}), Song("d", 4)),
        (later.save_many([Song("e")]), [Song("e")]),
        (later.update(Song("e", 5)), Song("e", 5)),
        (later.update_many([Song("e", 6)]), [Song("e", 6)]),
        (later.patch("e", {"plays": 7}), Song("e", 7)),
        (later.patch_many([{"id": "e", "plays": 8}]), [Song("e", 8)]),
        (later.modify("e", {"$inc": {"plays": 1}}), Song("e", 9)),
        (later.modify("f", {"$inc": {"plays": 1}}, initial={"plays": 1}), Song("f", 2)),
        (later.modify_all(F.plays < 3, {"$inc": {"plays": 0}}), holdfast.ModifyResult(3, 0)),
        (later.fetch("a"), Song("a", 1)),
        (later.fetch("none", 17), 17),
        (later.fetch_bytes("a"), b'{"id":"a","plays":1}'),
        (later.fetch_bytes("none"), None),
        (later.fetch_many(["b", "none", "a"]), [Song("b", 2), Song("a", 1)]),
        (later.contains("a"), True),
        (later.ids(), list("abcdef")),
        (later.find({"plays": {"$gt": 3}}, sort={"plays": -1}, limit=1), [Song("e", 9)]),
        (later.find({"plays": 1}, fields=["plays"]), [{"id": "a", "plays": 1}]),
        (later.first(F.plays == 2), Song("b", 2)),
        (later.first({"plays": 99}), None),
        (later.count({"plays": {"$param": "n"}}, parameters={"n": 1}), 1),
        (later.exists({"plays": 99}), False),
        (later.distinct("plays"), [1, 2, 3, 4, 9]),
        (later.delete("f"), None),
        (later.delete("f", missing_ok=True), None),
        (later.delete_many(["e", "d"]), None),
        (later.delete_all({"plays": {"$gt": 1}}), 2),
        (later.fetch_all(), [Song("a", 1)]),
    ]


class Heard:
    """A subscriber that notes what it hears, and where."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.threads: set[str] = set()
        self._ended = threading.Event()

    def value(self, value: Any) -> None:
        self._note(("value", value))

    def finished(self) -> None:
        self._note("finished")
        self._ended.set()

    def error(self, error: BaseException) -> None:
        self._note(type(error))
        self._ended.set()

    def _note(self, event: Any) -> None:
        self.threads.add(threading.current_thread().name)
        self.events.append(event)

    def wait(self) -> list[Any]:
        assert self._ended.wait(120)
        return self.events
