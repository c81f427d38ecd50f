"""Controllers in asyncio: the same actions and states, awaited."""

import asyncio
import contextlib
import dataclasses
import gc
import itertools
import time
import weakref
from typing import Any

import pytest
from actions import INITIAL, WAIT, Diary, cancel, is_in, request, row, save, shows
from loops import Run, eventually

import holdfast
import holdfast.aio


async def test_lanes_go_through_their_states_and_a_request_follows_the_commits(run: Run, path: str) -> None:
    @dataclasses.dataclass
    class Song:
        id: str
        n: float = 0

    diary, told = Diary(), []
    async with holdfast.aio.open(path) as store:
        songs = store.repository("songs", cls=Song)
        async with holdfast.aio.Controller(songs, diary, told.append) as controller:
            await controller.dispatch(request(filter=holdfast.F.n >= 0, sort={"n": -1}))
            # Else it might be received with all that is committed here.
            await controller.wait_for(is_in("received", "request"), WAIT)
            await controller.dispatch({"action": "save", "element": Song("a", 1)})
            await controller.wait_for(is_in("succeeded", "persist"), WAIT)
            await songs.add_many([Song("b", 2), Song("c", 3)])
            await songs.delete_many(["a", "b"])
            state = await controller.wait_for(shows("t", [row("c", 3)]), WAIT)
            assert controller.entities("t", state) == controller.entities("t") == [Song("c", 3)]
            assert diary.noted("received") == 1 and diary.noted("changed") in (1, 2, 3)
            await controller.dispatch({"action": "delete", "element": Song("a")})
            state = await controller.wait_for(is_in("failed", "delete"), WAIT)
            assert state["delete"]["error"]["status"] == "HF_NOT_FOUND"
            assert state["delete"]["element"]["id"] == "a"
            await controller.dispatch(cancel())
            expected = ["initial", "loading", "received", "canceled"]
            assert diary.lane("request", controller.state) == expected
            assert diary.lane("persist", controller.state) == ["initial", "processing", "succeeded"]
            assert diary.lane("delete", controller.state) == ["initial", "processing", "failed"]
            await eventually(lambda: told[-1] == controller.state)
            with pytest.raises(holdfast.InvalidOptionError):
                await controller.dispatch({"action": "shave"})


async def test_the_first_action_opens_it_and_actions_keep_their_order(run: Run) -> None:
    diary = Diary()
    async with holdfast.aio.open("memory:") as store:
        controller = holdfast.aio.Controller(store.repository("songs"), diary)
        assert controller.state["persist"] == INITIAL and controller.entities() == []
        await asyncio.gather(*[controller.dispatch(save({"id": it}, it)) for it in range(20)])
        dispatched = [action["id"] for action, _ in diary.entries if action["action"] == "save"]
        assert dispatched == [str(it) for it in range(20)]
        await controller.wait_for(is_in("succeeded", "saves", "19"), WAIT)
        assert await store.repository("songs").count() == 20
        await controller.close()


async def test_three_requests_the_middle_one_canceled_inside_the_middleware(run: Run, path: str) -> None:
    async with holdfast.aio.open(path) as store:
        songs = store.repository("songs")
        diary = Diary()

        def cancel_two(action: dict[str, Any]) -> None:
            if action["action"] == "changed" and action["token"] == "two":
                # On the loop, once it is open, there is nothing to wait for.
                with pytest.raises(StopIteration):
                    controller.dispatch(cancel("two")).send(None)

        diary.then = cancel_two
        async with holdfast.aio.Controller(songs, diary) as controller:
            for token in ("one", "two", "three"):
                await controller.dispatch(request(token))
                await controller.wait_for(is_in("received", "requests", token), WAIT)
            for id in "ab":
                await songs.save({"id": id})
            for token in ("one", "three"):
                await controller.wait_for(shows(token, [{"id": "a"}, {"id": "b"}]), WAIT)
            assert controller.state["requests"]["two"]["state"] == "canceled"
            assert [diary.noted("changed", token) for token in ("one", "two", "three")] == [2, 1, 2]


async def test_states_are_iterated_until_the_store_is_closed(run: Run) -> None:
    heard: list[str] = []
    async with holdfast.aio.open("memory:") as store:
        controller = holdfast.aio.Controller(store.repository("songs"))
        await controller.dispatch(request())

        async def follow() -> None:
            async for state in controller.states():
                heard.append(state["request"]["state"])

        tasks = [asyncio.ensure_future(follow()) for _ in range(2)]
        await eventually(lambda: heard.count("received") == 2)
        states = controller.states(timeout=0.01)
        await states.__anext__()
        with pytest.raises(holdfast.TimeoutError):
            await states.__anext__()
        for timeout in (0, 0.01):
            with pytest.raises(holdfast.TimeoutError):
                await controller.wait_for(is_in("succeeded", "persist"), timeout)
    await asyncio.gather(*tasks)
    assert heard.count("failed") == 2 and set(heard[-2:]) == {"failed"}
    assert controller.state["request"]["error"]["status"] == "HF_CLOSED"
    await controller.dispatch(save({"id": "a"}))
    assert controller.state["persist"]["error"]["status"] == "HF_CLOSED"
    with pytest.raises(holdfast.ClosedError):
        await controller.wait_for(is_in("succeeded", "persist"))
    with pytest.raises(holdfast.ClosedError):
        await holdfast.aio.Controller(store.repository("songs")).dispatch(cancel())
    controller.close()


async def test_waiting_ends_after_its_time_also_where_new_states_do_not_stop(run: Run) -> None:
    ids = itertools.count()

    def begin_another(_: dict[str, Any]) -> None:
        # On the loop, once it is open, there is nothing to wait for.
        with contextlib.suppress(StopIteration):
            controller.dispatch(save({}, next(ids))).send(None)

    async with holdfast.aio.open("memory:") as store:
        async with holdfast.aio.Controller(store.repository("songs")) as controller:
            with pytest.raises(holdfast.TimeoutError):
                await controller.wait_for(begin_another, 0.05)


async def test_a_closed_controller_says_so_whoever_closes_it(run: Run) -> None:
    async with holdfast.aio.open("memory:") as store:
        songs = store.repository("songs")
        calls: list[str] = []

        def close_it(*_: object) -> None:
            calls.append("called")
            closing.close()

        closing = holdfast.aio.Controller(songs, close_it)
        await closing.dispatch(save({"id": "a"}))
        assert calls == ["called"]
        with pytest.raises(holdfast.ClosedError):
            await closing.dispatch(cancel())
        closing = holdfast.aio.Controller(songs, on_state=close_it)
        await closing.dispatch(request())
        await eventually(lambda: calls == ["called"] * 2)
        # Closed while it is being opened.
        controller = holdfast.aio.Controller(songs)
        opening = asyncio.ensure_future(controller.dispatch(cancel()))
        await asyncio.sleep(0)
        await controller.close()
        with pytest.raises(holdfast.ClosedError):
            await opening
        await songs.save({"id": "b"})
        assert await songs.count() >= 1 and len(calls) == 2


async def test_a_controller_that_nobody_has_any_more_is_closed(run: Run) -> None:
    async with holdfast.aio.open("memory:") as store:
        known: list[Any] = []
        controller = holdfast.aio.Controller(
            store.repository("songs"), lambda *_, known=known: known, lambda _, known=known: known
        )
        known.append(controller)
        await controller.dispatch(request())
        await controller.wait_for(is_in("received", "request"), WAIT)
        reference = weakref.ref(controller)
        del controller, known
        await eventually(lambda: gc.collect() >= 0 and reference() is None)
        assert holdfast.handle_count("controller") == 0
        assert not store._events._listeners


def test_what_its_functions_raise_is_logged_and_ends_nothing(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        def fail(*_: object) -> None:
            raise ZeroDivisionError

        async with holdfast.aio.open("memory:") as store:
            async with holdfast.aio.Controller(store.repository("songs"), fail, fail) as controller:
                await controller.dispatch(request())
                await controller.wait_for(is_in("received", "request"), WAIT)
                await eventually(lambda: len(caplog.records) >= 3)

    run(main())
    assert {record.exc_info and record.exc_info[0] for record in caplog.records} == {ZeroDivisionError}
    caplog.clear()


@pytest.mark.parametrize("where", ["middleware", "on_state"])
def test_control_c_inside_its_functions_is_raised_by_the_loop(where: str, path: str) -> None:
    interrupted: list[bool] = []

    async def main() -> None:
        def interrupt(*_: object) -> None:
            if not interrupted:
                interrupted.append(True)
                raise KeyboardInterrupt

        async with holdfast.aio.open(path) as store:
            controller = holdfast.aio.Controller(store.repository("songs"), **{where: interrupt})
            await controller.dispatch(save({"id": "a"}))
            await asyncio.sleep(WAIT)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    with holdfast.open(path) as store:
        assert store.repository("songs").ids() == ["a"]


async def test_effects_take_places_that_awaited_calls_then_wait_for_without_holding_up_the_loop(
    run: Run,
) -> None:
    async with holdfast.aio.open("memory:", max_in_flight=2) as store:
        songs = store.repository("songs")
        async with holdfast.aio.Controller(songs) as controller:
            await songs.save({"id": "opened"})
            before = time.monotonic()
            await controller.dispatch(save({"id": "a"}, "a"))
            await controller.dispatch(save({"id": "b"}, "b"))
            await controller.dispatch(save({"id": "c"}, "c"))
            assert controller.state["saves"]["c"]["error"]["status"] == "HF_BUSY"
            await asyncio.gather(*[songs.save({"id": it}) for it in range(20)])
            await controller.dispatch(save(controller.state["saves"]["c"]["element"], "c"))
            await controller.wait_for(is_in("succeeded", "saves", "c"), WAIT)
            assert time.monotonic() - before < WAIT
            assert await songs.count() == 24


def test_controllers_are_for_the_loop_of_their_store(run: Run) -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            controller = holdfast.aio.Controller(store.repository("songs"))

            async def elsewhere() -> None:
                with pytest.raises((holdfast.InvalidStateError, RuntimeError)):
                    await controller.dispatch(cancel())

            await asyncio.to_thread(asyncio.run, elsewhere())

    run(main())
