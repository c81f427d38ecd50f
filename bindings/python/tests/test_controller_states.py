"""Who is told of a controller's states, and how it ends."""

import gc
import itertools
import logging
import os
import signal
import threading
import weakref
from typing import Any, Callable

import pytest
from actions import INITIAL, WAIT, Diary, cancel, eventually, is_in, request, save
from programs import in_child, refuses
from threads import in_thread

import holdfast
from holdfast import _controllers

Songs = holdfast.Repository[dict[str, Any]]


# --- Being told ----------------------------------------------------------------------------------------


def test_new_states_are_told_on_the_event_thread_and_what_changes_nothing_is_not(songs: Songs) -> None:
    told: list[tuple[str, Any]] = []
    with holdfast.Controller(
        songs, on_state=lambda state: told.append((threading.current_thread().name, state))
    ) as controller:
        controller.dispatch(save({"id": "a"}))
        eventually(lambda: told and told[-1][1]["persist"]["state"] == "succeeded")
        assert {name for name, _ in told} == {"holdfast-events"}
        assert [state["persist"]["state"] for _, state in told][-2:] in (
            ["succeeded"],
            ["processing", "succeeded"],
            ["succeeded", "succeeded"],
        )
        # A state that is behind is told as the newest one, which then comes once more: behind that.
        behind = threading.Event()
        songs.store.submit(lambda: songs.save({"id": "b"})).add_done_callback(lambda _: behind.set())
        assert behind.wait(60)
        states = controller.states(timeout=0.05)
        assert next(states) == told[-1][1]
        count = len(told)
        controller.dispatch(cancel("nobody"))
        controller.dispatch({"action": "saved", "id": "nobody", "element": {}})
        with pytest.raises(holdfast.TimeoutError):
            next(states)
        assert len(told) == count


def test_states_are_iterated_by_several_each_up_to_the_latest(controller: Any) -> None:
    heard: dict[int, list[str]] = {0: [], 1: []}

    def follow(number: int) -> None:
        for state in controller.states(WAIT):
            heard[number].append(state["persist"]["state"])
            if state["saves"].get("9", {}).get("state") == "succeeded":
                break

    threads = [threading.Thread(target=follow, args=(number,)) for number in heard]
    for thread in threads:
        thread.start()
    for number in range(10):
        controller.dispatch(save({"id": number}, number))
        controller.wait_for(is_in("succeeded", "saves", str(number)), WAIT)
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive()
    assert all(states[-1] == "succeeded" for states in heard.values())


def test_waiting_ends_after_its_time_and_at_control_c(controller: Any) -> None:
    for timeout in (0, 0.01):
        with pytest.raises(holdfast.TimeoutError):
            controller.wait_for(is_in("succeeded", "persist"), timeout)
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        controller.wait_for(is_in("succeeded", "persist"))
    assert controller.wait_for(is_in("initial", "persist"), 0)["persist"] == INITIAL


def test_waiting_ends_after_its_time_also_where_new_states_do_not_stop(
    controller: holdfast.Controller[Any],
) -> None:
    ids = itertools.count()

    def begin_another(_: dict[str, Any]) -> None:
        controller.dispatch(save({}, next(ids)))

    with pytest.raises(holdfast.TimeoutError):
        controller.wait_for(begin_another, 0.05)


def test_what_the_functions_raise_is_logged_and_ends_nothing(
    songs: Songs, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise SystemExit

    with holdfast.Controller(songs, fail, fail) as controller:
        controller.dispatch(save({"id": "a"}))
        controller.wait_for(is_in("succeeded", "persist"), WAIT)
        eventually(lambda: len(caplog.records) >= 3)
    assert {record.levelno for record in caplog.records} == {logging.ERROR}
    assert all(record.exc_info and record.exc_info[0] is SystemExit for record in caplog.records)
    caplog.clear()


def test_control_c_inside_the_middleware_is_raised_by_the_program(songs: Songs) -> None:
    def interrupt(*_: object) -> None:
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    with holdfast.Controller(songs, interrupt) as controller:
        with pytest.raises(KeyboardInterrupt):
            controller.dispatch(save({"id": "a"}))
        controller.wait_for(is_in("succeeded", "persist"), WAIT)


def test_on_state_may_dispatch_but_not_wait(store: holdfast.Store, songs: Songs) -> None:
    refused = threading.Event()

    def save_more(state: dict[str, Any]) -> None:
        if "second" not in state["saves"]:
            controller.dispatch(save({"id": "second"}, "second"))
            with pytest.raises(holdfast.WouldDeadlockError):
                controller.wait_for(is_in("succeeded", "saves", "second"))
            refused.set()

    with holdfast.Controller(songs, on_state=save_more) as controller:
        controller.dispatch(save({"id": "first"}, "first"))
        controller.wait_for(is_in("succeeded", "saves", "second"), WAIT)
        assert refused.wait(WAIT)


# --- Ends ----------------------------------------------------------------------------------------------


def test_a_closed_controller_says_so_and_what_it_was_saving_is_saved(
    store: holdfast.Store, songs: Songs
) -> None:
    diary = Diary()
    before = holdfast.handle_count()
    controller = holdfast.Controller(songs, diary)
    states = controller.states()
    next(states)
    controller.dispatch(save({"id": "a"}))
    controller.close()
    controller.close()
    count = len(diary.entries)
    assert list(states) == []
    for call in (lambda: controller.dispatch(cancel()), lambda: controller.state):
        with pytest.raises(holdfast.ClosedError):
            call()
    store.submit(lambda: songs.save({"id": "b"})).result(WAIT)
    eventually(lambda: songs.contains("a"))
    assert len(diary.entries) == count
    assert holdfast.handle_count() == before


def test_a_controller_is_closed_inside_its_functions(store: holdfast.Store, songs: Songs) -> None:
    heard: list[str] = []

    def close_it(*_: object) -> None:
        heard.append("called")
        controllers.pop().close()

    controllers = [holdfast.Controller(songs, close_it)]
    controllers[0].dispatch(save({"id": "a"}))
    assert heard == ["called"] and not controllers
    controllers = [holdfast.Controller(songs, on_state=close_it)]
    controllers[0].dispatch(request())
    eventually(lambda: not controllers)
    songs.save({"id": "b"})
    store.submit(lambda: songs.save({"id": "c"})).result(WAIT)
    assert heard == ["called"] * 2


def test_on_state_may_close_the_store(store: holdfast.Store, songs: Songs) -> None:
    closed = threading.Event()

    def close_it(state: dict[str, Any]) -> None:
        if state["request"]["state"] == "received":
            store.close()
            closed.set()

    with holdfast.Controller(songs, on_state=close_it) as controller:
        controller.dispatch(request())
        assert closed.wait(WAIT)
        controller.wait_for(is_in("failed", "request"), WAIT)
        assert controller.state["request"]["error"]["status"] == "HF_CLOSED"


def test_when_close_returns_no_function_of_a_controller_runs_any_more(
    store: holdfast.Store, songs: Songs
) -> None:
    for _ in range(20):
        inside, closed = threading.Event(), threading.Event()
        late: list[bool] = []

        def dawdle(
            *_: Any, inside: threading.Event = inside, closed: Any = closed, late: list[bool] = late
        ) -> None:
            inside.set()
            closed.wait(0.005)
            late.append(closed.is_set())

        controller = holdfast.Controller(songs, dawdle, dawdle)
        in_thread(lambda controller=controller: controller.dispatch(request()))
        # Perhaps nothing is under way any more; mostly what was requested is just being told.
        assert inside.wait(WAIT)
        controller.close()
        closed.set()
        store.submit(lambda: songs.save({"id": "c"})).result(WAIT)
        assert late and True not in late


def test_a_controller_that_nobody_has_any_more_is_closed(store: holdfast.Store, songs: Songs) -> None:
    before = holdfast.handle_count()
    known: list[Any] = []
    # Its functions know it, as those of an application would.
    controller = holdfast.Controller(songs, lambda *_, known=known: known, lambda _, known=known: known)
    known.append(controller)
    controller.dispatch(request())
    controller.wait_for(is_in("received", "request"), WAIT)
    reference = weakref.ref(controller)
    del controller, known
    gc.collect()
    # The event thread may be just telling it something.
    eventually(lambda: gc.collect() >= 0 and reference() is None)
    assert holdfast.handle_count() == before
    assert not len(store._events._listeners) and not _controllers._owners


def test_a_failed_opening_is_a_result_and_opening_again_may_succeed(path: str) -> None:
    later = os.path.join(os.path.dirname(path), "later")
    for _ in range(2):
        with pytest.raises(holdfast.CannotOpenError):
            holdfast.open(os.path.join(later, "store.db"))
    os.mkdir(later)
    with holdfast.open(os.path.join(later, "store.db")) as store:
        with holdfast.Controller(store.repository("songs")) as controller:
            controller.dispatch(save({"id": "a"}))
            controller.wait_for(is_in("succeeded", "persist"), WAIT)


def test_closing_the_store_is_a_result_and_a_controller_of_one_opened_anew_works(
    open_store: Callable[..., holdfast.Store],
) -> None:
    store = open_store()
    with holdfast.Controller(store.repository("songs")) as controller:
        store.close()
        controller.dispatch(save({"id": "a"}))
        assert controller.state["persist"] == {
            "id": "default",
            "state": "failed",
            "error": {
                "status": "HF_CLOSED",
                "message": "the store is closed: open it again",
                "retryable": False,
                "commit_state": "none",
                "detail": {},
            },
            "element": {"id": "a"},
        }
        with pytest.raises(holdfast.ClosedError):
            controller.wait_for(is_in("succeeded", "persist"), WAIT)
    with pytest.raises(holdfast.ClosedError):
        holdfast.Controller(store.repository("songs"))
    store = open_store()
    with holdfast.Controller(store.repository("songs")) as controller:
        controller.dispatch(save({"id": "a"}))
        controller.wait_for(is_in("succeeded", "persist"), WAIT)


def test_a_forked_child_has_no_part_in_its_parent_s_controllers(songs: Songs) -> None:
    with holdfast.Controller(songs, lambda *_: None) as controller:
        states = controller.states()
        next(states)
        calls: list[Callable[[], Any]] = [
            lambda: controller.dispatch(save({"id": "a"})),
            lambda: controller.state,
            lambda: controller.wait_for(lambda _: False),
            lambda: next(states),
            lambda: holdfast.Controller(songs),
        ]

        def child() -> bool:
            controller.close()
            return all(map(refuses, calls))

        assert in_child(child) == 0
        controller.dispatch(save({"id": "a"}))
        controller.wait_for(is_in("succeeded", "persist"), WAIT)
