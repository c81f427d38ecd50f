"""Tables of other SQLite files as entities, and entities as tables for other programs."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast


@pytest.fixture
def other() -> Iterator[holdfast.Store]:
    with holdfast.open("memory:") as store:
        yield store


def test_a_table_becomes_entities(other: holdfast.Store, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE people (number INTEGER PRIMARY KEY, name TEXT, photo BLOB, tags TEXT)")
    rows = [(number, f"name {number}", bytes(range(number % 5)), "[1]") for number in range(3000)]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    other.import_table(tmp_path / "other.db", "people", json=["tags"])
    people = other.repository("people")
    assert people.count() == 3000
    assert people.fetch(4) == {"id": 4, "number": 4, "name": "name 4", "photo": "AAECAw==", "tags": [1]}
    with pytest.raises(holdfast.NotFoundError):
        other.import_table(tmp_path / "other.db", "none")


def test_a_row_that_cannot_be_stored_is_named_by_its_number(other: holdfast.Store, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE people (id, tags TEXT)")
    connection.executemany("INSERT INTO people VALUES (?, ?)", [("a", "[1]"), ("b", "["), ("a", "[1]")])
    connection.execute("CREATE TABLE bad (id, tags TEXT)")
    connection.execute("INSERT INTO bad VALUES ('', '[1]')")
    connection.execute("CREATE TABLE empty (id)")
    connection.commit()
    connection.close()
    path = tmp_path / "other.db"
    with pytest.raises(holdfast.Error, match="row 2: ") as caught:
        other.import_table(path, "people", json=["tags"])
    assert caught.value.detail["line"] == 2
    with pytest.raises(holdfast.ExistsError, match=r'row 3: .*"existing"') as caught:
        other.import_table(path, "people")
    assert caught.value.detail["line"] == 3
    with pytest.raises(holdfast.Error, match="row 1: "):
        other.import_table(path, "bad")
    with pytest.raises(holdfast.NotFoundError):
        other.repository("bad", create=False)
    other.import_table(path, "empty")
    assert other.repository("empty", create=False).count() == 0


def test_every_repository_is_a_view_for_other_programs(path: str) -> None:
    with holdfast.open(path) as store:
        store.repository("songs").save({"id": "a", "n": 1})
        store.repository("Other-songs").save({"id": "b"})
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        assert connection.execute("SELECT id, json_extract(body, '$.n') FROM songs").fetchall() == [("a", 1)]
        assert connection.execute('SELECT id FROM "Other-songs"').fetchall() == [("b",)]
        connection.close()
        writing = sqlite3.connect(path)
        with pytest.raises(sqlite3.OperationalError, match="view"):
            writing.execute("DELETE FROM songs")
        writing.close()
