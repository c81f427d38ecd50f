"""What the package has for the tests of its users."""

import datetime
import inspect
from typing import Any

import pytest

import holdfast
from holdfast import testing

pytest_plugins = ["holdfast.pytest_plugin"]

SONGS = [{"id": "s1", "title": "Gloria"}, {"id": "s2", "title": "Horses"}]


def test_a_mock_begins_with_its_entities_and_counts_what_it_is_called_for() -> None:
    storage = testing.MockStorage(songs=SONGS)
    with holdfast.open_provider(storage) as store:
        songs = store.repository("songs")
        assert songs.fetch_all() == SONGS == storage.entities("songs")
        before = storage.calls.count("fetch")
        assert songs["s1"]["title"] == "Gloria"
        assert storage.calls.count("fetch") == before + 1
        songs.save({"id": "s3"})
        songs.delete("s2")
    assert storage.calls.count("save") == storage.calls.count("delete") == 1
    assert storage.calls.count() == sum(map(storage.calls.count, ("save", "fetch", "fetch_all", "delete")))
    assert [it["id"] for it in storage.entities("songs")] == ["s1", "s3"]


def test_a_commit_that_fails_in_the_middle_is_taken_back(holdfast_storage: testing.MockStorage) -> None:
    holdfast_storage.calls.fail("save", at=2, error=OSError("The disk is full."))
    with holdfast.open_provider(holdfast_storage) as store:
        songs = store.repository("songs")
        with pytest.raises(holdfast.HostError) as raised:
            songs.save_many(SONGS)
        assert isinstance(raised.value.__cause__, OSError)
        assert holdfast_storage.entities("songs") == []
        songs.save_many(SONGS)
    assert holdfast_storage.entities("songs") == SONGS


def test_calls_fail_all_or_one_by_name_or_whichever_they_are() -> None:
    storage = testing.MockStorage()
    storage.calls.fail("fetch", at=2)
    storage.fetch("songs", "s1")
    storage.save("songs", "s1", b"{}")
    with pytest.raises(testing.MockError):
        storage.fetch("songs", "s1")
    assert storage.fetch("songs", "s1") == b"{}"
    storage.calls.fail(error=KeyError("s1"))
    for call in (storage.fetch_all, lambda name: storage.delete(name, "s1")):
        with pytest.raises(KeyError):
            call("songs")
    assert storage.calls.count("fetch") == 3 and storage.calls.count("delete") == 1
    storage.calls.reset()
    assert storage.calls.count() == 0
    storage.delete("songs", "s1")
    storage.reset()
    assert storage.bodies == {} and storage.calls.count() == 0


def test_a_method_that_a_mock_does_not_have_is_refused() -> None:
    storage = testing.MockStorage()
    for ask in (storage.calls.count, storage.calls.fail):
        with pytest.raises(ValueError, match='no "find", but delete, fetch, fetch_all, save'):
            ask("find")


def test_what_expires_does_so_when_the_clock_is_advanced(
    holdfast_store: holdfast.Store, holdfast_clock: testing.MockClock
) -> None:
    songs = holdfast_store.repository("songs", cache=holdfast.CachePolicy(time_to_live=300))
    songs.save(SONGS[0])

    def hits() -> Any:
        before = songs.cache_statistics()["hits"]
        songs.fetch("s1")
        return songs.cache_statistics()["hits"] - before

    hits()
    holdfast_clock.advance(299)
    assert hits() == 1
    holdfast_clock.advance(datetime.timedelta(seconds=2))
    assert hits() == 0
    assert holdfast_clock() == 301
    with pytest.raises(ValueError, match="does not go back"):
        holdfast_clock.advance(-1)


def test_what_is_for_tests_is_documented() -> None:
    for name in testing.__all__:
        cls = getattr(testing, name)
        assert inspect.getdoc(cls)
        methods = [it for key, it in vars(cls).items() if inspect.isfunction(it) and not key.startswith("_")]
        assert all(map(inspect.getdoc, methods)) or issubclass(cls, holdfast.StorageProvider)
