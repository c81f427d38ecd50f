"""Upgrades of a schema, one after the other."""

from typing import Callable

import pytest

import holdfast


def rename(store: holdfast.Store) -> None:
    store.repository("songs").modify_all(None, {"$rename": {"name": "title"}})


def count(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    songs.save({"id": "count", "n": songs.count({"title": {"$exists": True}})})


def test_upgrades_are_a_chain(open_store: Callable[..., holdfast.Store]) -> None:
    store = open_store()
    songs = store.repository("songs")
    songs.save({"id": "a", "name": "A"})
    assert store.schema_version is None
    report = store.upgrade({0: lambda _: None, 1: rename, 2: count}, backup=False)
    assert report == {"from": 0, "to": 3, "backup": None}
    assert store.schema_version == 3
    assert songs.fetch("count") == {"id": "count", "n": 1}
    with pytest.raises(holdfast.SchemaTooNewError):
        store.upgrade({1: rename}, backup=False)
    with pytest.raises(holdfast.InvalidArgumentError):
        store.upgrade({4: rename}, backup=False)
    with pytest.raises(holdfast.InvalidArgumentError):
        store.upgrade({3: rename, 5: rename}, backup=False)


def test_an_upgrade_that_raises_changes_nothing(open_store: Callable[..., holdfast.Store]) -> None:
    store = open_store()
    songs = store.repository("songs")
    songs.save({"id": "a", "name": "A"})

    def fail(store: holdfast.Store) -> None:
        rename(store)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.upgrade({0: count, 1: fail}, backup=False)
    assert store.schema_version == 1
    assert songs.fetch("a") == {"id": "a", "name": "A"}
    store.upgrade({0: count, 1: rename}, backup=False)
    assert songs.fetch("a") == {"id": "a", "title": "A"}
