"""The middleware and the reducer in a store of pydux's, with two features over one store."""

import asyncio
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any, Callable

import pydux
import pytest
from actions import INITIAL, WAIT, BusyWriter, save_rows

import holdfast
import holdfast.aio

Action = dict[str, Any]


def act(feature: str, action: str, **members: Any) -> Action:
    return {"type": feature, "action": action, **members}


class Application:
    """A store of pydux's with a counter of its own beside the features; notes every action that it sees."""

    def __init__(self, *features: Any) -> None:
        self.seen: list[Action] = []
        slices = {feature.name: feature.reduce for feature in features}
        reducer = pydux.combine_reducers({**slices, "clicks": self._count})
        self.store = pydux.create_store(reducer, enhancer=pydux.apply_middleware(self._note, *features))

    @staticmethod
    def _count(clicks: Any, action: Action) -> int:
        return (clicks or 0) + (action["type"] == "click")

    def _note(self, _: Any) -> Any:
        def wrap(next: Callable[[Action], Any]) -> Any:
            def dispatch(action: Action) -> Any:
                self.seen.append(action)
                return next(action)

            return dispatch

        return wrap

    def dispatch(self, feature: str, action: str, **members: Any) -> None:
        self.store["dispatch"](act(feature, action, **members))

    def state(self, feature: str) -> Any:
        return self.store["get_state"]()[feature]

    def noted(self, feature: str, token: str = "default") -> list[str]:
        """The actions of a request or save, in their order."""
        return [
            action["action"]
            for action in self.seen
            if action["type"] == feature and (action.get("token") or action.get("id") or "default") == token
        ]


class Music(Application):
    """Artists and titles in one store, for a thread that dispatches."""

    def __init__(self, store: holdfast.Store) -> None:
        self.outcomes: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.features = [
            holdfast.PersistenceMiddleware(store.repository("artists"), self.outcomes.put),
            holdfast.PersistenceMiddleware(store.repository("songs"), self.outcomes.put, "titles"),
        ]
        super().__init__(*self.features)

    def run_until(self, condition: Callable[[], Any]) -> None:
        while not condition():
            self.outcomes.get(timeout=WAIT)()

    def run_what_is_there(self) -> None:
        while not self.outcomes.empty():
            self.outcomes.get()()


@pytest.fixture
def music(store: holdfast.Store) -> Iterator[Music]:
    music = Music(store)
    yield music
    for feature in music.features:
        feature.close()


def test_two_features_of_one_store_are_parts_of_one_state(music: Music, store: holdfast.Store) -> None:
    assert music.state("artists")["persist"] == music.state("titles")["request"] == INITIAL
    music.dispatch("artists", "request", token="all")
    music.dispatch("titles", "request", token="all", request={"sort": {"title": 1}})
    assert music.state("artists")["request"]["state"] == "loading"
    music.dispatch("artists", "save", element={"name": "Patti Smith"})
    assert music.state("artists")["persist"]["state"] == "processing"
    id = music.state("artists")["persist"]["id"]
    assert music.state("titles")["persist"] == INITIAL
    music.store["dispatch"]({"type": "click"})
    music.run_until(lambda: music.state("artists")["request"].get("elements"))
    (artist,) = store.repository("artists")
    assert music.state("artists")["request"]["elements"] == [artist]
    store.repository("songs").save_many([{"id": "b", "title": "Why"}, {"id": "a", "title": "Gloria"}])
    music.run_until(lambda: len(music.state("titles")["request"].get("elements", ())) == 2)
    assert music.state("titles")["request"]["ids"] == ["a", "b"]
    music.run_until(lambda: music.state("artists")["persist"]["state"] == "succeeded")
    assert music.state("artists")["persist"]["element"] == artist
    assert music.state("clicks") == 1
    # Every other middleware and reducer sees the outcomes too.
    assert music.noted("titles", "all") == ["request", "received", "changed"]
    assert music.noted("artists", id) == ["saved"]  # before it was dispatched it had no id


def test_a_failure_is_a_state_and_dispatching_what_it_holds_tries_again(
    music: Music, store: holdfast.Store
) -> None:
    music.dispatch("artists", "delete", element={"id": "a"})
    music.run_until(lambda: music.state("artists")["delete"]["state"] == "failed")
    failed = music.state("artists")["delete"]
    assert failed["error"]["status"] == "HF_NOT_FOUND"
    store.repository("artists").save({"id": "a"})
    music.dispatch("artists", "delete", id=failed["id"], element=failed["element"])
    music.run_until(lambda: music.state("artists")["delete"]["state"] == "succeeded")
    assert store.repository("artists").count() == 0
    with pytest.raises(holdfast.InvalidOptionError):
        music.dispatch("artists", "shave")
    assert music.state("artists")["delete"]["state"] == "succeeded"


def test_when_a_cancel_was_dispatched_nothing_of_its_request_is(music: Music, store: holdfast.Store) -> None:
    songs = store.repository("songs")
    save_rows(songs, 3)
    with BusyWriter(songs):
        for number in range(20):
            music.dispatch("titles", "request", token="t")
            before = len(music.noted("titles", "t"))
            if number % 2 == 0:
                music.run_until(lambda before=before: len(music.noted("titles", "t")) > before)
            music.dispatch("titles", "cancelRequest", token="t")
            told = music.noted("titles", "t")
            threading.Event().wait(0.002)
            music.run_what_is_there()
            assert music.noted("titles", "t") == told
            assert music.state("titles")["request"]["state"] == "canceled"


def test_of_a_request_that_was_replaced_nothing_is_dispatched_any_more(
    music: Music, store: holdfast.Store
) -> None:
    songs = store.repository("songs")
    save_rows(songs, 2)
    music.dispatch("titles", "request", token="t", request={"filter": {"n": 0}})
    # It has come, and nobody was told yet.
    late = music.outcomes.get(timeout=WAIT)
    music.dispatch("titles", "request", token="t", request={"filter": {"n": 1}})
    late()
    assert music.state("titles")["request"]["state"] == "loading"
    music.run_until(lambda: music.state("titles")["request"]["state"] == "received")
    assert music.state("titles")["request"]["ids"] == ["b"]
    assert music.noted("titles", "t") == ["request", "request", "received"]


def test_the_part_of_the_state_is_what_the_request_finds_after_a_burst_of_commits(
    music: Music, store: holdfast.Store
) -> None:
    songs = store.repository("songs")
    music.dispatch("titles", "request", request={"sort": {"n": 1}, "limit": 10})
    for number in range(100):
        songs.save({"id": str(number % 40), "n": number * 37 % 101})
    expected = songs.find(sort={"n": 1}, limit=10)
    music.run_until(lambda: music.state("titles")["request"].get("elements") == expected)
    # In pydux's store the reducer has made the very state that the controller has: the controller may be a
    # moment later, because it shows an action before it makes a state of it.
    own = music.features[1]._controller
    deadline = time.monotonic() + WAIT
    while music.state("titles")["requests"] != own.state["requests"] and time.monotonic() < deadline:
        music.run_what_is_there()
        time.sleep(0.001)
    assert music.state("titles")["requests"] == own.state["requests"]


def test_closing_it_or_the_store_ends_its_requests(music: Music, store: holdfast.Store) -> None:
    for feature in ("artists", "titles"):
        music.dispatch(feature, "request", token="t")
    for feature in ("artists", "titles"):
        music.run_until(lambda feature=feature: music.state(feature)["request"]["state"] == "received")
    store.repository("artists").save({"id": "a"})
    late = music.outcomes.get(timeout=WAIT)
    music.features[0].close()
    late()
    assert music.state("artists")["request"]["elements"] == []
    store.close()
    music.run_until(lambda: music.state("titles")["request"]["state"] == "failed")
    assert music.state("titles")["request"]["error"]["status"] == "HF_CLOSED"
    assert "requestFailed" not in music.noted("artists", "t")
    with pytest.raises(holdfast.ClosedError):
        music.dispatch("artists", "cancelRequest", token="t")


def test_a_store_that_is_an_object_is_served_too() -> None:
    class Redux:
        def dispatch(self, action: Action) -> None:
            seen.append(action)

    seen: list[Action] = []
    with holdfast.open("memory:") as store:
        outcomes: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        with holdfast.PersistenceMiddleware(store.repository("songs"), outcomes.put) as songs:
            dispatch = songs(Redux())(lambda action: "the next one's answer")
            assert dispatch(act("songs", "save", element={"id": "a"})) == "the next one's answer"
            assert dispatch("no action") == "the next one's answer"
            outcomes.get(timeout=WAIT)()
            assert [action["action"] for action in seen] == ["saved"]


def test_in_asyncio_outcomes_are_dispatched_from_the_loop() -> None:
    async def main() -> None:
        async with holdfast.aio.open("memory:") as store:
            unopened = holdfast.aio.PersistenceMiddleware(store.repository("songs"))
            with pytest.raises(holdfast.InvalidStateError):
                Application(unopened).dispatch("songs", "save", element={})
            artists = holdfast.aio.PersistenceMiddleware(store.repository("artists"))
            titles = holdfast.aio.PersistenceMiddleware(store.repository("songs"), "titles")
            async with artists, titles:
                music = Application(artists, titles)
                changed = asyncio.Event()
                threads: set[str] = set()
                music.store["subscribe"](changed.set)
                music.store["subscribe"](lambda: threads.add(threading.current_thread().name))

                async def until(condition: Callable[[], Any]) -> None:
                    while not condition():
                        changed.clear()
                        await asyncio.wait_for(changed.wait(), WAIT)

                for feature in ("artists", "titles"):
                    music.dispatch(feature, "request", token="all")
                    music.dispatch(feature, "save", element={"id": feature})
                await until(
                    lambda: all(
                        music.state(feature)["requests"]["all"].get("ids") == [feature]
                        for feature in ("artists", "titles")
                    )
                )
                await until(lambda: music.state("titles")["persist"]["state"] == "succeeded")
                music.dispatch("titles", "cancelRequest", token="all")
                told = music.noted("titles", "all")
                await store.repository("songs").save({"id": "b"})
                await store.repository("artists").save({"id": "b"})
                await until(lambda: len(music.state("artists")["requests"]["all"]["ids"]) == 2)
                assert music.noted("titles", "all") == told
                assert threads == {threading.current_thread().name}
            await store.repository("artists").save({"id": "c"})
            assert len(music.state("artists")["requests"]["all"]["ids"]) == 2

    asyncio.run(asyncio.wait_for(main(), 300))
