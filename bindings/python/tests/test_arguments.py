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
