"""The cache of a repository: its policy, its numbers, and a clock that tests move."""

import asyncio
import gc
import logging
import threading
import weakref
from typing import Any, Callable, Optional

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import holdfast
import holdfast.aio
from holdfast import CachePolicy


class Clock:
    """Stands still until the test moves it."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(store: holdfast.Store) -> Clock:
    clock = Clock()
    store.set_clock(clock)
    return clock


def is_cached(people: "holdfast.Repository[Any]", id: str) -> bool:
    """Whether a fetch, which finds it in any case, finds it in the cache. Counts as use."""
    before = people.cache_statistics()["hits"]
    assert people.fetch(id) is not None
    return people.cache_statistics()["hits"] == before + 1


@pytest.mark.parametrize(
    ("cache", "strategy", "milliseconds", "entries", "size"),
    [
        (CachePolicy.DEFAULT, "lru", 300_000, 100, 67_108_864),
        (CachePolicy.AGGRESSIVE, "lru", 3_600_000, 500, 67_108_864),
        (CachePolicy.NO_CACHE, "lru", 0, 0, 67_108_864),
        (CachePolicy("fifo", time_to_live=0.25, max_bytes=1000), "fifo", 250, None, 1000),
        ({"strategy": "fifo", "time_to_live_ms": 250, "max_bytes": 1000}, "fifo", 250, None, 1000),
        ({}, "lru", 0, None, 67_108_864),
    ],
)
def test_a_policy_is_a_preset_or_made_or_a_dict(
    store: holdfast.Store, cache: Any, strategy: str, milliseconds: int, entries: Optional[int], size: int
) -> None:
    policy = store.repository("people", cache=cache).cache_statistics()["policy"]
    assert policy == {
        "strategy": strategy,
        "time_to_live_ms": milliseconds,
        "max_entries": entries,
        "max_bytes": size,
        "shared": False,
    }
    # A later one that says nothing leaves it.
    assert store.repository("people").cache_statistics()["policy"] == policy


def test_without_a_policy_the_store_s_general_list_is_shared(store: holdfast.Store) -> None:
    assert store.repository("people").cache_statistics()["policy"]["shared"] is True
    assert store.describe()["cache"]["policy"]["max_bytes"] == 67_108_864


@pytest.mark.parametrize(
    "cache",
    [{"max_entrys": 1}, {"strategy": "mru"}, CachePolicy(max_entries=-1), CachePolicy(time_to_live=-1)],
)
def test_a_wrong_policy_is_refused(store: holdfast.Store, cache: Any) -> None:
    with pytest.raises(holdfast.InvalidOptionError):
        store.repository("people", cache=cache)


def test_an_entity_expires_by_the_clock_that_was_set(store: holdfast.Store, clock: Clock) -> None:
    people = store.repository("people", cache=CachePolicy.DEFAULT)
    people.save({"id": "a"})
    clock.seconds += 300
    assert is_cached(people, "a")
    clock.seconds += 0.001
    assert not is_cached(people, "a")
    assert people.cache_statistics()["expirations"] == 1
    assert is_cached(people, "a")


def test_a_clock_is_let_go_of(store: holdfast.Store) -> None:
    first, second = Clock(), Clock()
    references = [weakref.ref(first), weakref.ref(second)]
    store.set_clock(first)
    store.set_clock(second)
    del first, second
    gc.collect()
    assert [reference() is None for reference in references] == [True, False]
    store.close()
    gc.collect()
    assert references[1]() is None
    refused = Clock()
    references.append(weakref.ref(refused))
    with pytest.raises(holdfast.ClosedError):
        store.set_clock(refused)
    del refused
    gc.collect()
    assert references[2]() is None


def test_what_a_clock_raises_is_logged_and_lets_nothing_expire(
    store: holdfast.Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []
    # Not kept as pytest would, for the traceback leads to the store.
    monkeypatch.setattr(logging.getLogger("holdfast"), "handle", lambda it: heard.append(it.exc_info[0]))
    people = store.repository("people", cache=CachePolicy(time_to_live=1))
    people.save({"id": "a"})
    clock.seconds = None  # type: ignore[assignment]  # what is no number raises
    assert is_cached(people, "a")
    assert heard == [TypeError]


def test_invalidating_and_trimming_drop_entries_and_no_data(store: holdfast.Store) -> None:
    people = store.repository("people", cache=CachePolicy())
    people.save_many([{"id": str(number)} for number in range(8)])
    people.invalidate_cache("7")
    people.invalidate_cache("nobody")
    assert people.cache_statistics()["entries"] == 7
    assert not is_cached(people, "7")
    people.trim_cache("warning")
    assert people.cache_statistics()["entries"] == 4
    people.trim_cache("critical")
    assert people.cache_statistics()["entries"] == 0
    assert not is_cached(people, "0")
    people.invalidate_cache()
    assert people.cache_statistics()["entries"] == 0
    assert people.count() == 8
    with pytest.raises(holdfast.InvalidArgumentError):
        people.trim_cache("mild")
    with pytest.raises(holdfast.InvalidIdError):
        people.invalidate_cache("")


def test_a_commit_in_the_background_asks_the_clock(store: holdfast.Store, clock: Clock) -> None:
    people = store.repository("people", cache=CachePolicy(time_to_live=1))
    threads = [
        threading.Thread(target=lambda n=number: [people.save({"id": str(n)}) for _ in range(20)])
        for number in range(4)
    ]
    for thread in threads:
        thread.start()
    futures = [people.deferred.save({"id": "later"}).submit() for _ in range(20)]
    for thread in threads:
        thread.join()
    for future in futures:
        future.result(60)
    assert all(is_cached(people, id) for id in ["0", "1", "2", "3", "later"])
    clock.seconds += 2
    assert not is_cached(people, "later")


def test_the_calls_are_awaited_in_asyncio(engine: str, path: str) -> None:
    async def main() -> None:
        clock = Clock()
        async with holdfast.aio.open("memory:" if engine == "memory" else path) as store:
            store.set_clock(clock)
            # The first call creates the repository, and gives it its policy.
            people = store.repository("people", cache=CachePolicy("fifo", time_to_live=5, max_entries=2))
            for id in ["a", "b", "c"]:
                await people.save({"id": id})
            assert (await people.cache_statistics())["entries"] == 2
            assert await people.fetch("a") == {"id": "a"}
            statistics = await people.cache_statistics()
            assert (statistics["hits"], statistics["misses"], statistics["evictions"]) == (0, 1, 2)
            clock.seconds += 6
            await people.fetch("a")
            assert (await people.cache_statistics())["expirations"] == 1
            await people.invalidate_cache("a")
            await people.trim_cache("critical")
            assert (await people.cache_statistics())["entries"] == 0
            assert await people.count() == 3

    asyncio.run(main())


class Cached(RuleBasedStateMachine):
    """A repository with a random policy answers as a dict does, and its list holds what the policy says."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.store = holdfast.open("memory:")
        self.store.set_clock(self.clock)
        self.people = self.store.repository("people")
        self.policy = CachePolicy()
        self.stored: dict[str, int] = {}
        #: id to when it was set, in the order of eviction.
        self.cached: dict[str, float] = {}
        self.opened = False

    def teardown(self) -> None:
        self.store.close()

    @precondition(lambda self: not self.opened)
    @rule(strategy=st.sampled_from(["lru", "fifo"]), seconds=st.integers(0, 3), entries=st.integers(0, 4))
    def open(self, strategy: Any, seconds: int, entries: int) -> None:
        self.policy = CachePolicy(strategy, time_to_live=seconds, max_entries=entries)
        self.people = self.store.repository("people", cache=self.policy)
        self.opened = True
        self.stored.clear()
        self.people.delete_all()
        self.cached.clear()

    def set(self, id: str) -> None:
        if self.policy.strategy == "lru":
            self.cached.pop(id, None)
        self.cached[id] = self.clock.seconds
        while len(self.cached) > (self.policy.max_entries or 0):
            del self.cached[next(iter(self.cached))]

    @precondition(lambda self: self.opened)
    @rule(id=st.sampled_from("abcdef"), value=st.integers(0, 99))
    def save(self, id: str, value: int) -> None:
        self.people.save({"id": id, "n": value})
        self.stored[id] = value
        self.set(id)

    @precondition(lambda self: self.opened)
    @rule(id=st.sampled_from("abcdef"), value=st.integers(0, 99))
    def save_and_roll_back(self, id: str, value: int) -> None:
        with pytest.raises(KeyError), self.store.transaction():
            self.people.save({"id": id, "n": value})
            raise KeyError

    @precondition(lambda self: self.opened)
    @rule(id=st.sampled_from("abcdef"))
    def fetch(self, id: str) -> None:
        hits = self.people.cache_statistics()["hits"]
        found = self.people.fetch(id)
        assert (found and found["n"]) == self.stored.get(id)
        age = self.clock.seconds - self.cached[id] if id in self.cached else None
        is_expired = age is not None and 0 < self.policy.time_to_live < age
        if is_expired:
            del self.cached[id]
        assert self.people.cache_statistics()["hits"] == hits + (id in self.cached)
        if id in self.cached:
            if self.policy.strategy == "lru":
                self.cached[id] = self.cached.pop(id)
        elif id in self.stored:
            self.set(id)

    @precondition(lambda self: self.opened)
    @rule(id=st.sampled_from("abcdef"))
    def delete(self, id: str) -> None:
        self.people.delete(id, missing_ok=True)
        self.stored.pop(id, None)
        self.cached.pop(id, None)

    @precondition(lambda self: self.opened)
    @rule(id=st.sampled_from("abcdef"))
    def invalidate(self, id: str) -> None:
        self.people.invalidate_cache(id)
        self.cached.pop(id, None)

    @precondition(lambda self: self.opened)
    @rule()
    def warn(self) -> None:
        self.people.trim_cache("warning")
        if self.cached:
            for id in list(self.cached)[: max(1, len(self.cached) // 2)]:
                del self.cached[id]

    @rule(seconds=st.sampled_from([0.5, 1.0, 2.0]))
    def wait(self, seconds: float) -> None:
        self.clock.seconds += seconds

    @invariant()
    def holds_what_the_policy_says(self) -> None:
        if self.opened:
            assert self.people.cache_statistics()["entries"] == len(self.cached)


TestCached: Callable[..., Any] = Cached.TestCase
TestCached.settings = settings(max_examples=60, stateful_step_count=40)  # type: ignore[attr-defined]
