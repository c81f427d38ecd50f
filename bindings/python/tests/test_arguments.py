"""Arguments that look right and mean something else are refused, each with what to write instead."""

import sqlite3
from pathlib import Path
from typing import Any, Callable

import pytest

import holdfast

REFUSED: dict[str, Callable[[Any], Any]] = {
    "sort by a text": lambda songs: songs.find(sort="id"),
    "sort by a list": lambda songs: songs.iterate(sort=["id"]),
    "watch in the order of a text": lambda songs: songs.observe(sort="id"),
    "sort later by a text": lambda songs: songs.deferred.find(sort="id"),
    "parameters that are a text": lambda songs: songs.find({"id": {"$param": "x"}}, parameters="x"),
    "fetch a text": lambda songs: songs.fetch_many("ab"),
    "delete a text": lambda songs: songs.delete_many("ab"),
    "delete a text later": lambda songs: songs.deferred.delete_many("ab"),
    "patch with a text": lambda songs: songs.patch("a", "bc"),
    "modify with a text": lambda songs: songs.modify("a", "bc"),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_one_text_is_not_taken_for_several_or_for_a_dict(
    store: holdfast.Store, call: Callable[[Any], Any]
) -> None:
    songs = store.repository("songs")
    songs.save_many([{"id": id} for id in ("a", "b", "ab")])
    with pytest.raises(TypeError, match=r"are a (list: write \['ab'\]|dict, as \{.*\}, not (str|list))"):
        call(songs)
    assert songs.count() == 3


@pytest.mark.parametrize("name", ["find", "first", "iterate", "observe", "explain"])
def test_a_condition_that_is_given_as_an_option_is_told_where_it_goes(
    store: holdfast.Store, name: str
) -> None:
    songs = store.repository("songs")
    for owner in (songs, songs.deferred):
        if hasattr(owner, name):
            with pytest.raises(TypeError, match=r"'artist'; .* the filter: `find\(\{'artist': 'Patti'\}\)`"):
                getattr(owner, name)(artist="Patti")


def test_columns_and_repositories_are_lists_of_names(store: holdfast.Store, tmp_path: Path) -> None:
    source = tmp_path / "table.db"
    connection = sqlite3.connect(source)
    with connection:
        connection.execute("CREATE TABLE things (id TEXT PRIMARY KEY, js TEXT)")
        connection.execute("INSERT INTO things VALUES ('a', '[1]')")
    connection.close()
    with pytest.raises(TypeError, match=r"Columns that hold JSON are a list: write \['js'\]"):
        store.import_table(source, "things", json="js")
    with pytest.raises(TypeError, match=r"Repositories are a list: write \['things'\]"):
        store.export_lines(tmp_path / "export", repositories="things")
    resume: Any = "things"
    with pytest.raises(TypeError, match="`resume` is True or False"):
        store.export_lines(tmp_path / "export", resume=resume)
    assert store.import_table(source, "things", json=["js"])["stored"] == 1
    assert store.repository("things").fetch("a") == {"id": "a", "js": [1]}


def test_what_is_one_thing_or_a_dict_is_not_taken_for_several(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    for entities in ({"id": "a"}, {"a": {"id": "a"}}):
        with pytest.raises(TypeError, match=r"Entities are a list, not one dict: write \[entity\]"):
            songs.save_many(entities)
        with pytest.raises(TypeError, match=r"Entities are a list, not one dict: write \[entity\]"):
            songs.deferred.add_many(entities)
    with pytest.raises(TypeError, match="Entities are a list: write"):
        songs.save_many(b'[{"id":"a"}]')
    steps: Any = [lambda store: None]
    with pytest.raises(TypeError, match=r"Upgrades are a dict, as \{1: from_one_to_two\}, not list"):
        store.upgrade(steps)
    assert songs.count() == 0


def test_what_is_not_there_is_told_with_its_repository_and_id(store: holdfast.Store) -> None:
    songs = store.repository("songs")
    for missing in (lambda: songs["x"], lambda: songs.delete("x")):
        with pytest.raises(holdfast.NotFoundError) as told:
            missing()
        assert told.value.detail == {"repository": "songs", "id": "x"}
