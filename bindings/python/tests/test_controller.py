"""Saving and deleting by actions: what the lanes show, what fails, in which order."""

import dataclasses
import sqlite3
import threading
from typing import Any, Callable, Optional

import pytest
from actions import INITIAL, WAIT, Diary, cancel, delete, eventually, is_in, request, row, save, shows
from threads import in_threads

import holdfast
from holdfast import F

Songs = holdfast.Repository[dict[str, Any]]

# --- The lanes ---------------------------------------------------------------------------------------


def test_a_save_goes_through_processing_to_succeeded_with_the_id_that_was_assigned(
    controller: Any, diary: Diary, songs: Songs
) -> None:
    assert controller.state == {
        **dict.fromkeys(("request", "persist", "delete"), INITIAL),
        **{"requests": {}, "saves": {}, "deletes": {}},
    }
    id = controller.dispatch({"action": "save", "element": {"n": 1.5}})
    state = controller.wait_for(is_in("succeeded", "persist"), WAIT)
    (stored,) = songs
    _, version = songs.fetch_versioned(stored["id"])  # type: ignore[misc]
    assert state["persist"] == {"id": id, "state": "succeeded", "version": version, "element": stored}
    assert diary.lane("persist", state) == ["initial", "processing", "succeeded"]
    assert state["delete"] == state["request"] == INITIAL
    # What it answered can be saved again: an update of the same.
    controller.dispatch(save({**state["persist"]["element"], "n": 2}, "again"))
    controller.wait_for(is_in("succeeded", "saves", "again"), WAIT)
    assert songs.fetch_all() == [{**stored, "n": 2}]


def test_a_failed_save_holds_its_element_and_is_tried_again_only_when_it_is_dispatched(
    controller: Any, diary: Diary, songs: Songs
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("not today")

    songs.set_validator(refuse)
    controller.dispatch(save(row("a", 1)))
    state = controller.wait_for(is_in("failed", "persist"), WAIT)
    assert state["persist"]["error"]["status"] == "HF_REFUSED"
    assert "not today" in state["persist"]["error"]["message"]
    assert state["persist"]["element"] == row("a", 1)
    songs.set_validator(None)
    with pytest.raises(holdfast.TimeoutError):
        controller.wait_for(is_in("succeeded", "persist"), 0.05)
    assert not songs.contains("a")
    controller.dispatch(save(state["persist"]["element"]))
    state = controller.wait_for(is_in("succeeded", "persist"), WAIT)
    assert diary.lane("persist", state) == ["initial", "processing", "failed", "processing", "succeeded"]
    assert songs["a"] == row("a", 1)


def test_deleting_what_is_missing_fails_unless_that_is_allowed(
    controller: Any, diary: Diary, songs: Songs
) -> None:
    songs.save({"id": "a"})
    element = {"id": "a", "whatever": 1}
    id = controller.dispatch({"action": "delete", "element": element})
    state = controller.wait_for(is_in("succeeded", "delete"), WAIT)
    assert state["delete"] == {"id": id, "state": "succeeded", "element": element}
    assert songs.count() == 0
    controller.dispatch(delete("a"))
    state = controller.wait_for(is_in("failed", "delete"), WAIT)
    assert state["delete"]["error"]["status"] == "HF_NOT_FOUND"
    assert state["delete"]["error"]["detail"]["id"] == state["delete"]["element"]["id"] == "a"
    controller.dispatch(delete("a", missing_ok=True))
    state = controller.wait_for(is_in("succeeded", "delete"), WAIT)
    expected = ["initial", "processing", "succeeded", "processing", "failed", "processing", "succeeded"]
    assert diary.lane("delete", state) == expected


def test_parallel_saves_and_deletes_each_report_their_own_outcome(controller: Any, songs: Songs) -> None:
    for number in range(30):
        entity = row(str(number), number)
        controller.dispatch(save([entity] if number % 3 == 0 else entity, number))
    ended = lambda state: {it["state"] for it in state} == {"failed", "succeeded"}  # noqa: E731
    saves = controller.wait_for(lambda state: ended(state["saves"].values()), WAIT)["saves"]
    assert {id for id, it in saves.items() if it["state"] == "failed"} == set(map(str, range(0, 30, 3)))
    assert songs.count() == 20
    for number in range(30):
        controller.dispatch(delete(str(number), number))
    deletes = controller.wait_for(lambda state: ended(state["deletes"].values()), WAIT)["deletes"]
    assert {id for id, it in deletes.items() if it["state"] == "failed"} == set(map(str, range(0, 30, 3)))
    assert songs.count() == 0


def test_two_saves_of_one_id_under_way_at_once_both_tell_their_outcomes(
    controller: Any, diary: Diary, songs: Songs
) -> None:
    for n in range(5):
        controller.dispatch(save(row("a", n), "one"))
    eventually(lambda: diary.noted("saved", "one") == 5)
    told = [action["element"] for action, _ in diary.entries if action["action"] == "saved"]
    assert sorted(it["n"] for it in told) == list(range(5))
    assert songs["a"] == told[-1]


# --- What is no action, what is no entity --------------------------------------------------------------


def test_what_has_no_token_gets_one_of_its_own_and_dispatch_answers_it(controller: Any, songs: Songs) -> None:
    songs.save(row("a", 1))
    requests = [
        controller.dispatch({"action": "request", "request": {"filter": {"n": 1}}}),
        controller.dispatch(b'{"action":"request","request":{"filter":{"n":2}}}'),
        controller.dispatch({"action": "request", "token": None}),
    ]
    saves = [controller.dispatch({"action": "save", "element": row(id, 2)}) for id in "bc"]
    controller.wait_for(
        lambda it: [save["state"] for save in it["saves"].values()] == ["succeeded"] * 2, WAIT
    )
    controller.wait_for(shows(requests[0], [row("a", 1)]), WAIT)
    controller.wait_for(shows(requests[1], [row("b", 2), row("c", 2)]), WAIT)
    state = controller.wait_for(shows(requests[2], [row("a", 1), row("b", 2), row("c", 2)]), WAIT)
    assert set(state["requests"]) == set(requests)
    assert set(state["saves"]) == set(saves)
    assert len({*requests, *saves}) == 5
    assert controller.entities() == controller.entities(requests[2])
    assert controller.dispatch(request("t")) == "t"
    assert controller.dispatch(cancel("t")) is None
    assert controller.dispatch(save(row("d", 1), 7)) == 7
    for action in ({"action": "cancelRequest"}, b'{"action":"cancelRequest"}'):
        with pytest.raises(holdfast.InvalidOptionError, match="token"):
            controller.dispatch(action)


def test_what_is_no_entity_fails_in_the_state_and_what_is_no_action_in_the_call(
    controller: Any, diary: Diary
) -> None:
    controller.dispatch(save([1], "a"))
    controller.dispatch({"action": "delete", "id": "b", "element": {"n": 1}})
    for path in (("saves", "a"), ("deletes", "b")):
        controller.wait_for(is_in("failed", *path), WAIT)
    state = controller.state
    assert state["saves"]["a"]["error"]["status"] == "HF_INVALID_ENTITY"
    assert state["deletes"]["b"]["error"]["status"] == "HF_INVALID_ENTITY"
    with pytest.raises(holdfast.InvalidOptionError):
        controller.dispatch({"action": "shave"})
    with pytest.raises(holdfast.InvalidJsonError):
        controller.dispatch(b'{"action"')
    with pytest.raises(TypeError):
        controller.dispatch(save(object()))
    assert len(diary.entries) == 4


@dataclasses.dataclass
class Song:
    title: str
    id: Optional[str] = None


def test_elements_may_be_of_the_class_and_results_are_and_what_is_not_is_an_error_that_names_it(
    store: holdfast.Store, songs: Songs
) -> None:
    typed = store.repository("songs", cls=Song)
    with holdfast.Controller(typed) as controller:
        assert controller.entities("t") == []
        controller.dispatch(request(filter=F.title.matches("^G"), sort={"title": 1}))
        controller.dispatch({"action": "save", "element": Song("Gloria")})
        state = controller.wait_for(lambda state: state["request"].get("elements"), WAIT)
        (gloria,) = controller.entities("t", state)
        assert gloria == Song("Gloria", state["request"]["ids"][0])
        songs.save({"id": "bad"})
        controller.dispatch(request("u"))
        controller.wait_for(lambda state: len(state["requests"]["u"].get("elements", ())) == 2, WAIT)
        assert gloria in controller.entities("u")
        (bad,) = [it for it in controller.entities("u") if it != gloria]
        assert isinstance(bad, holdfast.CorruptError)
        assert bad.detail == {"repository": "songs", "id": "bad"}
        controller.dispatch(request("v", fields=["title"]))
        controller.wait_for(is_in("received", "requests", "v"), WAIT)
        assert {"id": gloria.id, "title": "Gloria"} in controller.entities("v")
        controller.dispatch({"action": "delete", "element": gloria})
        controller.wait_for(lambda state: state["requests"]["t"]["elements"] == [], WAIT)
        # Of a class or not, the reducer has JSON alone.
        state = holdfast.reduce({"action": "save", "element": Song("Why", "s2")})
        assert state["persist"]["element"] == {"title": "Why", "id": "s2"}


def test_an_entity_that_cannot_be_read_fails_its_request_by_name_and_hides_no_other(path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save_many([row("a", 1), row("b", 2)])
    with sqlite3.connect(path) as connection:
        (table,) = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%body%'"
        ).fetchone()
        connection.execute(f"UPDATE {table} SET body = '{{\"id\":' WHERE id = 'b'")
    connection.close()
    with holdfast.open(path) as store, holdfast.Controller(store.repository("songs")) as controller:
        controller.dispatch(request(filter={"n": {"$gt": 0}}))
        error = controller.wait_for(is_in("failed", "request"), WAIT)["request"]["error"]
        assert error["status"] == "HF_CORRUPT" and error["detail"]["id"] == "b"
        assert store.repository("songs")["a"] == row("a", 1)
        controller.dispatch(save(row("b", 3)))
        controller.wait_for(is_in("succeeded", "persist"), WAIT)
        controller.dispatch(request(filter={"n": {"$gt": 0}}))
        state = controller.wait_for(is_in("received", "request"), WAIT)
        assert state["request"]["elements"] == [row("a", 1), row("b", 3)]


# --- Order, threads ------------------------------------------------------------------------------------


def test_what_is_dispatched_inside_the_middleware_is_handled_after_its_action(
    controller: Any, diary: Diary
) -> None:
    def save_more(action: dict[str, Any]) -> None:
        if action["action"] == "save" and action["id"] == "first":
            controller.dispatch(save({"id": "second"}, "second"))
            assert controller.state["saves"] == {}
            # This thread makes the states.
            with pytest.raises(holdfast.WouldDeadlockError):
                controller.wait_for(is_in("processing", "persist"))

    diary.then = save_more
    controller.dispatch(save({"id": "first"}, "first"))
    assert [action["id"] for action, _ in diary.entries[:2]] == ["first", "second"]
    for id in ("first", "second"):
        controller.wait_for(is_in("succeeded", "saves", id), WAIT)


def test_many_threads_dispatch_and_the_reducer_alone_explains_every_state(
    controller: Any, diary: Diary, songs: Songs
) -> None:
    def dispatch_many(thread: int) -> None:
        for number in range(50):
            id = thread * 100 + number
            controller.dispatch(save({"id": id}, id))
            assert str(id) in controller.state["saves"]

    in_threads(dispatch_many, range(4))
    eventually(lambda: diary.noted("saved") == 200)
    assert songs.count() == 200
    state: Any = None
    for action, before in diary.entries:
        assert state is None or state == before
        state = holdfast.reduce(action, state)
    assert controller.state == state


def test_where_too_much_is_under_way_a_save_fails_at_once_and_can_be_dispatched_again(
    open_store: Callable[..., holdfast.Store],
) -> None:
    store = open_store(max_in_flight=1)
    songs = store.repository("songs")
    may_go_on, is_held = threading.Event(), threading.Event()

    def hold(*_: object) -> None:
        is_held.set()
        may_go_on.wait(WAIT)

    # While the event thread is held its commit has not been delivered.
    store.changes().subscribe(hold)
    songs.save({"id": "first"})
    assert is_held.wait(WAIT)
    with holdfast.Controller(songs) as controller:
        controller.dispatch(save({"id": "a"}, "a"))
        controller.dispatch(save({"id": "b"}, "b"))
        controller.dispatch(request())
        assert controller.state["saves"]["b"]["error"]["status"] == "HF_BUSY"
        assert controller.state["saves"]["b"]["error"]["retryable"] is True
        assert controller.state["request"]["error"]["status"] == "HF_BUSY"
        may_go_on.set()
        controller.wait_for(is_in("succeeded", "saves", "a"), WAIT)
        controller.dispatch(save(controller.state["saves"]["b"]["element"], "b"))
        controller.wait_for(is_in("succeeded", "saves", "b"), WAIT)
        assert songs.contains("b")
