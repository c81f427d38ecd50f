"""Requests of a controller: a snapshot, then what changes, until they are canceled or fail."""

import threading
from typing import Any

import pytest
from actions import (
    INITIAL,
    WAIT,
    BusyWriter,
    Diary,
    cancel,
    eventually,
    is_in,
    request,
    row,
    save,
    save_rows,
    shows,
)

import holdfast
from holdfast import F

Songs = holdfast.Repository[dict[str, Any]]
Controller = holdfast.Controller[Any]
BY_N = {"n": 1}


def ids(state: dict[str, Any], token: str) -> list[str]:
    return state["requests"][token]["ids"]


def await_found(controller: Controller, songs: Songs, token: str = "t", **query: Any) -> None:
    """Waits until a request shows what finding it answers."""
    controller.wait_for(shows(token, songs.find(**query)), WAIT)


# --- Following ---------------------------------------------------------------------------------------


def test_a_request_brings_one_snapshot_and_then_what_each_commit_changes(
    controller: Controller, diary: Diary, songs: Songs
) -> None:
    save_rows(songs, 6)
    controller.dispatch(request(sort=BY_N))
    await_found(controller, songs, sort=BY_N)
    # Three of six in one commit are one change; one more is another.
    songs.delete_many(["a", "c", "f"])
    await_found(controller, songs, sort=BY_N)
    songs.save(row("g", 2))
    await_found(controller, songs, sort=BY_N)
    assert controller.state["request"]["ids"] == ["b", "g", "d", "e"]
    assert controller.state["request"]["versions"] == [
        version for id in "bgde" for _, version in [songs.fetch_versioned(id) or (None, None)]
    ]
    assert (diary.noted("received", "t"), diary.noted("changed", "t")) == (1, 2)
    removed = [action["result"]["removed"] for action, _ in diary.entries if action["action"] == "changed"]
    assert [[it["id"] for it in part] for part in removed] == [["a", "c", "f"], []]
    # What the controller itself saves is told as well.
    controller.dispatch(save(row("h", 0)))
    controller.wait_for(is_in("succeeded", "persist"), WAIT)
    await_found(controller, songs, sort=BY_N)
    controller.dispatch(cancel())
    assert diary.lane("request", controller.state) == ["initial", "loading", "received", "canceled"]
    assert controller.entities("t") == []


def test_of_three_requests_the_middle_one_is_canceled_and_the_others_hear_of_the_commit(
    controller: Controller, diary: Diary, songs: Songs
) -> None:
    save_rows(songs, 3)
    controller.dispatch(request("one", filter=F.n >= 1))
    controller.dispatch(request("two", sort=BY_N))
    controller.dispatch(request("three", sort=BY_N, limit=2))
    for token, expected in (("one", "bc"), ("two", "abc"), ("three", "ab")):
        controller.wait_for(is_in("received", "requests", token), WAIT)
        assert ids(controller.state, token) == list(expected)
    controller.dispatch(cancel("two"))
    songs.delete("b")
    controller.wait_for(lambda state: ids(state, "one") == ["c"] and ids(state, "three") == ["a", "c"], WAIT)
    assert controller.state["requests"]["two"] == {"state": "canceled", "request": {"sort": BY_N}}
    assert (diary.noted("changed", "one"), diary.noted("changed", "two")) == (1, 0)
    # The lane shows the latest.
    assert controller.state["request"]["token"] == "three"


def test_rollbacks_and_commits_that_change_nothing_relevant_send_nothing(
    store: holdfast.Store, controller: Controller, diary: Diary, songs: Songs
) -> None:
    save_rows(songs, 3)
    controller.dispatch(request(filter={"n": {"$lt": 10}}, fields=["n"], sort=BY_N))
    controller.wait_for(is_in("received", "request"), WAIT)
    with pytest.raises(ZeroDivisionError), store.transaction():
        songs.save(row("rolled back", 1))
        raise ZeroDivisionError
    songs.save(row("irrelevant", 11))
    songs.save(row("a", 0, hidden=True))
    store.repository("others").save(row("elsewhere", 1))
    songs.save(row("relevant", 9))
    controller.wait_for(lambda state: ids(state, "t") == ["a", "b", "c", "relevant"], WAIT)
    assert diary.noted("changed") == 1


def test_entities_move_enter_leave_and_stand_at_the_edge_of_a_limit(
    controller: Controller, diary: Diary, songs: Songs
) -> None:
    query: Any = {"filter": {"off": {"$exists": False}}, "sort": BY_N, "limit": 4, "skip": 1}
    save_rows(songs, 6)
    controller.dispatch(request(**query))
    for entity in (
        row("a", 9),  # moves behind the limit
        row("a", 2.5),  # and back, in between
        row("e", -1),  # from behind the limit to the front
        row("b", 1, off=True),  # leaves the filter
        row("b", 1),  # enters it
        row("z", 0),  # is new, within the limit
        row("z", 100),
    ):
        songs.save(entity)
        await_found(controller, songs, **query)
    for id in "eabz":
        songs.delete(id)
        await_found(controller, songs, **query)
    assert (diary.noted("received"), diary.noted("requestFailed")) == (1, 0)


def test_of_a_hundred_commits_in_a_burst_the_changes_in_order_give_the_final_state(
    controller: Controller, diary: Diary, songs: Songs
) -> None:
    controller.dispatch(request(sort=BY_N))
    for number in range(100):
        songs.save(row(str(number % 40), number * 37 % 101))
    await_found(controller, songs, sort=BY_N)
    assert diary.noted("received") == 1


def test_a_request_with_a_token_in_use_ends_the_former_and_lives(
    controller: Controller, diary: Diary, songs: Songs
) -> None:
    save_rows(songs, 3)
    controller.dispatch(request(filter={"n": 0}))
    controller.wait_for(lambda state: state["request"].get("ids") == ["a"], WAIT)
    controller.dispatch(request(filter={"n": 1}))
    controller.wait_for(lambda state: state["request"].get("ids") == ["b"], WAIT)
    songs.save(row("x", 0))
    songs.save(row("y", 1))
    controller.wait_for(lambda state: state["request"].get("ids") == ["b", "y"], WAIT)
    assert (diary.noted("received", "t"), diary.noted("changed", "t")) == (2, 1)
    # Also while the former is still being opened.
    for _ in range(20):
        controller.dispatch(request(filter={"n": 0}))
    controller.dispatch(request(filter={"n": 2}))
    state = controller.wait_for(is_in("received", "request"), WAIT)
    assert state["request"]["ids"] == ["c"] and state["request"]["request"] == {"filter": {"n": 2}}


# --- Cancelling --------------------------------------------------------------------------------------


def test_when_a_cancel_has_returned_nothing_of_its_request_is_told_any_more(songs: Songs) -> None:
    diary = Diary()
    diary.then = lambda action: threading.Event().wait(0.002) if "result" in action else None
    told: list[str] = []

    def hear(state: dict[str, Any]) -> None:
        threading.Event().wait(0.001)
        told.append(state["request"]["state"])

    with holdfast.Controller(songs, diary, hear) as controller, BusyWriter(songs):
        for number in range(20):
            before = diary.noted("changed")
            controller.dispatch(request(sort=BY_N))
            if number % 2 == 0:
                eventually(lambda before=before: diary.noted("changed") > before)
            controller.dispatch(cancel())
            actions, heard = len(diary.entries), len(told)
            assert controller.state["request"]["state"] == "canceled"
            threading.Event().wait(0.003)
            assert len(diary.entries) == actions
            # What has ended is not ended again, and the state stays.
            controller.dispatch(cancel())
            assert set(told[heard:]) <= {"canceled"}
            assert controller.state["request"]["state"] == "canceled"


def test_a_request_is_canceled_inside_its_own_event(
    controller: Controller, diary: Diary, songs: Songs, store: holdfast.Store
) -> None:
    diary.then = lambda action: controller.dispatch(cancel()) if action["action"] == "changed" else None
    controller.dispatch(request())
    controller.wait_for(is_in("received", "request"), WAIT)
    songs.save({"id": "a"})
    controller.wait_for(is_in("canceled", "request"), WAIT)
    songs.save({"id": "b"})
    store.submit(lambda: songs.save({"id": "c"})).result(WAIT)
    assert diary.noted("changed") == 1
    # The change itself had come before.
    assert diary.lane("request", controller.state) == ["initial", "loading", "received", "canceled"]
    assert "a" in [it["id"] for action, _ in diary.entries[-2:-1] for it in action["result"]["inserted"]]


def test_a_request_is_canceled_inside_on_state(songs: Songs, store: holdfast.Store) -> None:
    diary = Diary()

    def cancel_it(state: dict[str, Any]) -> None:
        if state["request"]["state"] == "received":
            controller.dispatch(cancel())

    with holdfast.Controller(songs, diary, cancel_it) as controller:
        controller.dispatch(request())
        controller.wait_for(is_in("canceled", "request"), WAIT)
        songs.save({"id": "a"})
        store.submit(lambda: songs.save({"id": "b"})).result(WAIT)
        assert diary.noted("changed") == 0


def test_late_results_change_nothing(controller: Controller, songs: Songs) -> None:
    controller.dispatch(request())
    controller.dispatch(cancel())
    controller.dispatch(
        {"action": "received", "token": "t", "result": {"position": "p", "snapshot": [], "versions": []}}
    )
    assert controller.state["request"]["state"] == "canceled"
    controller.dispatch(request(limit=-1))
    controller.wait_for(is_in("failed", "request"), WAIT)
    controller.dispatch(cancel())
    assert controller.state["request"]["state"] == "failed"


# --- Failing -----------------------------------------------------------------------------------------


def test_a_request_that_cannot_be_opened_fails_with_itself_and_works_when_it_is_mended(
    controller: Controller, diary: Diary
) -> None:
    wrong = {"filter": {"n": {"$near": 1}}}
    controller.dispatch(request(**wrong))
    failed = controller.wait_for(is_in("failed", "request"), WAIT)["request"]
    assert (failed["error"]["status"], failed["error"]["detail"]["operator"]) == ("HF_INVALID_QUERY", "$near")
    assert failed["request"] == wrong
    controller.dispatch(request("u", limit=-1))
    failed = controller.wait_for(is_in("failed", "requests", "u"), WAIT)["request"]
    assert failed["error"]["status"] == "HF_INVALID_OPTION"
    assert diary.lane("request", controller.state) == ["initial", "loading", "failed", "loading", "failed"]
    controller.dispatch(request("t"))
    state = controller.wait_for(is_in("received", "request"), WAIT)
    assert state["requests"]["u"]["state"] == "failed"


def test_a_change_that_does_not_fit_is_a_failure_and_then_a_fresh_snapshot(
    controller: Controller, diary: Diary, songs: Songs
) -> None:
    save_rows(songs, 3)
    controller.dispatch(request(sort=BY_N))
    await_found(controller, songs, sort=BY_N)
    controller.dispatch({"action": "changed", "token": "t", "result": {"removed": [{"position": 7}]}})
    await_found(controller, songs, sort=BY_N)
    expected = ["initial", "loading", "received", "failed", "loading", "received"]
    assert diary.lane("request", controller.state) == expected
    assert diary.noted("request", "t") == 2
    songs.save(row("g", 2))
    await_found(controller, songs, sort=BY_N)


def test_closing_the_store_fails_the_requests_that_live_and_says_so(
    store: holdfast.Store, songs: Songs
) -> None:
    told: list[Any] = []
    with holdfast.Controller(songs, on_state=told.append) as controller:
        controller.dispatch(request(sort=BY_N))
        controller.dispatch(request("u"))
        controller.dispatch(request("gone"))
        for token in "tu":
            controller.wait_for(is_in("received", "requests", token), WAIT)
        controller.dispatch(cancel("gone"))
        store.close()
        requests = controller.state["requests"]
        assert requests["t"]["error"]["status"] == requests["u"]["error"]["status"] == "HF_CLOSED"
        assert requests["t"]["request"] == {"sort": BY_N}
        assert requests["gone"]["state"] == "canceled"
        assert told[-1]["requests"] == requests
        assert [state["requests"] for state in controller.states()] == [requests]
        controller.dispatch(request(sort=BY_N))
        assert controller.state["request"]["error"]["status"] == "HF_CLOSED"


def test_two_features_of_one_store_have_states_of_their_own(
    store: holdfast.Store, controller: Controller, songs: Songs
) -> None:
    with holdfast.Controller(store.repository("titles")) as other:
        controller.dispatch(request("all"))
        other.dispatch(request("all"))
        controller.dispatch(save({"id": "artist"}))
        controller.wait_for(shows("all", [{"id": "artist"}]), WAIT)
        assert other.state["persist"] == INITIAL
        other.dispatch(save({"id": "title"}))
        other.wait_for(shows("all", [{"id": "title"}]), WAIT)
        controller.dispatch(cancel("all"))
        assert other.state["requests"]["all"]["state"] == "received"
        assert controller.state["requests"]["all"]["state"] == "canceled"
        songs.delete("artist")
        other.dispatch({"action": "delete", "element": {"id": "title"}})
        other.wait_for(shows("all", []), WAIT)


def test_closing_a_controller_ends_its_requests_in_the_midst_of_commits(songs: Songs) -> None:
    before = holdfast.handle_count()
    with BusyWriter(songs):
        for number in range(20):
            diary = Diary()
            with holdfast.Controller(songs, diary) as controller:
                controller.dispatch(request(sort=BY_N))
                controller.dispatch(request("u"))
                if number % 2 == 0:
                    controller.wait_for(is_in("received", "requests", "t"), WAIT)
            actions = len(diary.entries)
            threading.Event().wait(0.002)
            assert len(diary.entries) == actions
    assert holdfast.handle_count() == before
