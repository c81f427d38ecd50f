"""Imports that were given up and are run again, and what else happens to a store while they run."""

import io
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, Callable

import pytest
from exports import export_of, versions_of

import holdfast

OpenStore = Callable[..., holdfast.Store]


def lines_of(entities: "list[dict[str, Any]]") -> bytes:
    return b"".join(json.dumps(entity).encode() + b"\n" for entity in entities)


def give_up(done: int, _: int) -> None:
    if done >= 2000:
        raise KeyboardInterrupt


@pytest.mark.parametrize("validated", [False, True])
def test_lines_without_ids_are_stored_once_where_an_import_that_skips_is_resumed(
    open_store: OpenStore, validated: bool
) -> None:
    songs = open_store().repository("songs")
    if validated:
        songs.set_validator(lambda _id, _entity: None)
    text = lines_of([{"n": n} for n in range(2500)])
    options = {"repository": "songs", "existing": "skip", "resume": "load"}
    with pytest.raises(KeyboardInterrupt):
        songs.store.import_lines(io.BytesIO(text), progress=give_up, **options)
    for _ in range(2):
        report = songs.store.import_lines(io.BytesIO(text), **options)
        assert report == {"entities": 2500, "stored": 2500, "skipped": 0}
        assert sorted(song["n"] for song in songs.find()) == list(range(2500))


@pytest.mark.parametrize("existing", ["refuse", "replace", "skip"])
def test_what_was_deleted_since_does_not_come_back_where_an_import_is_resumed(
    open_store: OpenStore, existing: str
) -> None:
    store = open_store()
    songs = store.repository("songs")
    if existing == "skip":
        songs.save({"id": "7", "own": True})
    text = lines_of([{"id": str(n)} for n in range(2500)])
    options = {"repository": "songs", "existing": existing, "resume": "load"}
    with pytest.raises(KeyboardInterrupt):
        store.import_lines(io.BytesIO(text), progress=give_up, **options)
    songs.delete("5")
    skipped = 1 if existing == "skip" else 0
    report = store.import_lines(io.BytesIO(text), **options)
    assert report == {"entities": 2500, "stored": 2500 - skipped, "skipped": skipped}
    assert songs.get("5") is None and songs.count() == 2499
    other = lines_of([{"id": f"other{n}"} for n in range(2500)])
    with pytest.raises(holdfast.KeyReusedError, match="line 1: ") as caught:
        store.import_lines(io.BytesIO(other), **options)
    assert caught.value.detail["line"] == 1 and songs.count() == 2499


def test_imports_that_begin_at_once_under_one_name_leave_it_the_versions(open_store: OpenStore) -> None:
    store = open_store()
    for number in range(10):
        store.repository("songs").delete_all()
        head = store.describe()["sequence"]
        versions = {f"s{version}": head + version for version in range(20, 60)}
        text = export_of(head + 100, versions).getvalue()
        together = Barrier(8)

        class FirstLine(io.BytesIO):
            def read(self, size: "int | None" = -1) -> bytes:
                if self.tell() > 0:
                    raise KeyboardInterrupt
                together.wait(60)  # noqa: B023  of this round
                return self.readline()

        with ThreadPoolExecutor(8) as threads:
            imports = [
                threads.submit(store.import_lines, FirstLine(text), resume=f"load{number}") for _ in range(8)
            ]
        for one in imports:
            with pytest.raises(KeyboardInterrupt):
                one.result()
        report = store.import_lines(io.BytesIO(text), resume=f"load{number}")
        assert report == {"entities": 40, "stored": 40, "skipped": 0}
        assert versions_of(store) == versions


def test_an_import_into_a_store_in_use_costs_nobody_the_commits_that_he_has_to_hear(
    open_store: OpenStore,
) -> None:
    store = open_store()
    orders = store.repository("orders")
    orders.save({"id": "0"})
    since = store.position
    orders.save({"id": "1"})
    store.import_lines(export_of(250_000, {"s1": 7}))
    # The commit log is looked through every 1,024 commits.
    for number in range(1100):
        orders.save({"id": "2", "n": number})
    assert [change.id for change in store.changes_since(since)][:2] == ["1", "s1"]
    assert store.repository("songs").fetch("s1") == {"id": "s1"}


def test_an_import_goes_on_where_a_repository_gets_another_name(open_store: OpenStore) -> None:
    with holdfast.open("memory:") as source:
        source.repository("songs").save_many([{"id": str(n), "n": n} for n in range(2500)])
        source.repository("songs").create_index("n")
        file = io.BytesIO()
        source.export_lines(file)
    store = open_store()

    def rename(done: int, _: int) -> None:
        if done == 1000:
            store.rename("songs", "music")

    store.import_lines(io.BytesIO(file.getvalue()), progress=rename)
    assert store.repositories() == ["music"]
    music = store.repository("music")
    assert music.count() == 2500
    assert [index["name"] for index in music.indexes()] == ["n"]
