"""What one process caches while others write: all stays but what they changed, and nothing is old."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from programs import Writer

import holdfast

COUNT = 500


class Other(Writer):
    """A process that has the store open, and writes it also beside the library, as another program would."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self("import sqlite3; shell = sqlite3.connect(sys.argv[1], isolation_level=None)")

    def update_by_sqlite(self, id: str, plays: int) -> None:
        text = f'{{"id":"{id}","plays":{plays}}}'
        self(f"shell.execute('UPDATE holdfast_entity SET body = ? WHERE id = ?', ({text!r}, {id!r}))")


@pytest.fixture
def other(path: str) -> Iterator[Other]:
    with holdfast.open(path) as store:
        store.repository("songs").add_many([{"id": str(n), "plays": 0} for n in range(COUNT)])
    other = Other(path)
    yield other
    other.close()


@pytest.fixture(params=[None, holdfast.CachePolicy.AGGRESSIVE], ids=["general", "policy"])
def songs(
    path: str, other: Other, request: pytest.FixtureRequest
) -> "Iterator[holdfast.Repository[dict[str, Any]]]":
    with holdfast.open(path) as store:
        songs = store.repository("songs", cache=request.param)
        read_all(songs)
        yield songs


def read_all(songs: "holdfast.Repository[dict[str, Any]]") -> "list[int]":
    return [songs[str(n)]["plays"] for n in range(COUNT)]


@contextlib.contextmanager
def misses(songs: "holdfast.Repository[dict[str, Any]]", most: int) -> Iterator[None]:
    """Expects at most so many reads that the cache does not serve."""
    before = songs.cache_statistics()["misses"]
    yield
    assert songs.cache_statistics()["misses"] - before <= most


def test_a_commit_of_another_process_takes_out_what_it_changed_and_nothing_else(
    songs: "holdfast.Repository[dict[str, Any]]", other: Other
) -> None:
    other('songs.save({"id": "7", "plays": 1})')
    with misses(songs, 1):
        plays = read_all(songs)
    assert plays == [1 if n == 7 else 0 for n in range(COUNT)]

    other('songs.save_many([{"id": str(n), "plays": 2} for n in range(3)])')
    other('songs.delete("9"); songs.save({"id": "9", "plays": 2}); songs.save({"id": "new"})')
    with misses(songs, 4):
        assert read_all(songs)[:10] == [2, 2, 2, 0, 0, 0, 0, 1, 0, 2]


def test_what_the_cache_served_and_what_is_read_later_are_of_one_state(
    songs: "holdfast.Repository[dict[str, Any]]", other: Other
) -> None:
    songs.invalidate_cache("8")
    # Behind this commit nothing was read of the storage yet.
    songs.save({"id": "own"})
    with pytest.raises(holdfast.ConflictError), songs.store.transaction():
        assert songs["7"]["plays"] == 0
        other('songs.save_many([{"id": id, "plays": 1} for id in "78"])')
        songs.fetch("8")
    assert [songs[id]["plays"] for id in "78"] == [1, 1]


def test_what_is_read_while_another_process_goes_on_committing_is_mostly_cached(
    songs: "holdfast.Repository[dict[str, Any]]", other: Other
) -> None:
    with misses(songs, 20):
        for n in range(20):
            other(f'songs.save({{"id": "0", "plays": {n}}})')
            assert songs["0"]["plays"] == n
            assert songs[str(n + 1)]["plays"] == 0


def test_what_a_transaction_reads_is_cached_as_well(
    songs: "holdfast.Repository[dict[str, Any]]", other: Other
) -> None:
    other('songs.save({"id": "7", "plays": 1})')
    with misses(songs, 1), songs.store.transaction():
        assert sum(read_all(songs)) == 1


def test_this_process_s_own_commits_leave_the_cache_as_it_is_between_those_of_another(
    songs: "holdfast.Repository[dict[str, Any]]", other: Other
) -> None:
    for n in range(10):
        other(f'songs.save({{"id": "0", "plays": {n}}})')
        songs.save({"id": "1", "plays": n})
    with misses(songs, 1):
        assert read_all(songs)[:3] == [9, 9, 0]


def test_a_checkpoint_leaves_the_cache_as_it_is(
    songs: "holdfast.Repository[dict[str, Any]]", other: Other
) -> None:
    other('songs.save({"id": "7", "plays": 1})')
    read_all(songs)
    for kind in ("PASSIVE", "RESTART", "TRUNCATE"):
        other(f"shell.execute('PRAGMA wal_checkpoint({kind})').fetchall()")
        with misses(songs, 0):
            assert sum(read_all(songs)) == 1
        other('songs.save({"id": "8", "plays": 0})')
        with misses(songs, 1):
            assert sum(read_all(songs)) == 1


@pytest.mark.parametrize("order", ["before", "after", "between", "alone", "twice"])
def test_what_another_program_writes_is_read_next_also_beside_commits(
    songs: "holdfast.Repository[dict[str, Any]]", other: Other, order: str
) -> None:
    for n in range(1, 4):
        if order in ("after", "between"):
            other('songs.save({"id": "7", "plays": 0})')
        other.update_by_sqlite("3", n)
        if order == "twice":
            other.update_by_sqlite("4", n)
        if order in ("before", "between"):
            other('songs.save({"id": "8", "plays": 0})')
        assert songs["3"]["plays"] == n
        assert sum(read_all(songs)) == (2 * n if order == "twice" else n)


def test_what_another_program_writes_before_a_commit_of_this_process_is_read_next(
    songs: "holdfast.Repository[dict[str, Any]]", other: Other
) -> None:
    other.update_by_sqlite("3", 1)
    songs.save({"id": "7", "plays": 1})
    assert songs["3"]["plays"] == 1
    other('songs.save({"id": "8", "plays": 1})')
    other.update_by_sqlite("4", 1)
    songs.save({"id": "9", "plays": 1})
    assert sum(read_all(songs)) == 5
