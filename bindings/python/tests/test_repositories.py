"""Repositories as a whole: which there are, dropping and renaming them."""

import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Optional

import pytest
from actions import delete, eventually, save
from loops import Run
from programs import Writer, start_program

import holdfast
import holdfast.aio
import holdfast.testing


@pytest.fixture
def url(engine: str, path: str) -> str:
    return "memory:" if engine == "memory" else path


def test_a_store_tells_which_repositories_it_has(url: str) -> None:
    with holdfast.open(url) as store:
        assert store.repositories() == []
        store.repository("songs")
        store.repository("Albums").save({"id": "a"})
        assert store.repositories() == ["Albums", "songs"]
        store.drop("songs")
        assert store.repositories() == ["Albums"]
        with pytest.raises(holdfast.NotFoundError):
            store.repository("songs", create=False)


def test_what_was_dropped_is_empty_and_there_again_once_something_is_stored(url: str) -> None:
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.create_index("plays", unique=True)
        songs.save_many({"id": str(number), "plays": number} for number in range(100))
        _, version = songs.fetch_versioned("1") or ({}, 0)
        store.drop("songs")
        assert songs.count() == 0 and songs.indexes() == [] and songs.get("1") is None
        songs.save({"id": "1", "plays": 1})
        assert store.repositories() == ["songs"]
        with pytest.raises(holdfast.VersionMismatchError):
            songs.update({"id": "1"}, expected_version=version)
        store.drop("songs")
        keyed = store.repository("songs", key="code")
        keyed.save({"code": "a"})
        with pytest.raises(holdfast.NotFoundError, match="open it anew"):
            songs.save({"id": "b"})
        with pytest.raises(holdfast.NotFoundError, match="open it anew"):
            songs.create_index("plays")


def test_a_renamed_repository_keeps_what_it_has(url: str) -> None:
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.create_index("plays")
        songs.save({"id": "a", "plays": 1})
        store.rename("songs", "tracks")
        tracks = store.repository("tracks", create=False)
        assert tracks.fetch_versioned("a") == songs.fetch_versioned("a")
        assert [it["name"] for it in tracks.indexes()] == ["plays"]
        assert store.repository("songs").count() == 0
        with pytest.raises(holdfast.ExistsError):
            store.rename("songs", "tracks")
        with pytest.raises(holdfast.InvalidNameError):
            store.rename("songs", "no name")
        with pytest.raises(holdfast.NotFoundError):
            store.rename("albums", "records")


def test_what_is_described_or_may_be_missing_is_of_the_handle_s_repository(url: str) -> None:
    with holdfast.open(url) as store:
        songs, albums = store.repository("songs"), store.repository("albums")
        songs.save({"id": "a"})
        described = songs.deferred.save({"id": "c"})
        store.rename("songs", "tracks")
        others = store.repository("songs")
        others.save({"id": "a"})
        for _ in range(2):
            songs.delete("a", missing_ok=True)
        assert songs.find() == [] and others.find() == [{"id": "a"}]
        with store.transaction():
            songs.delete("a", missing_ok=True)
            songs.save({"id": "b"})
        described.perform()
        songs.deferred.modify("b", {"$inc": {"plays": 1}}).submit().result(120)
        both = store.sequence(albums.deferred.save({"id": "z"}), songs.deferred.ids(), others.deferred.ids())
        assert both.perform() == [{"id": "z"}, ["b", "c"], ["a"]]
        assert songs.find() == [{"id": "b", "plays": 1}, {"id": "c"}]


def test_what_was_described_for_a_repository_that_was_dropped_is_not_done_in_another(url: str) -> None:
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        described = songs.deferred.save({"id": "a"})
        store.drop("songs")
        others = store.repository("songs", key="code")
        others.save({"code": "a"})
        with pytest.raises(holdfast.NotFoundError, match="open it anew"):
            described.perform()
        songs.delete("a", missing_ok=True)
        assert others.find() == [{"code": "a"}]


async def test_what_is_awaited_is_of_the_handle_s_repository_too(run: Run, url: str) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.repository("songs")
        await songs.save({"id": "a"})
        known = store.repository("songs")
        described = known.deferred.save({"id": "c"})
        await store.rename("songs", "tracks")
        others = store.repository("songs")
        await others.save({"id": "a"})
        await songs.delete("a", missing_ok=True)
        await songs.delete("a", missing_ok=True)
        await known.save({"id": "b"})
        async with store.transaction():
            await described
            assert await songs.count() == 2
        assert [entity["id"] async for entity in songs.iterate()] == await known.ids() == ["b", "c"]
        assert await others.find() == [{"id": "a"}]
        assert [songs.name, known.name, others.name] == ["tracks", "tracks", "songs"]
        both = store.sequence(songs.deferred.ids(), others.deferred.ids())
        assert await both == [["b", "c"], ["a"]]
        await store.drop("songs")
        keyed = store.repository("songs", key="code")
        await keyed.save({"code": "a"})
        with pytest.raises(holdfast.NotFoundError, match="open it anew"):
            await others.save({"id": "a"})


def test_a_handle_tells_the_present_name(url: str) -> None:
    store = holdfast.open(url)
    songs = store.repository("songs")
    later = songs.deferred
    store.rename("songs", "tracks")
    assert songs.name == later.name == "tracks" and "'tracks'" in repr(songs)
    with songs.changes() as changes:
        songs.save({"id": "a"})
        assert [it.repository for commit in changes.next(120).commits for it in commit.changes] == ["tracks"]
    with pytest.raises(holdfast.NotFoundError, match="tracks"):
        songs["none"]
    store.drop("tracks")
    assert songs.name == "tracks"
    store.close()
    assert songs.name == "tracks"


def test_a_controller_saves_where_its_repository_is_by_now(url: str) -> None:
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        with holdfast.Controller(songs) as controller:
            store.rename("songs", "tracks")
            others = store.repository("songs")
            others.save({"id": "b"})
            controller.dispatch(save({"id": "a"}, "first"))
            controller.dispatch(delete("b", "second", missing_ok=True))
            eventually(lambda: controller.state["deletes"].get("second", {}).get("state") == "succeeded")
            eventually(lambda: controller.state["saves"]["first"]["state"] == "succeeded")
        assert songs.find() == [{"id": "a"}] and others.find() == [{"id": "b"}]


def test_both_are_refused_inside_a_transaction_and_lose_nothing(url: str) -> None:
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        with store.transaction():
            songs.save({"id": "a"})
            with pytest.raises(holdfast.InvalidStateError, match="commit of its own"):
                store.drop("songs")
            with pytest.raises(holdfast.InvalidStateError, match="commit of its own"):
                store.rename("songs", "tracks")
        assert songs.count() == 1


def test_a_transaction_that_read_what_was_dropped_conflicts(url: str) -> None:
    with holdfast.open(url) as store:
        songs = store.repository("songs")
        songs.save({"id": "a"})
        transaction = store.begin()
        with transaction.joined():
            assert songs.find()
            songs.save({"id": "b"})
        store.drop("songs")
        with pytest.raises(holdfast.ConflictError, match="songs was dropped"):
            transaction.commit()
        assert store.repositories() == []


def test_a_provider_s_store_refuses_both(url: str) -> None:
    with holdfast.open_provider(holdfast.testing.MockStorage()) as store:
        songs = store.repository("songs")
        songs.save({"id": "a"})
        assert store.repositories() == ["songs"]
        with pytest.raises(holdfast.UnsupportedError, match="delete them"):
            store.drop("songs")
        with pytest.raises(holdfast.UnsupportedError):
            store.rename("songs", "tracks")
        assert songs.count() == 1


async def test_both_are_awaited_in_aio(url: str, run: Run) -> None:
    async with holdfast.aio.open(url) as store:
        songs = store.repository("songs", key="code")
        await songs.save({"code": "a"})
        await store.rename("songs", "tracks")
        assert await store.repositories() == ["tracks"]
        assert await store.repository("tracks").find() == [{"code": "a"}]
        async with store.transaction():
            with pytest.raises(holdfast.InvalidStateError):
                await store.drop("tracks")
        await store.drop("tracks")
        assert await store.repositories() == []
        tracks = store.repository("tracks")
        await tracks.save({"id": "b"})
        assert await tracks.find() == [{"id": "b"}]


def test_exports_backups_and_verify_know_what_is_there(path: str, tmp_path: Path) -> None:
    with holdfast.open(path) as store:
        for name in ("songs", "albums"):
            store.repository(name).save({"id": name})
        store.drop("songs")
        store.rename("albums", "records")
        assert [it["name"] for it in store.verify()["repositories"]] == ["records"]
        assert [it["name"] for it in store.describe()["repositories"]] == ["records"]
        store.export_lines(tmp_path / "lines")
        store.backup(tmp_path / "backup.db")
    with holdfast.open(tmp_path / "imported.db") as store:
        store.import_lines(tmp_path / "lines")
        assert store.repositories() == ["records"]
    with holdfast.open(tmp_path / "backup.db") as store:
        assert store.repositories() == ["records"]
        assert store.repository("records").find() == [{"id": "albums"}]
        assert store.repository("songs").find() == []


def test_changes_tell_both(path: str) -> None:
    with holdfast.open(path) as store, store.changes() as changes:
        store.repository("songs").save({"id": "a"})
        store.rename("songs", "tracks")
        store.drop("tracks")
        told = [change for _ in range(3) for change in changes.next(120)]
        assert [(it.repository, it.id, it.operation, it.new_name) for it in told] == [
            ("songs", "a", "insert", None),
            ("songs", "", "rename", "tracks"),
            ("tracks", "", "drop", None),
        ]


# Ends when it is told to by its input.
CHANGER = """
    import sys, threading, holdfast
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set())).start()
    with holdfast.open(sys.argv[1]) as store:
        print("begun", flush=True)
        while not ended.is_set():
            for change in (lambda: store.rename("pairs", "twins"), lambda: store.rename("twins", "pairs"),
                           lambda: store.drop("pairs")):
                try:
                    change()
                except holdfast.NotFoundError:
                    pass
"""


def test_nobody_sees_a_half_of_what_is_dropped_and_renamed_meanwhile(path: str) -> None:
    with holdfast.open(path) as store:
        pairs = store.repository("pairs")
        # Brought back by its handle alone, so that there is one repository, whatever it is called.
        changer = start_program(CHANGER, path, development=False, stdin=subprocess.PIPE)
        assert changer.wait_for_line() == "begun"

        def write() -> None:
            for number in range(60):

                def both(number: int = number) -> None:
                    one, other = pairs.fetch("one"), pairs.fetch("other")
                    assert (one and one["n"]) == (other and other["n"])
                    pairs.save_many([{"id": "one", "n": number}, {"id": "other", "n": number}])
                    assert pairs.count() == 2

                store.transact(both, max_attempts=1000, timeout=300)

        def read() -> None:
            for _ in range(200):
                found = {it["id"]: it["n"] for it in pairs.find()}
                assert set(found) in (set(), {"one", "other"}) and len(set(found.values())) < 2
                assert len(store.repositories()) <= 1

        with ThreadPoolExecutor() as executor:
            for future in [executor.submit(work) for work in (write, write, read, store.verify)]:
                future.result()
        assert changer.wait().returncode == 0
        assert store.verify()["ok"]
        pairs.save({"id": "last"})
        assert len(store.repositories()) == 1


class Model:
    """What a repository must be: known by its handles whatever it is called."""

    def __init__(self, name: str, handle: Any, number: int) -> None:
        self.name: Optional[str] = name  # None where it was dropped and another has its name
        self.handle = handle
        self.number = number
        self.is_there = True
        self.entities: dict[str, int] = {}


@pytest.mark.parametrize("seed", range(8))
def test_two_processes_drop_and_rename_and_agree_with_a_model(path: str, seed: int) -> None:
    rng = random.Random(seed)
    names = ["a", "b", "c"]
    models: list[Model] = []
    writer = Writer(path)
    try:
        with holdfast.open(path) as store:
            writer("handles = {}; store.drop('songs')")
            start = store.position

            def held(name: str) -> Optional[Model]:
                return next((it for it in models if it.name == name), None)

            def do(line: str, *, raises: str = "") -> None:
                """In this process or in the other."""
                line = line if not raises else f"raises(holdfast.{raises}, lambda: {line})"
                if rng.random() < 0.5:
                    return writer(line)
                handles = {it.number: it.handle for it in models}
                exec(
                    line, {"store": store, "handles": handles, "holdfast": holdfast, "raises": pytest.raises}
                )

            writer("from pytest import raises")
            for _ in range(120):
                name, kind = rng.choice(names), rng.random()
                model = held(name)
                if kind < 0.25:
                    handle = store.repository(name)
                    if model is None:
                        model = Model(name, handle, len(models))
                        models.append(model)
                        writer(f"handles[{model.number}] = store.repository({name!r})")
                    model.is_there = True
                elif kind < 0.4:
                    there = model is not None and model.is_there
                    do(f"store.drop({name!r})", raises="" if there else "NotFoundError")
                    if model is not None and there:
                        model.is_there, model.entities = False, {}
                elif kind < 0.55:
                    other = rng.choice(names)
                    holder = held(other)
                    if model is None or not model.is_there:
                        do(f"store.rename({name!r}, {other!r})", raises="NotFoundError")
                    elif holder is not None and holder.is_there:
                        do(f"store.rename({name!r}, {other!r})", raises="ExistsError")
                    else:
                        do(f"store.rename({name!r}, {other!r})")
                        if holder is not None:
                            holder.name = None
                        model.name = other
                elif models:
                    model = rng.choice(models)
                    id, n = str(rng.randint(0, 5)), rng.randint(0, 99)
                    if kind < 0.85:
                        save = f"handles[{model.number}].save({{'id': {id!r}, 'n': {n}}})"
                        do(save, raises="" if model.name is not None else "NotFoundError")
                        if model.name is not None:
                            model.is_there = True
                            model.entities[id] = n
                    else:
                        there = model.entities.pop(id, None) is not None
                        do(f"handles[{model.number}].delete({id!r})", raises="" if there else "NotFoundError")
                there_now = {it.name: it.entities for it in models if it.is_there and it.name is not None}
                assert store.repositories() == sorted(there_now)
                for model in models:
                    assert {it["id"]: it["n"] for it in model.handle.find()} == model.entities
                    assert {id: model.handle.fetch(id)["n"] for id in model.entities} == model.entities
            assert store.verify()["ok"]
            assert followed(store, start) == {name: it for name, it in there_now.items() if it}
    finally:
        writer.close()


def followed(store: holdfast.Store, position: str) -> dict[str, dict[str, int]]:
    """What somebody has who applies the changes behind a position, in their order, to nothing."""
    replica: dict[str, dict[str, Any]] = {}
    while True:
        batch = store.changes_since(position, limit=7)
        if not batch.commits:
            break
        position = batch.position
        for change in batch:
            if change.operation == "drop":
                replica.pop(change.repository, None)
            elif change.operation == "rename":
                assert change.new_name is not None and change.new_name not in replica
                if change.repository in replica:
                    replica[change.new_name] = replica.pop(change.repository)
            elif change.operation == "delete":
                replica.get(change.repository, {}).pop(change.id, None)
            else:
                entity: Any = change.entity
                replica.setdefault(change.repository, {})[change.id] = entity and entity["n"]
    return {name: entities for name, entities in replica.items() if entities}


def test_a_repository_that_this_process_knows_is_opened_without_a_look_at_all_of_them(
    engine: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with holdfast.open("memory:" if engine == "memory" else path) as store:
        store.repository("songs", key="isbn").save({"isbn": "s1"})
        with monkeypatch.context() as patch:
            patch.setattr(holdfast.Store, "describe", None)
            assert store.repository("songs")["s1"] == {"isbn": "s1"}
        # What another process made anew has the key that it has by now.
        store._keys["songs"] = "number"
        assert store.repository("songs")["s1"] == {"isbn": "s1"}
        store._keys["none"] = "number"
        assert store.repository("none").save({"id": "n1"}) == {"id": "n1"}
