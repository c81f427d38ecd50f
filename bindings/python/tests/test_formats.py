"""A file of any released format opens in every later version. Each is kept as the SQL text of that time."""

import sqlite3
import time
from pathlib import Path

import pytest

import holdfast

FORMATS = Path(__file__).resolve().parents[3] / "Tests" / "Formats"


@pytest.mark.parametrize("dump", sorted(FORMATS.glob("*.sql")), ids=lambda path: path.stem)
def test_a_file_of_a_released_format_opens(dump: Path, path: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(dump.read_text())
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    with holdfast.open(path) as store:
        report = store.verify()
        assert report["ok"], report
        assert store.schema_version == 3
        songs = store.repository("songs")
        assert [song["id"] for song in songs.find()] == [42, "s1", "s2", "s3"]
        assert songs.fetch("s1") == {"id": "s1", "title": "Gloria", "plays": 4, "tags": ["rock", "soul"]}
        assert songs.fetch("s2")["title"] == "Zoë \"the\" 'one'\nand more"  # type: ignore[index]
        assert store.repository("Other-songs").fetch("é") == {"name": "é", "gone": False}

        # Its indexes answer, and hold.
        assert {index["name"] for index in songs.indexes()} == {"plays", "by year", "seen"}
        assert songs.explain({"plays": {"$gt": 5}})["access"] == "index"
        assert songs.count({"album.year": 1979}) == 1
        assert [index["name"] for index in songs.indexes() if index.get("outdated")] == ["by year"]
        with pytest.raises(holdfast.UniqueViolationError):
            songs.add({"id": "s4", "plays": 7})
        songs.save({"id": "s5", "seen": (time.time() - 3601) * 1000})
        deadline = time.monotonic() + 120
        while "s5" in songs and time.monotonic() < deadline:
            time.sleep(0.02)
        assert "s5" not in songs

        # Sequences go on behind what was given out.
        with store.transaction() as transaction:
            songs.save({"id": "new", "plays": 0})
        assert transaction.receipt is not None
        assert transaction.receipt.sequence > 23
    with holdfast.open(path) as store:
        assert store.repository("songs").fetch("new") == {"id": "new", "plays": 0}


def test_an_index_of_the_present_kind_keeps_libraries_away_that_do_not_know_it(path: str) -> None:
    def minimum_reader() -> int:
        found = connection.execute("SELECT value FROM holdfast_meta WHERE name = 'minimum_reader'").fetchone()
        return found[0] if found else 1

    connection = sqlite3.connect(path)
    connection.executescript((FORMATS / "format-1.sql").read_text())
    connection.execute("PRAGMA journal_mode = WAL")
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.create_index("title")
        assert minimum_reader() == 1
        songs.create_index("album.year")
        assert minimum_reader() == 2
        store.rename("songs", "tracks")
        assert minimum_reader() == 3
        store.repository("tracks").create_index(["title"], kind="text")
        assert minimum_reader() == 4
        store.repository("songs").save({"id": "s"})
        store.drop("songs")
        assert store.repository("songs").count() == 0 and store.verify()["ok"]
    connection.close()


def test_a_newer_format_is_refused(path: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(max(FORMATS.glob("*.sql")).read_text())
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(holdfast.FormatTooNewError):
        holdfast.open(path)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_needs_a_newer_reader_of_the_same_format_is_refused(path: str, read_only: bool) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save({"id": "s1"})
    connection = sqlite3.connect(path)
    stored = connection.execute("SELECT value FROM holdfast_meta WHERE name = 'minimum_reader'")
    assert stored.fetchone() == (4,)
    with connection:
        connection.execute("UPDATE holdfast_meta SET value = 5 WHERE name = 'minimum_reader'")
    connection.close()
    with pytest.raises(holdfast.FormatTooNewError, match=r"reader of version 5 .* use a newer library"):
        holdfast.open(path, read_only=read_only)


def test_an_index_of_a_kind_that_a_newer_library_has_entered_beside_is_not_passed_over(path: str) -> None:
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save({"id": "s1"})
        connection = sqlite3.connect(path)
        with connection:
            connection.execute("UPDATE holdfast_meta SET value = 5 WHERE name = 'minimum_reader'")
            connection.execute("INSERT OR REPLACE INTO holdfast_meta VALUES ('catalogue', 1000000)")
        connection.close()
        with pytest.raises(holdfast.FormatTooNewError):
            songs.save({"id": "s2"})


def test_a_text_index_of_a_former_kind_is_told_and_made_anew(path: str) -> None:
    search = {"$text": {"$search": "gloria"}}
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        songs.save({"id": "s1", "title": "Gloria"})
        songs.create_index(["title"], kind="text")
        connection = sqlite3.connect(path)
        with connection:
            former = (
                "UPDATE holdfast_index SET definition = replace(definition, '\"entries\":5', '\"entries\":4')"
            )
            assert connection.execute(former).rowcount == 1
            connection.execute("INSERT OR REPLACE INTO holdfast_meta VALUES ('catalogue', 1000000)")
        connection.close()
    with holdfast.open(path) as store:
        songs = store.repository("songs")
        told = 'the text index "title_text" has entries of the kind 4, .* drop it and create it again'
        for call in (
            lambda: songs.save({"id": "s2"}),
            lambda: songs.create_index(["title"], kind="text"),
            songs.indexes,
            lambda: songs.find(search),
        ):
            with pytest.raises(holdfast.UnsupportedError, match=told):
                call()
        songs.drop_index("title_text")
        songs.create_index(["title"], kind="text")
        assert [song["id"] for song in songs.find(search)] == ["s1"]
        assert store.verify()["ok"]
