"""Providers: entities in a place of the program's own, and what becomes of its exceptions.

That such a store keeps every promise of the others, the tests in conformance/ show.
"""

import asyncio
import gc
import json
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Callable, Optional

import pytest
from programs import in_child, refuses, run_program
from threads import in_threads

import holdfast
import holdfast.aio
import holdfast.testing


class Shelf(holdfast.StorageProvider):
    """Keeps everything in a dictionary, counts its calls, and does what it is told before each."""

    def __init__(self) -> None:
        self.bodies: dict[tuple[str, str], bytes] = {}
        self.calls: list[str] = []
        self.before: Callable[[str], None] = lambda name: None

    def _call(self, name: str) -> None:
        self.calls.append(name)
        self.before(name)

    def save(self, repository: str, id: str, body: bytes) -> None:
        self._call("save")
        self.bodies[repository, id] = body

    def fetch(self, repository: str, id: str) -> Optional[bytes]:
        self._call("fetch")
        return self.bodies.get((repository, id))

    def fetch_all(self, repository: str) -> Iterator[tuple[str, bytes]]:
        self._call("fetch_all")
        return ((key[1], body) for key, body in self.bodies.items() if key[0] == repository)

    def delete(self, repository: str, id: str) -> None:
        self._call("delete")
        del self.bodies[repository, id]


class WholeShelf(Shelf):
    """Has every method."""

    token = 0

    def apply(self, writes: list[holdfast.ProviderWrite]) -> None:
        self._call("apply")
        for repository, id, body in writes:
            if body is None:
                del self.bodies[repository, id]
            else:
                self.bodies[repository, id] = body
        self.token += 1

    def find(self, repository: str, filter: dict[str, Any]) -> list[tuple[str, bytes]]:
        self._call(f"find {filter}")
        return list(self.fetch_all(repository))

    def change_token(self) -> int:
        return self.token

    def sync(self) -> None:
        self._call("sync")


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def store(shelf: Shelf) -> Iterator[holdfast.Store]:
    with holdfast.open_provider(shelf) as store:
        yield store


def test_four_methods_are_enough(store: holdfast.Store, shelf: Shelf) -> None:
    songs = store.repository("songs")
    with store.transaction() as transaction:
        songs.add({"id": "ä", "plays": 1})
        songs.add({"id": "b", "plays": 2})
    assert transaction.receipt is not None and not transaction.receipt.atomic
    assert shelf.bodies["songs", "ä"] == '{"id":"ä","plays":1}'.encode()
    assert songs.find({"plays": 2}) == [{"id": "b", "plays": 2}]
    songs.delete("b")
    assert list(shelf.bodies) == [("songs", "ä")]
    assert store.describe()["engine"] == "provider"


def test_the_other_methods_are_used_where_there_are_any() -> None:
    shelf = WholeShelf()
    with holdfast.open_provider(shelf) as store:
        songs = store.repository("songs")
        with store.transaction() as transaction:
            songs.add({"id": "a", "plays": 1})
            songs.add({"id": "b", "plays": 2})
        assert transaction.receipt is not None and transaction.receipt.atomic
        songs.delete("b")
        assert "save" not in shelf.calls and "delete" not in shelf.calls
        assert shelf.calls.count("apply") == 2
        assert "sync" in shelf.calls
        assert songs.find({"plays": {"$gt": 0}}) == [{"id": "a", "plays": 1}]
        assert "find {'plays': {'$gt': 0}}" in shelf.calls
        songs.fetch("a")
        count = len(shelf.calls)
        assert songs.fetch("a") == {"id": "a", "plays": 1}
        assert len(shelf.calls) == count  # cached
        shelf.bodies["songs", "a"] = b'{"id":"a","plays":9}'
        shelf.token += 1
        assert songs.fetch("a") == {"id": "a", "plays": 9}


def test_cursors_that_take_turns_each_go_on_with_what_they_asked_for() -> None:
    class Finding(WholeShelf):
        def find(self, repository: str, filter: dict[str, Any]) -> list[tuple[str, bytes]]:
            return [it for it in self.fetch_all(repository) if json.loads(it[1])["n"] == filter["n"]]

    with holdfast.open_provider(Finding()) as store:
        songs = store.repository("songs")
        # Each is a piece of its own.
        songs.save_many([{"id": str(number), "n": number // 4, "text": 300_000 * "x"} for number in range(8)])
        with store.transaction():
            some, every = songs.iterate({"n": 1}), songs.iterate()
            turns = [next(it)["id"] for it in (some, every, some, some, every, some)]
            assert turns == ["4", "0", "5", "6", "1", "7"]
            assert [song["id"] for song in every] == ["2", "3", "4", "5", "6", "7"]
            assert list(some) == []


def test_alternatives_ask_a_provider_for_everything_but_once() -> None:
    storage = holdfast.testing.MockStorage(songs=[{"id": f"{name}{n}"} for name in "abcd" for n in range(3)])
    with holdfast.open_provider(storage) as store:
        songs = store.repository("songs")
        storage.calls.reset()
        ranges = {"$or": [{"id": {"$lt": "b"}}, {"id": {"$regex": "^c"}}, {"id": {"$gt": "d1"}}]}
        assert [song["id"] for song in songs.find(ranges)] == ["a0", "a1", "a2", "c0", "c1", "c2", "d2"]
        assert storage.calls.count() == storage.calls.count("fetch_all") == 1
        storage.calls.reset()
        assert songs.count({"$or": [{"id": "a1"}, {"id": {"$in": ["d2", "x"]}}]}) == 2
        assert storage.calls.count() == storage.calls.count("fetch") == 3


def test_an_exception_is_the_cause_of_a_host_error(store: holdfast.Store, shelf: Shelf) -> None:
    songs = store.repository("songs")
    songs.add({"id": "a"})
    mine = LookupError("mine")

    def fail(name: str) -> None:
        raise mine

    shelf.before = fail
    for call in (
        lambda: songs.fetch("a"),
        songs.fetch_all,
        lambda: songs.save({"id": "b"}),
        lambda: store.submit(lambda: songs.save({"id": "b"})).result(),
        lambda: songs.deferred.fetch("a").submit().result(),
    ):
        with pytest.raises(holdfast.HostError, match="LookupError: mine") as caught:
            call()
        assert caught.value.__cause__ is mine
        assert caught.value.detail["repository"] == "songs"
    shelf.before = lambda name: None
    assert songs.fetch_all() == [{"id": "a"}]


def test_an_index_whose_building_fails_leaves_nothing_behind(store: holdfast.Store, shelf: Shelf) -> None:
    songs = store.repository("songs")
    songs.save_many([{"id": "a", "n": 1}, {"id": "b", "n": 2}])

    def refuse(name: str) -> None:
        if name == "fetch_all":
            raise OSError("the shelf is away")

    shelf.before = refuse
    with pytest.raises(holdfast.HostError):
        songs.create_index("n", unique=True)
    shelf.before = lambda name: None
    # Half of a unique index would refuse what none forbids.
    assert songs.indexes() == []
    songs.save({"id": "c", "n": 1})


def test_a_commit_that_fails_is_taken_back(store: holdfast.Store, shelf: Shelf) -> None:
    songs = store.repository("songs")
    songs.add_many([{"id": str(n)} for n in range(4)])
    before = dict(shelf.bodies)
    failing = iter([False, False, True])

    def fail(name: str) -> None:
        if name in ("save", "delete") and next(failing, False):
            raise OSError("full")

    shelf.before = fail
    with pytest.raises(holdfast.HostError) as caught, store.transaction():
        songs.patch("1", {"plays": 1})
        songs.delete("2")
        songs.add({"id": "5"})
    assert caught.value.commit_state is holdfast.CommitState.NONE
    assert shelf.bodies == before
    songs.patch("1", {"plays": 1})


@pytest.mark.parametrize("lie", [b"", b"{", b"[]", b'{"id":"other"}', b'{"id":"a","x":"\xff"}'])
def test_what_is_no_entity_is_corrupt(store: holdfast.Store, shelf: Shelf, lie: bytes) -> None:
    songs = store.repository("songs")
    songs.add({"id": "b"})
    shelf.bodies["songs", "a"] = lie
    with pytest.raises(holdfast.CorruptError) as caught:
        songs.fetch("a")
    assert (caught.value.detail["repository"], caught.value.detail["id"]) == ("songs", "a")
    with pytest.raises(holdfast.CorruptError):
        songs.fetch_all()
    assert songs.fetch("b") == {"id": "b"}
    songs.save({"id": "a"})
    assert songs.ids() == ["a", "b"]


def test_a_provider_may_say_that_an_entity_is_corrupt(store: holdfast.Store, shelf: Shelf) -> None:
    songs = store.repository("songs")

    def fail(name: str) -> None:
        raise holdfast.CorruptError("the checksum differs")

    shelf.before = fail
    with pytest.raises(holdfast.CorruptError, match="checksum"):
        songs.fetch("a")


@pytest.mark.parametrize("body", [17, "text", ["list"]])
def test_what_is_no_bytes_is_a_host_error(store: holdfast.Store, shelf: Shelf, body: Any) -> None:
    shelf.bodies["songs", "a"] = body
    with pytest.raises(holdfast.HostError) as caught:
        store.repository("songs").fetch("a")
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_provider_that_calls_back_is_refused(store: holdfast.Store, shelf: Shelf) -> None:
    songs = store.repository("songs")
    songs.add({"id": "a"})
    for call in (
        lambda: songs.fetch("a"),
        lambda: songs.save({"id": "b"}),
        store.begin,
        store.describe,
        songs.fetch_all,
        lambda: store.submit(lambda: songs.save({"id": "b"})).result(),
    ):

        def before(name: str, call: Callable[[], Any] = call) -> None:
            call()

        shelf.before = before
        with pytest.raises(holdfast.HostError) as caught:
            songs.fetch("a")
        assert isinstance(caught.value.__cause__, holdfast.ReentrantError)
        with pytest.raises(holdfast.HostError):
            songs.save({"id": "c"})
        shelf.before = lambda name: None
    assert songs.ids() == ["a"]


def test_ctrl_c_in_a_method_comes_out_as_it_is(store: holdfast.Store, shelf: Shelf) -> None:
    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    shelf.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        store.repository("songs").fetch("a")


def test_a_store_lets_go_of_its_provider(shelf: Shelf) -> None:
    reference = weakref.ref(shelf)
    with pytest.raises(holdfast.InvalidOptionError):
        holdfast.open_provider(shelf, nonsense=1)
    with holdfast.open_provider(shelf) as store:
        store.repository("songs").add({"id": "a"})
        del shelf
        gc.collect()
        assert reference() is not None
    # The fixture's own reference is in the request.
    from holdfast import provider

    assert reference() not in provider._providers.values()


def test_threads_share_a_store_with_a_provider(store: holdfast.Store, shelf: Shelf) -> None:
    songs = store.repository("songs")
    songs.add({"id": "a", "plays": 0})

    def play() -> None:
        for _ in range(20):
            store.transact(lambda: songs.patch("a", {"plays": songs["a"]["plays"] + 1}))

    in_threads(lambda _: play(), range(4))
    assert json.loads(shelf.bodies["songs", "a"])["plays"] == 80


def test_asyncio_awaits_a_store_with_a_provider(shelf: Shelf) -> None:
    async def work() -> None:
        async with holdfast.aio.open_provider(shelf) as store:
            songs = store.repository("songs")
            await asyncio.gather(*(songs.add({"id": str(number)}) for number in range(20)))
            async with store.transaction():
                await songs.delete("7")
            assert await songs.count() == 19

            def fail(name: str) -> None:
                raise OSError("mine")

            shelf.before = fail
            with pytest.raises(holdfast.HostError) as caught:
                await songs.fetch("1")
            assert isinstance(caught.value.__cause__, OSError)

    asyncio.run(work())


def test_a_forked_child_has_nothing_of_it(store: holdfast.Store, shelf: Shelf) -> None:
    songs = store.repository("songs")
    songs.add({"id": "a"})
    calls = len(shelf.calls)
    assert in_child(lambda: refuses(lambda: songs.fetch("a")) and len(shelf.calls) == calls) == 0
    assert songs.fetch("a") == {"id": "a"}


def test_a_child_forked_while_the_provider_works_opens_a_store_of_its_own(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            songs.save({"id": "a"})
            store.submit(lambda: songs.save({"id": "b"}))

    def fresh() -> bool:
        with holdfast.open_provider(Shelf()) as own:
            own.repository("songs").add({"id": "a"})
            return own.repository("songs").count() == 1

    worker = threading.Thread(target=work)
    worker.start()
    try:
        assert [in_child(fresh) for _ in range(5)] == [0] * 5
    finally:
        stop.set()
        worker.join()


PROGRAM = """
    import threading, time
    import holdfast

    class Shelf(holdfast.StorageProvider):
        def __init__(self): self.bodies = {{}}
        def save(self, repository, id, body):
            time.sleep(0.0001)
            self.bodies[repository, id] = body
        def fetch(self, repository, id): return self.bodies.get((repository, id))
        def fetch_all(self, repository): return [(key[1], body) for key, body in self.bodies.items()]
        def delete(self, repository, id): del self.bodies[repository, id]

    store = holdfast.open_provider(Shelf())
    songs = store.repository("songs")
    {work}
"""


def test_the_interpreter_ends_with_commits_on_their_way_to_a_provider() -> None:
    work = """
    for number in range(500):
        store.submit(lambda: songs.save({"id": str(number)}))
    """
    ended = run_program(PROGRAM.format(work=work.strip()))
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_interpreter_ends_with_threads_that_still_use_a_provider() -> None:
    work = """
    def hammer():
        try:
            while True:
                store.submit(lambda: songs.save({"id": "a"}))
                songs.fetch("a")
        except holdfast.Error:
            pass
    for _ in range(3):
        threading.Thread(target=hammer, daemon=True).start()
    time.sleep(0.3)
    """
    ended = run_program(PROGRAM.format(work=work.strip()))
    assert ended.returncode == 0, ended.stderr
