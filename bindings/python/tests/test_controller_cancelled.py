"""Saves and deletes of controllers that are withdrawn: while they are queued, and not behind that."""

import threading
from collections.abc import Iterator
from typing import Any, Optional

import pytest
from actions import WAIT, Diary, delete, eventually, is_in, save
from loops import Run

import holdfast
import holdfast.aio


class Slow(holdfast.StorageProvider):
    """Stores nothing while its gate is closed, so that what is dispatched meanwhile is queued."""

    def __init__(self) -> None:
        self.entities: dict[str, bytes] = {}
        self.gate = threading.Event()
        self.is_storing = threading.Event()

    def save(self, repository: str, id: str, body: bytes) -> None:
        self.is_storing.set()
        self.gate.wait(WAIT)
        self.entities[id] = body

    def fetch(self, repository: str, id: str) -> Optional[bytes]:
        return self.entities.get(id)

    def fetch_all(self, repository: str) -> "list[tuple[str, bytes]]":
        return sorted(self.entities.items())

    def delete(self, repository: str, id: str) -> None:
        self.entities.pop(id, None)


@pytest.fixture
def slow() -> Iterator[Slow]:
    slow = Slow()
    yield slow
    slow.gate.set()


def queued(slow: Slow) -> "list[dict[str, Any]]":
    """Actions of which all but the first stay queued."""
    return [
        save({"id": "a"}, "first"),
        save({"id": "b"}, "second"),
        save({"id": "c"}, "third"),
        delete("none", "fourth", missing_ok=True),
    ]


def expect(state: Any, slow: Slow, diary: Diary) -> None:
    assert state["saves"]["first"]["state"] == state["saves"]["third"]["state"] == "succeeded"
    for entry in (state["saves"]["second"], state["deletes"]["fourth"]):
        assert entry["state"] == "failed"
        assert entry["error"]["status"] == "HF_CANCELLED"
        assert entry["error"]["commit_state"] == "none"
    assert state["saves"]["second"]["element"] == {"id": "b"}
    assert sorted(slow.entities) == ["a", "c"]
    assert diary.noted("saveFailed", "second") == diary.noted("deleteFailed", "fourth") == 1


CANCELLED = ({"action": "cancelSave", "id": "second"}, {"action": "cancelDelete", "id": "fourth"})
#: They are being stored, are none, or are others.
TOO_LATE = (
    {"action": "cancelSave", "id": "first"},
    {"action": "cancelSave", "id": "fourth"},
    {"action": "cancelDelete", "id": "third"},
)


def is_over(state: Any) -> bool:
    return is_in("succeeded", "saves", "third")(state) and is_in("failed", "deletes", "fourth")(state)


def test_what_is_queued_is_withdrawn_and_what_is_being_stored_goes_on(slow: Slow) -> None:
    diary = Diary()
    with (
        holdfast.open_provider(slow) as store,
        holdfast.Controller(store.repository("songs"), diary) as controller,
    ):
        first, *others = queued(slow)
        controller.dispatch(first)
        assert slow.is_storing.wait(WAIT)
        for action in (*others, *TOO_LATE, *CANCELLED):
            controller.dispatch(action)
        slow.gate.set()
        expect(controller.wait_for(is_over, WAIT), slow, diary)
        # What has ended stays as it is.
        before = controller.state
        for action in (*TOO_LATE, *CANCELLED):
            controller.dispatch(action)
        assert controller.state == before
        with pytest.raises(holdfast.InvalidOptionError, match='has the "id" of what it ends'):
            controller.dispatch({"action": "cancelSave"})


async def test_it_is_so_in_a_loop_too(run: Run, slow: Slow) -> None:
    diary = Diary()
    async with holdfast.aio.open_provider(slow) as store:
        async with holdfast.aio.Controller(store.repository("songs"), diary) as controller:
            first, *others = queued(slow)
            await controller.dispatch(first)
            assert slow.is_storing.wait(WAIT)
            for action in (*others, *TOO_LATE, *CANCELLED):
                await controller.dispatch(action)
            slow.gate.set()
            expect(await controller.wait_for(is_over, WAIT), slow, diary)


def test_of_several_saves_of_one_id_all_that_are_queued_are_withdrawn(slow: Slow) -> None:
    with (
        holdfast.open_provider(slow) as store,
        holdfast.Controller(store.repository("songs"), diary := Diary()) as it,
    ):
        for id in "abc":
            it.dispatch(save({"id": id}, "same"))
            assert slow.is_storing.wait(WAIT)
        it.dispatch({"action": "cancelSave", "id": "same"})
        slow.gate.set()
        eventually(lambda: diary.noted("saved") + diary.noted("saveFailed") == 3)
    assert diary.noted("saved") == 1
    assert sorted(slow.entities) == ["a"]


def test_the_reducer_leaves_it_to_the_outcome() -> None:
    state = holdfast.reduce(save({"id": "a"}, "first"))
    assert holdfast.reduce({"action": "cancelSave", "id": "first"}, state) == state
