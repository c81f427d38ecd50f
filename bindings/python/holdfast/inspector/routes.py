"""Routes: what can be asked, by name."""

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Callable

from . import figures, reading, work
from .reading import text, whole
from .shown import ShownStore

if TYPE_CHECKING:
    from .server import Inspector


#: Answers what an inspector is asked with an object.
Ask = Callable[["Inspector", dict[str, Any]], Any]


class Refused(Exception):
    """A request that is refused with a status of HTTP."""

    def __init__(self, message: str, status: HTTPStatus) -> None:
        super().__init__(message)
        self.status = status


def stores(inspector: "Inspector", given: dict[str, Any]) -> Any:
    """The stores, by their numbers, and what is remembered of the page."""
    told = [{"url": shown.url, "can_write": shown.can_write} for shown in inspector.shown]
    return {"stores": told, "memory": inspector.memory.of("page")}


def remembered(inspector: "Inspector", given: dict[str, Any]) -> Any:
    """What is remembered of a store."""
    return {"memory": inspector.memory.of(_shown(inspector, given).url)}


def remember(inspector: "Inspector", given: dict[str, Any]) -> Any:
    """Remembers something of a store, or with a store of null of the page."""
    owner = "page" if given.get("store") is None else _shown(inspector, given).url
    inspector.memory.keep(owner, text(given, "name"), given.get("value"))
    return {}


def _shown(inspector: "Inspector", given: dict[str, Any]) -> ShownStore:
    number = whole(given, "store", 0)
    if number >= len(inspector.shown):
        raise Refused("There is no such store.", HTTPStatus.NOT_FOUND)
    return inspector.shown[number]


def _of_store(answer: Callable[[ShownStore, dict[str, Any]], Any]) -> Ask:
    return lambda inspector, given: answer(_shown(inspector, given), given)


#: Each is asked with the number of a "store" (0) and what it needs itself.
ANSWERS: dict[str, Ask] = {
    "stores": stores,
    "remembered": remembered,
    "remember": remember,
    **{
        answer.__name__: _of_store(answer)
        for answer in (
            figures.overview,
            figures.counts,
            figures.indexes,
            reading.find,
            reading.count,
            reading.explain,
            reading.entity,
            reading.history,
            reading.sampled,
            reading.aggregate,
            work.save,
            work.delete,
            work.undo,
            work.edits,
            work.create_index,
            work.drop_index,
            work.verify,
            work.backup,
            work.export,
            work.jobs,
            work.cancel,
        )
    },
}
STREAMS: dict[str, Ask] = {
    answer.__name__: _of_store(answer) for answer in (reading.live, figures.figures, figures.changes)
}
