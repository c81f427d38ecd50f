"""Indexes and cursors, from Python."""

import itertools
import sqlite3
import time
from pathlib import Path
from typing import Any, Callable

import pytest

import holdfast


@pytest.fixture
def songs(open_store: Callable[..., holdfast.Store]) -> Any:
    songs = open_store().repository("songs")
    songs.save_many([{"id": f"{n:05}", "n": n % 10, "tags": [n % 3, n % 4]} for n in range(3000)])
    return songs


def test_an_index_is_created_listed_verified_and_dropped(songs: Any) -> None:
    counts: list[int] = []
    songs.create_index("n", progress=counts.append)
    songs.create_index({"tags": -1, "n": 1}, name="both")
    songs.create_index(["n", "tags"])
    assert counts == sorted(counts) and counts[-1] == 3000
    assert [(index["name"], index["fields"], index["arrays"]) for index in songs.indexes()] == [
        ("both", {"tags": -1, "n": 1}, True),
        ("n", {"n": 1}, False),
        ("n_tags", {"n": 1, "tags": 1}, True),
    ]
    report = songs.verify()
    assert report["ok"] and report["entities"] == 3000
    assert [index["entries"] for index in report["indexes"]][1] == 3000
    songs.drop_index("both")
    with pytest.raises(holdfast.NotFoundError):
        songs.drop_index("both")
    assert len(songs.indexes()) == 2


@pytest.mark.parametrize(
    ("damage", "wrong", "missing"),
    [
        ("DELETE FROM {index} WHERE id = '7'", 0, 1),
        ("UPDATE {index} SET entity = entity + 1 WHERE id = '7'", 1, 1),
        ("UPDATE {index} SET entity = 1000 WHERE id = '7'", 1, 1),
        ("INSERT INTO {index} VALUES (x'10', '7', 1)", 1, 0),
    ],
)
def test_verifying_finds_what_other_programs_did_to_an_index(
    tmp_path: Path, damage: str, wrong: int, missing: int
) -> None:
    path = tmp_path / "songs.db"
    with holdfast.open(str(path)) as store:
        songs = store.repository("songs")
        songs.save_many([{"id": n, "n": n} for n in range(20)])
        songs.create_index("n")
    with sqlite3.connect(path) as database:
        name = "SELECT 'holdfast_index_' || id FROM holdfast_index"
        database.execute(damage.format(index=database.execute(name).fetchone()[0]))
    database.close()
    with holdfast.open(str(path)) as store:
        report = store.repository("songs").verify()
    assert not report["ok"]
    index = report["indexes"][0]
    assert (index["wrong"], index["missing"]) == (wrong, missing)


def test_a_unique_violation_tells_who_has_the_value(songs: Any) -> None:
    songs.create_index("mail", name="address")
    songs.drop_index("address")
    with pytest.raises(holdfast.UniqueViolationError) as raised:
        songs.create_index("n", unique=True)
    assert raised.value.detail["index"] == "n" and raised.value.detail["value"] == "0"
    assert songs.indexes() == []


def test_an_exception_of_the_progress_gives_up_the_index(songs: Any) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        songs.create_index("n", progress=stop)
    assert songs.indexes() == []


def test_a_cursor_iterates_over_what_find_would_answer(songs: Any) -> None:
    songs.create_index("n")
    for filter in (None, {"n": 3}, {"n": {"$gt": 7}}, {"tags": 2}):
        found = songs.find(filter)
        assert list(songs.iterate(filter)) == found
        assert list(songs.iterate(filter, skip=10, limit=20)) == found[10:30]


def test_a_cursor_keeps_its_snapshot_until_it_is_closed(songs: Any) -> None:
    with songs.iterate() as cursor:
        first = next(cursor)
        songs.delete("02999")
        assert first["id"] == "00000" and sum(1 for _ in cursor) == 2999
    with songs.iterate() as cursor:
        assert len(list(itertools.islice(cursor, 5))) == 5
    assert next(cursor, None) is None


def test_a_cursor_in_a_transaction_sees_its_writes(songs: Any) -> None:
    with songs.store.transaction():
        songs.save({"id": "00000", "n": 77})
        assert [song["id"] for song in songs.iterate({"n": 77})] == ["00000"]


def test_an_explanation_tells_how_a_query_is_carried_out(songs: Any) -> None:
    assert songs.explain({"n": 3})["examined"] == 3000
    songs.create_index("n")
    report = songs.explain({"n": {"$gte": 3}, "tags": 1}, sort={"n": -1}, limit=5)
    assert report.pop("stages") == [] and report.pop("time_us") >= 0
    assert (report.pop("returned"), report.pop("memory")) == (5, 0)
    assert report == {
        "access": "index",
        "index": "n",
        "bounds": {"n": {"$gte": 3}},
        "exact": False,
        "sort": "index",
        "examined": report["examined"],
        "matched": 5,
    }
    assert 5 <= report["examined"] < 20


def test_entities_go_when_their_time_has_passed(songs: "holdfast.Repository[dict[str, Any]]") -> None:
    songs.create_index("seen", expire_after=60)
    assert songs.indexes()[0]["expire_after_ms"] == 60_000
    songs.save({"id": "old", "seen": (time.time() - 61) * 1000})
    songs.save({"id": "young", "seen": time.time() * 1000})
    deadline = time.monotonic() + 120
    while "old" in songs and time.monotonic() < deadline:
        time.sleep(0.02)
    assert "old" not in songs
    assert songs.count({"seen": {"$exists": True}}) == 1
